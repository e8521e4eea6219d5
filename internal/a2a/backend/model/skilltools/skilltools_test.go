// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package skilltools_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model/skilltools"
)

// writeFile writes a file below dir.
func writeFile(t *testing.T, dir, path, text string) {
	t.Helper()
	path = filepath.Join(dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSkills(t *testing.T) {
	dir := t.TempDir()
	outside := t.TempDir()
	writeFile(t, outside, "secret", "secret")
	writeFile(t, dir, "triage/SKILL.md", "---\nname: triage\ndescription: Sorts\n---\n\n# Triage\nLook first.\n")
	writeFile(t, dir, "triage/references/b.md", "B")
	writeFile(t, dir, "triage/a.md", "A")
	writeFile(t, dir, "triage/data", "\xff")
	writeFile(t, dir, "triage/large", strings.Repeat("x", 1<<20+1))
	writeFile(t, dir, "absent/SKILL.md", "not on the card")
	for link, target := range map[string]string{"triage/out": filepath.Join(outside, "secret"), "triage/folder": outside, "linked": outside} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "pipe"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe/SKILL.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := []skilltools.Skill{
		{ID: "triage", Name: "Triage", Description: "Sorts\n- incidents: all"},
		{ID: "card-only", Name: "Card", Description: "A line on the card"},
		{ID: "linked"},
		{ID: "pipe"},
		{ID: "../" + filepath.Base(outside)},
	}
	s := skilltools.Skills{Dir: dir, Current: func() []skilltools.Skill { return all }}
	tools, err := s.Tools(t.Context(), nil)
	if err != nil || len(tools) != 1 {
		t.Fatalf("Tools() = %v, %v", tools, err)
	}
	if d := tools[0].Description; !strings.HasSuffix(d, "describes.\n- triage: Triage. Sorts - incidents: all") {
		t.Errorf("description %q", d)
	}
	if schema := string(tools[0].Parameters); !strings.Contains(schema, `"enum":["triage"]`) {
		t.Errorf("schema %s", schema)
	}
	missing := `; its resources are: a.md, data, large, references/b.md`
	for arguments, want := range map[string]*model.Result{
		`{"skill":"triage"}`:                                {Text: "# Triage\nLook first.\n\nResources: a.md, data, large, references/b.md"},
		`{"skill":"triage","resource":"a.md"}`:              {Text: "A"},
		`{"skill":"triage","resource":"./references/b.md"}`: {Text: "B"},
		`{"skill":"triage","resource":"c.md"}`:              {Text: `Skill triage has no resource "c.md"` + missing, IsError: true},
		`{"skill":"triage","resource":"data"}`:              {Text: "data of skill triage is no text", IsError: true},
		`{"skill":"triage","resource":"large"}`:             {Text: "large of skill triage cannot be read: it is larger than 1024 KiB", IsError: true},
		`{"skill":"triage","resource":"out"}`:               {Text: `Skill triage has no resource "out"` + missing, IsError: true},
		`{"skill":"triage","resource":"folder/secret"}`:     {Text: `Skill triage has no resource "folder/secret"` + missing, IsError: true},
		`{"skill":"triage","resource":"../absent/SKILL.md"}`: {
			Text: `Skill triage has no resource "../absent/SKILL.md"` + missing, IsError: true,
		},
		`{"skill":"triage","resource":"/etc/hosts"}`: {Text: `Skill triage has no resource "/etc/hosts"` + missing, IsError: true},
		`{"skill":"triage","resource":"references"}`: {Text: `Skill triage has no resource "references"` + missing, IsError: true},
		`{"skill":"absent"}`:                         {Text: `The agent has no skill "absent"`, IsError: true},
		`{"skill":"linked","resource":"secret"}`:     {Text: "Skill linked has no instructions", IsError: true},
		`{"skill":"card-only"}`:                      {Text: "Skill card-only has no instructions", IsError: true},
		`{"skill":"../triage"}`:                      {Text: `The agent has no skill "../triage"`, IsError: true},
		`{"skill":1}`:                                {Text: "The arguments must be skill and resource, both texts", IsError: true},
	} {
		got, err := s.Call(t.Context(), &model.Call{Tool: tools[0], Arguments: json.RawMessage(arguments)}, nil)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", arguments, err, diff)
		}
	}
	// A change takes effect with the next call.
	writeFile(t, dir, "triage/a.md", "other")
	got, err := s.Call(t.Context(), &model.Call{Tool: tools[0], Arguments: json.RawMessage(`{"skill":"triage","resource":"a.md"}`)}, nil)
	if err != nil || got.Text != "other" {
		t.Errorf("after a change: %v, %v", got, err)
	}
	all = all[1:]
	if tools, err := s.Tools(t.Context(), nil); err != nil || len(tools) > 0 {
		t.Errorf("Tools() = %v, %v, want none", tools, err)
	}
}
