// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"net/http"
	"testing"
)

// A proxy of the environment is never asked for loopback, so that only the
// transport itself can tell.
func TestProxyOfTheEnvironmentIsNotAsked(t *testing.T) {
	if transport, ok := New(Limits{}, nil).transport.(*http.Transport); !ok || transport.Proxy != nil {
		t.Error("the transport asks for a proxy")
	}
}
