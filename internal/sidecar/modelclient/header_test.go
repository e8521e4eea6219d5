// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelclient

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/kit/responseheader"
)

func TestHeaderOfAToolServerInThePodIsBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["A"] = make([]string, 130)
	}))
	t.Cleanup(server.Close)
	transport := localTransport()
	t.Cleanup(transport.CloseIdleConnections)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transport.RoundTrip(request); !errors.Is(err, responseheader.ErrTooLong) {
		t.Errorf("RoundTrip() = %v, want %v", err, responseheader.ErrTooLong)
	}
}
