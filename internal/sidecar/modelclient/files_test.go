// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelclient

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// TestModelServerGetsAllowedFileURLsOnly checks which URLs of a caller's images reach the model
// server, which would fetch them from its own place in the network.
func TestModelServerGetsAllowedFileURLsOnly(t *testing.T) {
	var got string
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = string(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
	}))
	defer model.Close()
	for _, test := range []struct {
		hosts  []string
		passed []string
		denied []string
	}{
		{
			passed: []string{"data:image/png;base64,QUFB", "DATA:image/png;base64,QUFB"},
			denied: []string{"https://files.example.com/a.png", "http://169.254.169.254/latest", "file:///etc/passwd", "data", "//x", ""},
		},
		{
			hosts:  []string{"files.example.com", "*.cdn.example.com"},
			passed: []string{"https://files.example.com/a.png", "https://x.cdn.example.com/a.png", "data:image/png;base64,QUFB"},
			denied: []string{
				"http://files.example.com/a.png", "https://files.example.com.evil.test/a.png", "https://evil.test/a.png?files.example.com",
				"https://169.254.169.254/", "https://[::1]/", "https://2130706433/", "https://user@evil.test/", "https://127.0.0.1/", "ftp://files.example.com/a",
				"https://kubernetes.default.svc/", "https://localhost/", "https://cdn.example.com/",
			},
		},
	} {
		s := &Server{}
		b, err := s.Backend(sidecarconfig.Agent{}, &sidecarconfig.Backend{
			URL: model.URL, Protocol: sidecarconfig.ProtocolChatCompletions,
			Model: sidecarconfig.Model{Name: "m", FileHosts: test.hosts},
		}, stream.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		send := func(url string) error {
			got = ""
			message := &a2a.Message{Role: a2a.RoleUser, Parts: []a2a.Part{{Content: a2a.ContentURL, URL: url, MediaType: "image/png"}}}
			return b.Run(t.Context(), &backend.Turn{TaskID: "t", ContextID: "c", Number: 1, Message: message, Journal: &noJournal{}}, func([]a2a.Event) error { return nil })
		}
		for _, url := range test.passed {
			if err := send(url); err != nil || !strings.Contains(got, url) {
				t.Errorf("hosts %q: %q: %v, the model server got %s", test.hosts, url, err, got)
			}
		}
		for _, url := range test.denied {
			if err := send(url); err == nil || !strings.Contains(err.Error(), "message.parts[0]: has a URL") || got != "" {
				t.Errorf("hosts %q: %q: %v, the model server got %s", test.hosts, url, err, got)
			}
		}
		b.Close()
	}
}

// noJournal is a journal that keeps nothing.
type noJournal struct{}

func (noJournal) Entries(context.Context, func(int64) error) ([][]byte, error) { return nil, nil }

func (noJournal) Append(context.Context, []byte) error { return nil }
