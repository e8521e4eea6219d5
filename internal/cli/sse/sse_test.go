// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sse

import (
	"slices"
	"strings"
	"testing"
)

func TestReadHasLimitsAndDropsHalfEvents(t *testing.T) {
	var got []string
	err := Read(strings.NewReader(": comment\r\nevent: a\r\nid: 1\r\ndata: a\r\ndata: b\r\n\r\ndata:c\n\ndata: half"), func(e Event) error {
		got = append(got, e.Type+e.ID+"="+string(e.Data))
		return nil
	})
	if want := []string{"a1=a\nb", "1=c"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	if err := Read(strings.NewReader("data: "+strings.Repeat("x", MaxEvent+1)+"\n\n"), func(Event) error { return nil }); err == nil {
		t.Error("an event of any size is accepted")
	}
}
