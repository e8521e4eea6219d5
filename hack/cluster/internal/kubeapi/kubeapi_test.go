// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"errors"
	"testing"
)

func TestHasCondition(t *testing.T) {
	for name, c := range map[string]struct {
		object string
		want   error
	}{
		"true":    {object: `{"status":{"conditions":[{"type":"Other","status":"False"},{"type":"Ready","status":"True"}]}}`},
		"false":   {object: `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"R","message":"m"}]}}`, want: errNotReady},
		"unknown": {object: `{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`, want: errNotReady},
		"none":    {object: `{}`, want: errNotReady},
	} {
		if err := hasCondition([]byte(c.object), "/nodes/n", "Ready"); !errors.Is(err, c.want) {
			t.Errorf("%s: hasCondition = %v, want %v", name, err, c.want)
		}
	}
	if err := hasCondition([]byte("<html>"), "/nodes/n", "Ready"); err == nil || errors.Is(err, errNotReady) {
		t.Errorf("hasCondition of HTML = %v", err)
	}
}
