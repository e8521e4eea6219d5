// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"strings"
	"testing"
	"time"

	v1pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/go-json-experiment/json"
	"google.golang.org/protobuf/proto"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protobuf"
)

const taskID, contextID = "4b0e7a0c-6f5a-4d3e-9a51-3d7f0d9c1b22", "0f8d2c61-1f1e-4f0b-8f6e-aa2f2c1d7e90"

// realistic returns events as agents send them, each with the ids of its task.
func realistic() map[string]a2a.Event {
	update := func(p a2a.Part) a2a.Event {
		return a2a.Event{Artifact: &a2a.ArtifactUpdate{
			TaskID: taskID, ContextID: contextID, Append: true,
			Artifact: a2a.Artifact{ID: "turn-1", Parts: []a2a.Part{p}},
		}}
	}
	return map[string]a2a.Event{
		"chunk of 20 bytes": update(a2a.TextPart("twenty bytes of text")),
		"file of 4 KiB":     update(a2a.Part{Content: a2a.ContentRaw, Raw: []byte(strings.Repeat("\x00\xff", 2<<10)), MediaType: "image/png"}),
		"data of 300 bytes": update(a2a.Part{Content: a2a.ContentData, Data: a2a.Value(
			`{"rows":[` + strings.Repeat(`{"name":"alice","amount":12.5,"paid":true},`, 6) + `{"name":"bob","amount":7,"paid":false}]}`)}),
		"message of 200 bytes": {Message: &a2a.Message{
			ID: "7e1c1d8e-5f1b-4a39-8f7e-2b0c6a5d9e10", TaskID: taskID, ContextID: contextID, Role: a2a.RoleUser,
			Parts: []a2a.Part{a2a.TextPart(strings.Repeat("What does it cost? ", 10))},
		}},
		"status": {Status: &a2a.StatusUpdate{
			TaskID: taskID, ContextID: contextID,
			Status: a2a.Status{State: a2a.StateWorking, Time: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)},
		}},
	}
}

// BenchmarkFormat compares the record format with protobuf, in the generated code of A2A
// 1.0, and with JSON of the domain's types. It reports the bytes of one event. The figures
// for protobuf do not include the fields of events that A2A does not have, and the
// conversion between events and generated types.
func BenchmarkFormat(b *testing.B) {
	ids := taskIDs{taskID, contextID}
	for name, event := range realistic() {
		events := []a2a.Event{event}
		generated := &v1pb.StreamResponse{}
		if err := proto.Unmarshal(protobuf.V10.AppendEvent(nil, &event), generated); err != nil {
			b.Fatal(err)
		}
		formats := map[string]struct {
			encode func() []byte
			decode func([]byte) error
		}{
			"own": {
				func() []byte { return writeEvents(ids, events, nil) },
				func(text []byte) error { _, _, err := readEvents(ids, text); return err },
			},
			"protobuf": {
				func() []byte { text, _ := proto.Marshal(generated); return text },
				func(text []byte) error { return proto.Unmarshal(text, &v1pb.StreamResponse{}) },
			},
			"JSON": {
				func() []byte { text, _ := json.Marshal(&event); return text },
				func(text []byte) error { return json.Unmarshal(text, &a2a.Event{}) },
			},
		}
		for format, f := range formats {
			text := f.encode()
			b.Run(name+"/"+format+"/encode", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f.encode()
				}
				b.ReportMetric(float64(len(text)), "bytes")
			})
			b.Run(name+"/"+format+"/decode", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := f.decode(text); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
