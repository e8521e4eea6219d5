// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package skillfiles

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/kit/skillfolder"
)

// write writes files, and returns the error.
func write(t *testing.T, dir string, files map[string]string) error {
	t.Helper()
	encoded := skillfolder.Files{}
	for path, text := range files {
		encoded[path] = []byte(text)
	}
	values, _, err := encoded.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return Writer{Dir: dir}.Write(values)
}

// read returns the files in a directory, without the list of the Writer. The folders must be readable for every user.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch {
		case name == ".", name == written:
		case entry.IsDir() && info.Mode().Perm() != 0o755, !entry.IsDir() && !info.Mode().IsRegular():
			t.Errorf("%s has the mode %s", name, info.Mode())
		case entry.IsDir():
			if children, _ := os.ReadDir(path); len(children) == 0 {
				t.Errorf("%s is empty", name)
			}
		default:
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found[name] = string(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	for _, files := range []map[string]string{
		{"triage/SKILL.md": "one", "triage/references/a.md": "a", "triage/scripts/run.sh": "#!/bin/sh\n"},
		{"triage/SKILL.md": "two", "triage/references/a.md": "a", "other/SKILL.md": "o"}, // an edit, a new and a removed file
		{"triage/SKILL.md": "two", "triage/references": "now a file", "other/SKILL.md/x": "now a folder"},
		{},
	} {
		if err := write(t, dir, files); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(files, read(t, dir)); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
		if info, err := os.Stat(filepath.Join(dir, "triage/scripts/run.sh")); err == nil && info.Mode().Perm() != 0o755 {
			t.Errorf("the script has the mode %s", info.Mode())
		}
	}
}

// TestWriteKeepsOtherFiles checks that folders that others made, such as mounted images, stay.
func TestWriteKeepsOtherFiles(t *testing.T) {
	dir := t.TempDir()
	image := filepath.Join(dir, "image")
	if err := os.Mkdir(image, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(image, "SKILL.md"), []byte("image"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(t, dir, map[string]string{"triage/SKILL.md": "one"}); err != nil {
		t.Fatal(err)
	}
	if err := write(t, dir, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"image/SKILL.md": "image"}, read(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestWriteContinues checks that a Write after one that failed leaves no file of the failed one.
func TestWriteContinues(t *testing.T) {
	dir := t.TempDir()
	obstacle := filepath.Join(dir, "b")
	if err := os.WriteFile(obstacle, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(t, dir, map[string]string{"a/SKILL.md": "a", "b/SKILL.md": "b"}); err == nil {
		t.Fatal("Write() succeeded where a file takes the place of a folder")
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"c/SKILL.md": "c"}
	if err := write(t, dir, want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, read(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestWriteStaysInside checks that neither a value nor a link in the directory leads out of it.
func TestWriteStaysInside(t *testing.T) {
	dir := t.TempDir()
	outside := t.TempDir()
	err := Writer{Dir: dir}.Write(map[string][]byte{"index.json": []byte(`{"files":{"../x":"a"}}`), "a": []byte("a")})
	if err == nil || !strings.Contains(err.Error(), "no path of a file of a skill") {
		t.Errorf("Write() error = %v", err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "triage")); err != nil {
		t.Fatal(err)
	}
	if err := write(t, dir, map[string]string{"triage/SKILL.md": "text"}); err == nil {
		t.Error("Write() follows a link out of the directory")
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("outside has %v", entries)
	}
}
