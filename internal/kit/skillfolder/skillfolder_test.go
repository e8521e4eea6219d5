// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package skillfolder

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestPaths(t *testing.T) {
	for _, path := range []string{"a.md", "references/a.md", "scripts/run.sh", ".env", "a/.b/c_d-e.TXT"} {
		if !IsPath(path) {
			t.Errorf("IsPath(%q) = false", path)
		}
	}
	for _, path := range []string{
		"", "/a", "a/", "a//b", "..", ".", "../a", "a/../b", "a/..", "a/./b", "..a", "a b", "a\\b", "a\x00", "SKILL.md", "é", strings.Repeat("a", 256),
	} {
		if IsPath(path) {
			t.Errorf("IsPath(%q) = true", path)
		}
	}
	for name, want := range map[string]bool{"triage": true, "a-b-1": true, "": false, "A": false, "a--b": false, "-a": false, "a/b": false, "..": false, strings.Repeat("a", 65): false} {
		if IsName(name) != want {
			t.Errorf("IsName(%q) = %t", name, !want)
		}
	}
}

func TestComposeAndSplit(t *testing.T) {
	for name, instructions := range map[string]string{
		"text": "# Triage\nLook first.\n", "a rule": "---\nname: other\n---\n", "no newline": "text",
	} {
		description := "Sorts: \"incidents\"\n---\nname: <b>, #1"
		text := Compose("triage", description, instructions, map[string]string{"title": "Triage"})
		front, body, ok := Split(string(text))
		if !ok || strings.TrimSuffix(body, "\n") != strings.TrimSuffix(instructions, "\n") {
			t.Errorf("%s: Split() = %q, %t", name, body, ok)
		}
		var got map[string]any
		if err := yaml.Unmarshal([]byte(front), &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"name": "triage", "description": description, "metadata": map[string]any{"title": "Triage"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: front matter (-want +got):\n%s", name, diff)
		}
	}
	for _, text := range []string{"", "# no front matter", "---\nname: a\n", "--- \nname: a\n---\n"} {
		if _, _, ok := Split(text); ok {
			t.Errorf("Split(%q) succeeded", text)
		}
	}
	if front, body, ok := Split("\ufeff---\r\nname: a\r\n---\r\n\r\nText\r\n"); !ok || front != "\nname: a" || body != "Text\n" {
		t.Errorf("Split() = %q, %q, %t", front, body, ok)
	}
}

func TestEncodeAndDecode(t *testing.T) {
	files := Files{"triage/SKILL.md": []byte("text"), "triage/data.bin": {0, 1}, "other/copy/a.md": []byte("text")}
	values, size, err := files.Encode()
	if err != nil || len(values) != 3 {
		t.Fatalf("Encode() = %v, %v, want two contents and the index", values, err)
	}
	sum := 0
	for key, value := range values {
		sum += len(key) + len(value)
	}
	if sum != size {
		t.Errorf("size %d, want %d", size, sum)
	}
	got, _, err := Decode(values)
	if diff := cmp.Diff(files, got); diff != "" || err != nil {
		t.Errorf("Decode() error %v (-want +got):\n%s", err, diff)
	}
	if got, _, err := Decode(nil); err != nil || len(got) > 0 {
		t.Errorf("Decode(nil) = %v, %v", got, err)
	}
	for name, values := range map[string]map[string][]byte{
		"no index":        {"a": nil},
		"no JSON":         {indexName: []byte("{")},
		"traversal":       {indexName: []byte(`{"files":{"triage/../../etc/passwd":"a"}}`), "a": nil},
		"absolute":        {indexName: []byte(`{"files":{"/etc/passwd":"a"}}`), "a": nil},
		"no folder":       {indexName: []byte(`{"files":{"SKILL.md":"a"}}`), "a": nil},
		"missing content": {indexName: []byte(`{"files":{"triage/SKILL.md":"b"}}`), "a": nil},
	} {
		if _, _, err := Decode(values); err == nil {
			t.Errorf("%s: Decode() succeeded", name)
		}
	}
}

func TestConflict(t *testing.T) {
	if file, below := Conflict([]string{"b", "a/b/c", "a"}); file != "a" || below != "a/b/c" {
		t.Errorf("Conflict() = %q, %q", file, below)
	}
	if file, _ := Conflict([]string{"a", "a.b", "ab/c"}); file != "" {
		t.Errorf("Conflict() = %q", file)
	}
}
