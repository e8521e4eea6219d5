// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/test/spec"
)

// FuzzCrossing decodes any text as an event of each dialect. A strict JSON reader must accept every text that a dialect
// accepts. If whole returns true for the event, its encoding in every dialect must be valid by the official schema, and
// a second round trip must not change the encoding.
func FuzzCrossing(f *testing.F) {
	for _, e := range events() {
		for _, d := range dialects {
			f.Add(d.write(nil, &e))
		}
	}
	files, err := filepath.Glob(filepath.Join(directory, "*-*.json"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		var response struct {
			Result json.RawMessage `json:"result"`
		}
		if json.Unmarshal(text, &response) == nil && response.Result != nil {
			f.Add([]byte(response.Result))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, d := range dialects {
			e, err := d.read(text)
			if err != nil {
				continue
			}
			if err := reference(text); err != nil {
				t.Fatalf("%s accepts what a strict reader of JSON refuses: %v", name, err)
			}
			if e != (a2a.Event{}) {
				encodeInAll(t, name, e)
			}
		}
	})
}

// encodeInAll encodes an event in every dialect, decodes it and encodes it again.
func encodeInAll(t *testing.T, from string, e a2a.Event) {
	t.Helper()
	for name, d := range dialects {
		once := d.write(nil, &e)
		if err := reference(once); err != nil {
			t.Fatalf("%s of an event of %s is not JSON: %v\n%s", name, from, err, once)
		}
		if !whole(&e) {
			continue // the engine encodes no such event, because it first adds missing members
		}
		if definition := definitionOf(name, &e); definition != "" {
			if err := spec.Validate(versions[name], definition, once); err != nil {
				t.Fatalf("%s of an event of %s is not valid: %v\n%s", name, from, err, once)
			}
		}
		again, err := d.read(once)
		if err != nil {
			t.Fatalf("%s of an event of %s is refused: %v\n%s", name, from, err, once)
		}
		if twice := d.write(nil, &again); !bytes.Equal(once, twice) {
			t.Fatalf("%s of an event of %s, written twice:\n%s\n%s", name, from, once, twice)
		}
	}
}

// reference is a strict reader: it refuses duplicate members, trailing data and
// invalid UTF-8.
func reference(text []byte) error {
	v := jsontext.Value(text)
	if v.IsValid() {
		return nil
	}
	return v.Compact()
}

// versions are the schema versions of the dialects. a2a.v1 has no schema.
var versions = map[string]string{"0.1": "v0.1.0", "0.3": "v0.3.0", "1.0": "v1.0.1"}

func definitionOf(dialect string, e *a2a.Event) string {
	of := func(v01, v03 string) string {
		switch dialect {
		case "0.1":
			return v01
		case "0.3":
			return v03
		case "1.0":
			return "StreamResponse"
		default:
			return ""
		}
	}
	switch {
	case e.Task != nil:
		return of("Task", "Task")
	case e.Status != nil:
		return of("TaskStatusUpdateEvent", "TaskStatusUpdateEvent")
	case e.Artifact != nil:
		return of("TaskArtifactUpdateEvent", "TaskArtifactUpdateEvent")
	default:
		return of("", "Message")
	}
}

// whole reports whether an event has all members that the engine adds if they are
// missing. Events from a dialect that cannot express such a member do not have it.
func whole(e *a2a.Event) bool {
	message := func(m *a2a.Message) bool {
		return m == nil || m.ID != "" && m.Role != a2a.RoleUnspecified && len(m.Parts) > 0
	}
	switch {
	case e.Task != nil:
		for _, m := range e.Task.History {
			if !message(m) {
				return false
			}
		}
		for i := range e.Task.Artifacts {
			if e.Task.Artifacts[i].ID == "" || len(e.Task.Artifacts[i].Parts) == 0 {
				return false
			}
		}
		return e.Task.ID != "" && e.Task.ContextID != "" && e.Task.Status.State != a2a.StateUnknown && message(e.Task.Status.Message)
	case e.Status != nil:
		return e.Status.TaskID != "" && e.Status.ContextID != "" && e.Status.Status.State != a2a.StateUnknown && message(e.Status.Status.Message)
	case e.Artifact != nil:
		return e.Artifact.TaskID != "" && e.Artifact.ContextID != "" && e.Artifact.Artifact.ID != "" && len(e.Artifact.Artifact.Parts) > 0
	default:
		return message(e.Message)
	}
}
