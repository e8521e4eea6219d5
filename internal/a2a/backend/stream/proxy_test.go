// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"net/http"
	"testing"
)

// TestProxyOfTheEnvironmentIsNotUsed checks the field of the transport. A request to a
// loopback address would prove nothing, because net/http uses no proxy for it in any
// case.
func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	if transport, ok := New(nil, Limits{}).transport.(*http.Transport); !ok || transport.Proxy != nil {
		t.Error("the transport asks for a proxy")
	}
}
