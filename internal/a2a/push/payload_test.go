// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
)

func TestWire17_PayloadAndHeadersByDialect(t *testing.T) {
	const (
		v03 = `{"kind":"task","id":"t1","contextId":"c1","status":{"state":"working","timestamp":"2026-01-02T03:04:05.000Z"},` +
			`"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"part"}]}]}`
		v01 = `{"id":"t1","sessionId":"c1","status":{"state":"working","timestamp":"2026-01-02T03:04:05.000Z"},` +
			`"artifacts":[{"index":0,"parts":[{"type":"text","text":"part"}]}]}`
		v10 = `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.000Z"}}}`
	)
	common := []string{
		"User-Agent", "a2a-operator", "X-A2a-Event-Id", "t1:4", "X-A2a-Notification-Token", "token", "Authorization", "Bearer secret",
		"Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "Tracestate", "v=1",
	}
	before10 := append([]string{"Content-Type", "application/json"}, common...)
	of03 := append([]string{"X-A2a-Extensions", "urn:x, urn:y"}, before10...)
	of10 := append([]string{
		"Content-Type", "application/a2a+json", "A2a-Version", "1.0", "A2a-Notification-Token", "token", "A2a-Extensions", "urn:x, urn:y",
	}, common...)
	for _, test := range []struct {
		name    string
		dialect a2a.Dialect
		body    string
		header  []string
	}{
		{"0.1", a2a.DialectV01, v01, before10},
		{"0.3 JSON-RPC", a2a.DialectV03, v03, of03},
		{"0.3 REST", a2a.DialectV03Proto, v03, of03},
		{"0.3 gRPC", a2a.DialectV03GRPC, v03, of03},
		{"kind REST", a2a.DialectKindREST, v03, of03},
		{"1.0", a2a.DialectV10, v10, of10},
		{"1.0 gRPC", a2a.DialectV10GRPC, v10, of10},
	} {
		t.Run(test.name, func(t *testing.T) {
			withFixture(t, push.Options{Linger: time.Nanosecond}, func(t *testing.T, b *fixture) {
				task := b.task("t1")
				task.add(chunk("t1", "a", "part", false))
				task.config(a2a.PushConfig{
					Dialect: test.dialect, Token: "token", Scheme: "bearer", Credentials: "secret",
					Extensions: []string{"urn:x", "urn:y"}, Trace: a2a.TraceContext{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "v=1"},
				})
				task.setState(a2a.StateWorking)
				all := b.takeReceived()
				if len(all) != 1 {
					t.Fatalf("received %d, want 1", len(all))
				}
				want := http.Header{}
				for i := 0; i < len(test.header); i += 2 {
					want.Set(test.header[i], test.header[i+1])
				}
				if diff := cmp.Diff(want, all[0].header); diff != "" {
					t.Errorf("header (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(test.body, all[0].body); diff != "" {
					t.Errorf("body (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestWire17_ArtifactPayloadFrom10On(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		last := chunk("t1", "a", " and on", true)
		last.Artifact.LastChunk = true
		file := chunk("t1", "a", "", true)
		file.Artifact.Artifact.Parts = []a2a.Part{{Content: a2a.ContentURL, URL: "https://example.com/x"}}
		task.add(chunk("t1", "a", "on", false), file, last)
		all := b.takeReceived()
		const want = `{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a","parts":[{"text":"on"},` +
			`{"url":"https://example.com/x"},{"text":" and on"}]},"lastChunk":true}}`
		if len(all) != 1 || all[0].body != want {
			t.Errorf("received %v, want\n%s", all, want)
		}
	})
}

func TestWire17_AuthorizationHeader(t *testing.T) {
	for _, test := range []struct{ scheme, credentials, want string }{
		{"", "", ""},
		{"Bearer", "", ""},
		{"Bearer", "abc", "Bearer abc"},
		{"bearer", "abc", "Bearer abc"},
		{"Basic", "dXNlcjpwYXNz", "Basic dXNlcjpwYXNz"},
		{"BASIC", "user:pass", "Basic dXNlcjpwYXNz"},
		{"ApiKey", "abc", "ApiKey abc"},
		{"Digest", `username="x", realm="y"`, `Digest username="x", realm="y"`},
	} {
		withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
			task := b.task("t1")
			task.config(a2a.PushConfig{Dialect: a2a.DialectV10, Scheme: test.scheme, Credentials: test.credentials})
			task.setState(a2a.StateCompleted)
			all := b.takeReceived()
			if len(all) != 1 || all[0].header.Get("Authorization") != test.want {
				t.Errorf("%s %s is sent as %v, want %q", test.scheme, test.credentials, all, test.want)
			}
		})
	}
}

func TestLargeTaskIsPostedWithoutArtifacts(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV03})
		for range 9 {
			task.add(chunk("t1", "a", strings.Repeat("x", 1<<20), true))
		}
		task.setState(a2a.StateCompleted)
		all := b.takeReceived()
		if len(all) != 1 || len(all[0].body) > 1000 || !strings.Contains(all[0].body, `"state":"completed"`) {
			t.Errorf("received %d, the first with %d bytes", len(all), len(all[0].body))
		}
	})
}

func TestIDsOfClientsFitIntoHeaders(t *testing.T) {
	withFixture(t, push.Options{}, func(t *testing.T, b *fixture) {
		task := b.task("t\u00e4sk\r\n1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV01})
		task.setState(a2a.StateCompleted)
		if all := b.takeReceived(); len(all) != 1 || all[0].header.Get("X-A2A-Event-Id") != "t%C3%A4sk%0D%0A1:3" {
			t.Errorf("received %v", all)
		}
	})
}
