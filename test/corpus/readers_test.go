// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdkv03 "github.com/a2aproject/a2a-go/a2a"
	pbv03 "github.com/a2aproject/a2a-go/a2apb"
	convv03 "github.com/a2aproject/a2a-go/a2apb/pbconv"
	sdkv10 "github.com/a2aproject/a2a-go/v2/a2a"
	pbv10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	convv10 "github.com/a2aproject/a2a-go/v2/a2apb/v1/pbconv"
	"google.golang.org/protobuf/proto"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protobuf"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/v03"
)

// nested is the limit of nested messages that the protobuf libraries for C++, Python and Java
// have. The library for Go accepts 10,000.
var nested = proto.UnmarshalOptions{RecursionLimit: 100}

// readers decode the encodings of an event with the official SDK of each version, as its clients do.
var readers = map[string]func(e *a2a.Event) error{
	"0.3": func(e *a2a.Event) error {
		_, err := sdkv03.UnmarshalEventJSON(v03.AppendEvent(nil, e))
		return err
	},
	"1.0": func(e *a2a.Event) error {
		var response sdkv10.StreamResponse
		return json.Unmarshal(protojson.V10.AppendEvent(nil, e), &response)
	},
	"0.3 gRPC": func(e *a2a.Event) error {
		var response pbv03.StreamResponse
		if err := nested.Unmarshal(protobuf.V03.AppendEvent(nil, e), &response); err != nil {
			return err
		}
		_, err := convv03.FromProtoStreamResponse(&response)
		return err
	},
	"1.0 gRPC": func(e *a2a.Event) error {
		var response pbv10.StreamResponse
		if err := nested.Unmarshal(protobuf.V10.AppendEvent(nil, e), &response); err != nil {
			return err
		}
		_, err := convv10.FromProtoStreamResponse(&response)
		return err
	},
	"1.0 page": func(e *a2a.Event) error {
		var response sdkv10.ListTasksResponse
		return json.Unmarshal(protojson.V10.AppendTaskPage(nil, pageOf(e)), &response)
	},
	"1.0 gRPC page": func(e *a2a.Event) error {
		var response pbv10.ListTasksResponse
		if err := nested.Unmarshal(protobuf.V10.AppendTaskPage(nil, pageOf(e)), &response); err != nil {
			return err
		}
		_, err := convv10.FromProtoListTasksResponse(&response)
		return err
	},
}

// pageOf returns a page with a task that has the content of an event.
func pageOf(e *a2a.Event) *a2a.TaskPage {
	task := &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.Status{State: a2a.StateWorking}}
	switch {
	case e.Task != nil:
		task = e.Task
	case e.Message != nil:
		task.History = append(task.History, e.Message)
	case e.Status != nil:
		task.Status, task.Metadata = e.Status.Status, e.Status.Metadata
	case e.Artifact != nil:
		task.Artifacts = append(task.Artifacts, e.Artifact.Artifact)
	}
	return &a2a.TaskPage{Tasks: []*a2a.Task{task}, PageSize: 1, TotalSize: 1}
}

// readByAll checks that each official SDK reads an event in the encoding of its version.
func readByAll(t *testing.T, from string, e *a2a.Event) {
	t.Helper()
	for name, read := range readers {
		if err := read(e); err != nil {
			t.Errorf("the SDK of %s cannot read an event of %s: %v", name, from, err)
		}
	}
}

// carriers are events with a value at each place where clients and agents can put one.
var carriers = map[string]string{
	"data of a status": `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"data":%s}]}}}}`,
	"metadata":         `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"metadata":{"k":%s}}}`,
	"artifact":         `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"data":%s,"metadata":{"k":1}}]}}}`,
	"message":          `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}],"metadata":{"k":%s}}}`,
	"history":          `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"history":[{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"k":%s}}]}]}}`,
}

// hostileValues are JSON values that some client cannot read, and the error that refuses them.
var hostileValues = map[string]string{
	`1e400`:                           "number",
	`-1e400`:                          "number",
	`[{"a":[1,2,1E+309]}]`:            "number",
	`1` + repeat("0", 400):            "number",
	`1` + repeat("0", 308) + `0.5e-0`: "number",
	`"\ud800"`:                        "Invalid JSON",
	`"a\udc00b"`:                      "Invalid JSON",
	"\"\xff\"":                        "Invalid JSON",
	`{"a":1,"a":2}`:                   "Invalid JSON",
	`NaN`:                             "Invalid JSON",
	repeat("[", 31) + repeat("]", 31): "nested",
	repeat(`{"a":`, 31) + "1" + repeat("}", 31): "nested",
}

func repeat(s string, n int) string { return strings.Repeat(s, n) }

// The decoder refuses a value that some client could not read.
func TestUnreadableValuesAreRefused(t *testing.T) {
	for place, carrier := range carriers {
		for value, want := range hostileValues {
			_, err := protojson.V10.DecodeEvent(fmt.Appendf(nil, carrier, value))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%.40s as %s: error = %v, want one that says %q", value, place, err, want)
			}
		}
	}
}

// All SDKs read the values that are accepted, also those next to the limits.
func TestEveryClientReadsAcceptedValues(t *testing.T) {
	for place, carrier := range carriers {
		for _, value := range []string{
			`1.7976931348623157e308`, `-1.7976931348623157E+308`, `1e-400`, `5e-324`, `0.` + repeat("0", 400) + `1`, `1` + repeat("0", 308), `9007199254740993`,
			`"1e400"`, `"\ud83d\ude00\u0000"`, `{"1e400":"1e400"}`, `[null]`, `true`,
			repeat("[", 29) + repeat("]", 29), repeat(`{"a":`, 29) + "1" + repeat("}", 29),
		} {
			e, err := protojson.V10.DecodeEvent(fmt.Appendf(nil, carrier, value))
			if err != nil {
				t.Errorf("%.40s as %s is refused: %v", value, place, err)
				continue
			}
			readByAll(t, fmt.Sprintf("%s with %.40s", place, value), &e)
		}
	}
}

// FuzzReaders decodes any text as an event of each dialect. The official SDK of each version must
// read the event in the encoding of its version.
func FuzzReaders(f *testing.F) {
	for _, e := range events() {
		for _, d := range dialects {
			f.Add(d.write(nil, &e))
		}
	}
	for _, carrier := range carriers {
		for value := range hostileValues {
			f.Add(fmt.Appendf(nil, carrier, value))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, d := range dialects {
			e, err := d.read(text)
			if err != nil || e == (a2a.Event{}) || !whole(&e) {
				continue
			}
			readByAll(t, name, &e)
		}
	})
}
