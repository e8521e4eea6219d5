// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ard_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
)

func TestCutBoundsAnEntryAndKeepsItsIdentity(t *testing.T) {
	hostile := strings.Repeat("<\x00\u2028", 2000)
	texts, metadata := make([]string, 1000), map[string]any{}
	for i := range texts {
		texts[i] = fmt.Sprint(i, hostile[:i])
		metadata[texts[i]] = hostile
	}
	e := ard.Entry{
		Identifier: "urn:air:acme.com:" + strings.Repeat("n", 63) + ":" + strings.Repeat("a", 63), Type: ard.TypeAgentCard, URL: "https://" + strings.Repeat("h", 2000),
		DisplayName: "Cart" + hostile, Description: "Sells." + hostile, Version: "1" + hostile, UpdatedAt: "2026-01-31T12:00:00Z",
		Tags: texts, Capabilities: texts, RepresentativeQueries: []string{hostile, hostile, hostile, hostile, hostile}, Metadata: metadata,
	}
	before := e
	e.Cut(ard.MaxExported)
	text, err := json.Marshal(e)
	if err != nil || len(text) > ard.MaxExported || e.Size() > ard.MaxExported {
		t.Errorf("%d bytes, size %d, %v", len(text), e.Size(), err)
	}
	if e.Identifier != before.Identifier || e.URL != before.URL || e.Type != before.Type || len(e.Tags) == 0 || len(e.Capabilities) == 0 ||
		!strings.HasPrefix(e.DisplayName, "Cart<") || !strings.HasPrefix(e.Description, "Sells.<") {
		t.Errorf("entry = %.300s", text)
	}
	if before.RepresentativeQueries[0] != hostile {
		t.Error("Cut changes the array of the queries, which others may share")
	}
}

func TestCutKeepsASmallEntry(t *testing.T) {
	e := ard.Entry{Identifier: "urn:air:acme.com:shop:cart", Description: strings.Repeat("x", 4<<10), Tags: []string{"a"}, Metadata: map[string]any{"ready": true}}
	before := e
	e.Cut(ard.MaxExported)
	if diff := cmp.Diff(before, e); diff != "" {
		t.Errorf("Cut() (-want +got):\n%s", diff)
	}
}
