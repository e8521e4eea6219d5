// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// opened finds the address that `kubectl a2a ui` prints. It works once.
var opened = regexp.MustCompile(`http://\S+/open/\S+`)

// TestConnectionsToThePage attacks the page that `kubectl a2a ui` serves on the loopback interface, which every program of the
// machine can reach.
func TestConnectionsToThePage(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"items":[],"total":0,"nextCursor":""}`)
	}))
	t.Cleanup(registry.Close)
	attackListeners(t, func(t *testing.T) *subject {
		page := newListener(t, "page of the CLI")
		page.V4 = true
		p := Start(t, SidecarLimit, "cmd/kubectl-a2a", "ui", "--no-browser", "--port", page.Port, "--registry", registry.URL, "--registry-token", "token")
		await(t.Context(), func() bool { return opened.MatchString(p.Output.String()) || p.Failure() != "" })
		client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: time.Minute}
		response, err := client.Get(opened.FindString(p.Output.String()))
		if err != nil {
			t.Fatalf("%v: %s", err, p.Output)
		}
		_ = response.Body.Close()
		page.get(response.Header.Get("Location") + "static/ui.css")
		return newSubject(t, "page of the CLI", SidecarLimit, p, []listener{page})
	})
}
