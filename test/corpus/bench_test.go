// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"maps"
	"slices"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/test/codectest"
)

// BenchmarkEncodeEvent measures each codec on the events of a stream.
func BenchmarkEncodeEvent(b *testing.B) {
	for _, dialect := range slices.Sorted(maps.Keys(encoders["event"])) {
		for _, name := range []string{"chunk", "task", "working"} {
			b.Run(dialect+"/"+name, func(b *testing.B) {
				e, f, dst := codectest.Events()[name], encoders["event"][dialect], make([]byte, 0, 8<<10)
				b.ReportAllocs()
				for b.Loop() {
					dst = f(dst[:0], &e)
				}
			})
		}
	}
}

// BenchmarkDecode measures each codec on a request with one text part, and on
// an event.
func BenchmarkDecode(b *testing.B) {
	request := &a2a.SendRequest{Message: &a2a.Message{ID: "m1", TaskID: "t1", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("Hello")}}}
	event := codectest.Events()["chunk"]
	run := func(name, kind, dialect string, value any, f decode) {
		b.Run(name, func(b *testing.B) {
			text := encoders[kind][dialect](nil, value)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, dialect := range []string{"0.1", "0.3", "0.3 proto", "1.0"} {
		run("send/"+dialect, "send", dialect, request, jsonDecoders["send"][dialect])
		run("event/"+dialect, "event", dialect, &event, jsonDecoders["event"][dialect+" event"])
	}
	for _, dialect := range []string{"0.3 gRPC", "1.0 gRPC"} {
		run("send/"+dialect, "send", dialect, request, protobufDecoders["request"][dialect+" send"])
	}
}
