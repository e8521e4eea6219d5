// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// document returns a document with further front matter.
func document(front string) string {
	return "---\nname: triage\ndescription: Sorts incidents. Use it for alerts.\n" + front + "---\n\n# Triage\n\nSee references/runbook.md.\n"
}

// folder makes the folder triage with files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "triage")
	for path, text := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// filesOf returns the files in a folder.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestRoundTrip exports imported folders, and imports them again.
func TestRoundTrip(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"document": {"SKILL.md": document("")},
		"flat":     {"SKILL.md": document("metadata: {title: Triage of incidents, tags: 'ops, on call'}\n"), "a.md": "a", "b.bin": "\xff\x00"},
		"nested": {
			"SKILL.md": document("license: MIT\nallowed-tools: Bash\nmetadata:\n  author: me\n"), "references/runbook.md": "# Runbook", "references_runbook.md": "another",
			"scripts/run.sh": "#!/bin/sh\n", "assets/.hidden": "h", "empty": "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			first, err := Import(folder(t, files), "team", "")
			if err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "triage")
			id, exported, err := Export(first.Skill, func(name string) (*corev1.ConfigMap, error) {
				if name != first.Files.Name {
					t.Errorf("ConfigMap %q", name)
				}
				return first.Files, nil
			})
			if err != nil || id != "triage" {
				t.Fatalf("Export() = %q, %v", id, err)
			}
			if err := Write(out, exported); err != nil {
				t.Fatal(err)
			}
			got := filesOf(t, out)
			got["SKILL.md"] = files["SKILL.md"] // compared by the second import
			if diff := cmp.Diff(files, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			second, err := Import(out, "team", "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(first.Skill, second.Skill); diff != "" {
				t.Errorf("AgentSkill (-first +second):\n%s", diff)
			}
			if diff := cmp.Diff(first.Files, second.Files); diff != "" {
				t.Errorf("ConfigMap (-first +second):\n%s", diff)
			}
			if err := Write(out, exported); err == nil || !strings.Contains(err.Error(), "exists") {
				t.Errorf("Write() into an existing folder: %v", err)
			}
		})
	}
}

func TestImportReportsWhatItLeavesOut(t *testing.T) {
	dir := folder(t, map[string]string{"SKILL.md": document("allowed-tools: Bash(rm:*)\nmetadata:\n  author: me\n"), ".git/config": "x"})
	in, err := Import(dir, "team", "incident-triage")
	if err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, note := range in.Report {
		fields = append(fields, note.Field)
	}
	if diff := cmp.Diff([]string{"spec.tags", "allowed-tools", "metadata.author", ".git"}, fields); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if in.Skill.Name != "incident-triage" || in.Skill.Spec.ID != "triage" || in.Files != nil {
		t.Errorf("%+v, %+v", in.Skill, in.Files)
	}
}

func TestImportRefusesHostileFolders(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for _, each := range "bcdefghi" {
		last := string(each - 1)
		bomb += string(each) + ": &" + string(each) + " [" + strings.Repeat("*"+last+", ", 8) + "*" + last + "]\n"
	}
	for name, c := range map[string]struct {
		files  map[string]string
		change func(t *testing.T, dir string)
		want   string
	}{
		"no document":          {files: map[string]string{"a.md": "a"}, want: "has no SKILL.md"},
		"no front matter":      {files: map[string]string{"SKILL.md": "# Triage"}, want: "has no front matter"},
		"alias as a field":     {files: map[string]string{"SKILL.md": "---\nname: triage\nx: &x [a]\ndescription: *x\n---\ntext"}, want: "description is no text"},
		"front matter too big": {files: map[string]string{"SKILL.md": document("x: " + strings.Repeat("y", 16<<10) + "\n")}, want: "front matter has more than 16 KiB"},
		"no map":               {files: map[string]string{"SKILL.md": "---\n- a\n---\ntext"}, want: "is no list of fields"},
		"no YAML":              {files: map[string]string{"SKILL.md": "---\na: [\n---\ntext"}, want: "SKILL.md: yaml:"},
		"deep YAML":            {files: map[string]string{"SKILL.md": "---\na: " + strings.Repeat("[", 15<<10) + "\n---\ntext"}, want: "SKILL.md: yaml:"},
		"name with a slash":    {files: map[string]string{"SKILL.md": "---\nname: ../etc\ndescription: d\n---\ntext"}, want: `name is "../etc"`},
		"another name":         {files: map[string]string{"SKILL.md": "---\nname: other\ndescription: d\n---\ntext"}, want: `the folder is "triage", and the name in SKILL.md is "other"`},
		"no description":       {files: map[string]string{"SKILL.md": "---\nname: triage\n---\ntext"}, want: "description is missing"},
		"long description":     {files: map[string]string{"SKILL.md": "---\nname: triage\ndescription: " + strings.Repeat("d", 1025) + "\n---\ntext"}, want: "more than 1024 characters"},
		"no instructions":      {files: map[string]string{"SKILL.md": "---\nname: triage\ndescription: d\n---\n\n"}, want: "has no instructions"},
		"long instructions":    {files: map[string]string{"SKILL.md": document("") + strings.Repeat("x", 64<<10)}, want: "more than 65536 characters"},
		"terminal control":     {files: map[string]string{"SKILL.md": document("") + "\x1b[2J"}, want: "has control characters"},
		"no UTF-8":             {files: map[string]string{"SKILL.md": document("") + "\xff"}, want: "is no UTF-8 text"},
		"large file":           {files: map[string]string{"SKILL.md": document(""), "large": strings.Repeat("x", 2<<20)}, want: "need more than 1020 KiB with large"},
		"name with a blank":    {files: map[string]string{"SKILL.md": document(""), "a b": ""}, want: `"a b" cannot be the path of a resource`},
		"link": {files: map[string]string{"SKILL.md": document("")}, change: func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "passwd")); err != nil {
				t.Fatal(err)
			}
		}, want: "passwd is a link or no regular file"},
		"link as the document": {files: map[string]string{"a": ""}, change: func(t *testing.T, dir string) {
			t.Helper()
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "SKILL.md")); err != nil {
				t.Fatal(err)
			}
		}, want: "SKILL.md is a link or no regular file"},
		"many files": {files: map[string]string{"SKILL.md": document("")}, change: func(t *testing.T, dir string) {
			t.Helper()
			for i := range 130 {
				if err := os.WriteFile(filepath.Join(dir, strings.Repeat("f", i+1)), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}, want: "more than 128 resources"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, c.files)
			if c.change != nil {
				c.change(t, dir)
			}
			if _, err := Import(dir, "team", ""); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Import() error = %v, want %q", err, c.want)
			}
		})
	}
	// An alias in a field that is left out is not expanded.
	in, err := Import(folder(t, map[string]string{"SKILL.md": document(bomb)}), "team", "")
	if err != nil || len(in.Report) != 10 {
		t.Errorf("Import() of a bomb = %v, %v", in, err)
	}
}
