// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v01"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
	"github.com/a2a-operator/a2a-operator/test/codectest"
)

// dialect encodes and decodes an event.
type dialect struct {
	write func(dst []byte, e *a2a.Event) []byte
	read  func(text []byte) (a2a.Event, error)
}

var dialects = map[string]dialect{
	// A task is not an event of 0.1 and has a decoder of its own.
	"0.1": {
		write: func(dst []byte, e *a2a.Event) []byte {
			if e.Task != nil {
				return v01.AppendTask(dst, e.Task)
			}
			return v01.AppendEvent(dst, e)
		},
		read: func(text []byte) (a2a.Event, error) {
			if task, err := v01.DecodeTask(text); err == nil && task.ContextID != "" {
				return a2a.Event{Task: task}, nil
			}
			return v01.DecodeEvent(text)
		},
	},
	"0.3":       {v03.AppendEvent, v03.DecodeEvent},
	"0.3 proto": {protojson.V03.AppendEvent, protojson.V03.DecodeEvent},
	"1.0":       {protojson.V10.AppendEvent, protojson.V10.DecodeEvent},
}

// losses are the fields of the domain that a dialect cannot express, with the reason.
// A round trip must lose each of them and no other field.
var losses = map[string]map[string]string{
	"0.1": {
		"Message":                           "there is no direct answer, it is the message of a completed status",
		"Status":                            "the same",
		"Artifact.ContextID":                "events name the task only",
		"Status.ContextID":                  "events name the task only",
		"Status.Status.State":               "rejected is failed, auth-required is input-required",
		"Status.Paused":                     "final is false for auth-required, which is then read as a pause",
		"Artifact.Artifact.ID":              "artifacts have places, not names",
		"Artifact.Artifact.Extensions":      "there are none",
		"Status.Status.Message.ID":          "messages have none",
		"Status.Status.Message.ContextID":   "messages have none",
		"Status.Status.Message.TaskID":      "messages have none",
		"Task.Artifacts.ID":                 "artifacts have places, not names",
		"Task.Artifacts.Extensions":         "there are none",
		"Task.Status.Message.ID":            "messages have none",
		"Task.Status.Message.ContextID":     "messages have none",
		"Task.Status.Message.TaskID":        "messages have none",
		"Task.History.ID":                   "messages have none",
		"Task.History.ContextID":            "messages have none",
		"Task.History.TaskID":               "messages have none",
		"Task.History.Extensions":           "there are none",
		"Task.History.ReferenceTasks":       "there are none",
		"Artifact.Artifact.Parts.MediaType": "text and data have none",
		"Artifact.Artifact.Parts.Filename":  "text and data have none",
	},
	"0.3": {
		"Artifact.Artifact.Parts.MediaType": "text and data have none",
		"Artifact.Artifact.Parts.Filename":  "text and data have none",
	},
	"0.3 proto": {
		"Artifact.Artifact.Parts.MediaType": "text and data have none",
		"Artifact.Artifact.Parts.Filename":  "text and data have none",
		"Message.ReferenceTasks":            "the field came with 1.0",
		"Task.History.ReferenceTasks":       "the field came with 1.0",
	},
}

// events returns the events of codectest, and one with all members of a part.
func events() map[string]a2a.Event {
	all := codectest.Events()
	all["typed parts"] = a2a.Event{Artifact: &a2a.ArtifactUpdate{
		TaskID: "t1", ContextID: "c1",
		Artifact: a2a.Artifact{ID: "a1", Parts: []a2a.Part{
			{Content: a2a.ContentText, Text: "# Hi", MediaType: "text/markdown", Filename: "hi.md"},
			{Content: a2a.ContentData, Data: a2a.Value(`{}`), MediaType: "application/vnd.example+json", Filename: "d.json"},
		}},
	}}
	return all
}

// TestWire03_EventsRoundTripInEveryDialect encodes and decodes every event in every dialect.
func TestWire03_EventsRoundTripInEveryDialect(t *testing.T) {
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			lost := map[string]bool{}
			for event, e := range events() {
				text := d.write(nil, &e)
				got, err := d.read(text)
				if err != nil {
					t.Errorf("%s: read %s: %v", event, text, err)
					continue
				}
				for _, path := range differences(&e, &got) {
					lost[path] = true
					if losses[name][path] == "" {
						t.Errorf("%s: %s is lost:\n%s", event, path, cmp.Diff(e, got))
					}
				}
			}
			for _, path := range slices.Sorted(maps.Keys(losses[name])) {
				if !lost[path] {
					t.Errorf("%s is listed as lost, but is not", path)
				}
			}
		})
	}
}

// TestWire03_OneTaskInEveryPairOfDialects encodes and decodes a task in two dialects, for each
// pair. The task may lose only the fields that one of the two dialects cannot express.
func TestWire03_OneTaskInEveryPairOfDialects(t *testing.T) {
	first := a2a.Event{Task: codectest.Task()}
	for from, a := range dialects {
		for to, b := range dialects {
			once, err := a.read(a.write(nil, &first))
			if err != nil {
				t.Fatal(err)
			}
			twice, err := b.read(b.write(nil, &once))
			if err != nil {
				t.Fatalf("%s after %s: %v", to, from, err)
			}
			for _, path := range differences(&first, &twice) {
				if losses[from][path] == "" && losses[to][path] == "" {
					t.Errorf("%s after %s: %s is lost", to, from, path)
				}
			}
		}
	}
}

var index = regexp.MustCompile(`\[\d+(->\d+)?\]|\[\?->\d+\]|\[\d+->\?\]`)

// differences returns the paths of the fields in which two events differ, without
// list indexes.
func differences(a, b *a2a.Event) []string {
	paths := map[string]bool{}
	// Ignore the dialect of a task, because it is not on the wire.
	cmp.Equal(a, b, cmp.Reporter(&reporter{paths: paths}), cmpopts.IgnoreFields(a2a.Task{}, "Dialect"))
	return slices.Sorted(maps.Keys(paths))
}

type reporter struct {
	path  cmp.Path
	paths map[string]bool
}

func (r *reporter) PushStep(step cmp.PathStep) { r.path = append(r.path, step) }
func (r *reporter) PopStep()                   { r.path = r.path[:len(r.path)-1] }

func (r *reporter) Report(result cmp.Result) {
	if result.Equal() {
		return
	}
	var fields []string
	for _, step := range r.path {
		if field, ok := step.(cmp.StructField); ok {
			fields = append(fields, field.Name())
		}
	}
	r.paths[index.ReplaceAllString(strings.Join(fields, "."), "")] = true
}
