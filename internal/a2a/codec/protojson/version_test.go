// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package protojson

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/test/codectest"
	"github.com/a2a-operator/a2a-operator/test/spec"
)

var newYear = time.Date(2026, 1, 1, 1, 0, 0, 0, time.FixedZone("CET", 3600))

// The tables of tests of one version, by name.
type (
	appendTest struct {
		event a2a.Event
		want  string
	}
	sendTest struct {
		text string
		want a2a.SendRequest
	}
	rejectTest struct{ text, want string }
)

func testAppendEvent(t *testing.T, v *Version, tests map[string]appendTest) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, string(v.AppendEvent(nil, &test.event))); diff != "" {
				t.Errorf("AppendEvent() (-want +got):\n%s", diff)
			}
		})
	}
}

func testDecodeSend(t *testing.T, v *Version, tests map[string]sendTest) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := v.DecodeSend([]byte(test.text))
			if err != nil {
				t.Fatalf("DecodeSend() error = %v", err)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("DecodeSend() (-want +got):\n%s", diff)
			}
		})
	}
}

func testDecodeSendRejects(t *testing.T, v *Version, tests map[string]rejectTest) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := v.DecodeSend([]byte(test.text)); err == nil || err.Error() != test.want {
				t.Errorf("DecodeSend() error = %v, want %s", err, test.want)
			}
		})
	}
}

// removeLostMembers removes the members that a version does not write.
func removeLostMembers(v *Version, e *a2a.Event) {
	if v.references {
		return
	}
	messages := []*a2a.Message{e.Message}
	if e.Status != nil {
		messages = append(messages, e.Status.Status.Message)
	}
	if e.Task != nil {
		messages = append(append(messages, e.Task.Status.Message), e.Task.History...)
	}
	for _, m := range messages {
		if m != nil {
			m.ReferenceTasks = nil
		}
	}
}

func testRoundTrip(t *testing.T, v *Version) {
	t.Helper()
	dst := make([]byte, 0, 8<<10)
	for name, event := range codectest.Events() {
		t.Run(name, func(t *testing.T) {
			text := v.AppendEvent(nil, &event)
			got, err := v.DecodeEvent(text)
			if err != nil {
				t.Fatalf("DecodeEvent(%s) error = %v", text, err)
			}
			if n := testing.AllocsPerRun(10, func() { dst = v.AppendEvent(dst[:0], &event) }); n != 0 {
				t.Errorf("AppendEvent() allocates %v times", n)
			}
			removeLostMembers(v, &event)
			if diff := cmp.Diff(event, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("DecodeEvent(AppendEvent()) (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWire03_V03EventsRoundTrip(t *testing.T) { testRoundTrip(t, V03) }

func TestV10EventsRoundTrip(t *testing.T) {
	testRoundTrip(t, V10)
	for name, event := range codectest.Events() {
		if err := spec.Validate("v1.0.1", "StreamResponse", V10.AppendEvent(nil, &event)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// fuzzDecodeEvent checks that encoding and decoding a decoded event again does not change
// it.
func fuzzDecodeEvent(f *testing.F, v *Version) {
	f.Helper()
	for _, event := range codectest.Events() {
		f.Add(v.AppendEvent(nil, &event))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		event, err := v.DecodeEvent(text)
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("DecodeEvent() accepts a text that is not JSON: %q", text)
		}
		encoded := v.AppendEvent(nil, &event)
		if !json.Valid(encoded) {
			t.Fatalf("AppendEvent() = %q, which is not JSON", encoded)
		}
		again, err := v.DecodeEvent(encoded)
		if err != nil {
			t.Fatalf("DecodeEvent(%s) error = %v", encoded, err)
		}
		removeLostMembers(v, &event)
		if diff := cmp.Diff(event, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("DecodeEvent(AppendEvent()) (-want +got):\n%s", diff)
		}
	})
}
