// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package script

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFindParsesStringOutput(t *testing.T) {
	for _, want := range []Script{
		{Message: true, Size: 800},
		{Chunks: 500, Size: 20},
		{Chunks: 3, Size: 200, Every: 10 * time.Millisecond, Gated: true},
	} {
		got, err := Find([]byte(`{"parts":[{"text":"` + want.String() + ` xxx (and more)"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Find() (-want +got):\n%s", diff)
		}
	}
	for _, body := range []string{"", "script(", "script()", "script(true 1 2)", "script(true one 2 0s false)", "script(true 1 2 soon false)"} {
		if got, err := Find([]byte(body)); err == nil {
			t.Errorf("Find(%q) = %v, want an error", body, got)
		}
	}
}

func TestPlayWaitsForTheGate(t *testing.T) {
	gate := make(chan struct{})
	var said []string
	err := Script{Chunks: 3, Size: 64, Gated: true}.Play(t.Context(), gate, func(text string) error {
		if said = append(said, text); len(said) == 1 {
			close(gate)
		}
		return nil
	})
	if err != nil || len(said) != 4 || said[0] != "waiting" {
		t.Fatalf("Play() wrote %q, %v, want one chunk before the gate and 3 after it", said, err)
	}
	for _, text := range said[1:] {
		at, ok := SaidAt([]byte(`{"text":"` + text + `"}`))
		if age := time.Since(at); !ok || age < 0 || age > time.Minute || len(text) != 64 {
			t.Errorf("SaidAt(%q) = %v, %t, want now, in 64 bytes", text, at, ok)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (Script{Chunks: 1, Gated: true}).Play(ctx, nil, func(string) error { return nil }); err == nil {
		t.Error("Play() returns no error for a canceled context and a closed gate")
	}
}
