// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
	"github.com/a2a-operator/a2a-operator/internal/cli/notification"
	"github.com/a2a-operator/a2a-operator/test/signingtest"
)

// post sends a notification with a signature, which is "" for none, and returns the status.
func post(t *testing.T, address, signature, event string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/hook", strings.NewReader(sentBody))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(notification.HeaderSignature, signature)
	r.Header.Set(notification.HeaderEvent, event)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// sentBody is the body of the notifications.
const sentBody = `{"id":"t1","status":{"state":"completed"}}`

// signed returns the signature of sentBody.
func signed(t *testing.T, key *signing.Key, origin, event string) string {
	t.Helper()
	digest := sha256.Sum256([]byte(sentBody))
	token, err := key.Token(map[string]any{
		"aud": origin, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(), "jti": event, "request_body_sha256": hex.EncodeToString(digest[:]),
	})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestListenPrintsVerifiedNotifications(t *testing.T) {
	first := signingtest.NewKey(t)
	second := signingtest.NewKey(t)
	var current atomic.Pointer[signing.Key]
	current.Store(first)
	fetch := func(context.Context) (*jose.JSONWebKeySet, error) {
		return &jose.JSONWebKeySet{Keys: []jose.JSONWebKey{*current.Load().Public()}}, nil
	}
	out, printed := io.Pipe()
	problems, warned := io.Pipe()
	r := &receiver{app: &app{IOStreams: genericiooptions.IOStreams{Out: printed, ErrOut: warned}, output: outputJSON}, fetch: fetch}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.listen(ctx, "127.0.0.1:0") }()
	waiting := bufio.NewScanner(problems)
	if !waiting.Scan() {
		t.Fatal("no line about the address")
	}
	_, rest, _ := strings.Cut(waiting.Text(), "notifications to ")
	origin, _, _ := strings.Cut(rest, ". Press")
	go func() { _, _ = io.Copy(io.Discard, problems) }()

	lines := bufio.NewScanner(out)
	expect := func(signature, event string, status int, want received) {
		t.Helper()
		got := make(chan int, 1)
		go func() { got <- post(t, origin, signature, event) }()
		if !lines.Scan() {
			t.Fatal("nothing was printed")
		}
		var n received
		if err := json.Unmarshal(lines.Bytes(), &n); err != nil {
			t.Fatal(err)
		}
		n.Time = time.Time{}
		if diff := cmp.Diff(want, n); diff != "" {
			t.Errorf("printed (-want +got):\n%s", diff)
		}
		if code := <-got; code != status {
			t.Errorf("status %d, want %d", code, status)
		}
	}
	accepted := received{
		Outcome: outcomeVerified, Event: "t1:1", Summary: notification.Summary{Task: "t1", State: "completed", Kind: "task"}, Body: json.RawMessage(sentBody),
	}
	expect(signed(t, first, origin, "t1:1"), "t1:1", http.StatusNoContent, accepted)
	accepted.Repeated = true
	expect(signed(t, first, origin, "t1:1"), "t1:1", http.StatusNoContent, accepted)
	expect("", "t1:2", http.StatusUnauthorized, received{Outcome: "refused", Reason: "there is no signature"})
	expect(signed(t, second, origin, "t1:2"), "t1:2", http.StatusUnauthorized, received{Outcome: "refused", Reason: notification.ErrNoKey.Error()})

	current.Store(second) // the agent has rotated its key
	r.mu.Lock()
	r.read = time.Now().Add(-keysAge)
	r.mu.Unlock()
	accepted.Repeated = false
	accepted.Event = "t1:2"
	expect(signed(t, second, origin, "t1:2"), "t1:2", http.StatusNoContent, accepted)

	response, err := http.Get(origin)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: status %d", response.StatusCode)
	}
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("listen() = %v", err)
	}
}

// A request without a valid signature is refused before its body arrives.
func TestListenReadsNoUnsignedBody(t *testing.T) {
	r := &receiver{app: &app{IOStreams: genericiooptions.IOStreams{Out: io.Discard, ErrOut: io.Discard}}, keys: &jose.JSONWebKeySet{}, read: time.Now()}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hook", iotest.ErrReader(errors.New("the body is read")))
	w := httptest.NewRecorder()
	r.ServeHTTP(w, request)
	if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), "there is no signature") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestListenNeedsKeysAndAnAddress(t *testing.T) {
	unsigned, _ := signedServer(t, "", "/elsewhere", func(text string) string { return text })
	signs, _ := signedServer(t, "", keySetPath, func(text string) string { return text })
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no keys":         {[]string{"--url", unsigned}, "spec.cardSigning of the agent"},
		"no such address": {[]string{"--url", signs, "--address", "192.0.2.1:1"}, "port 0 selects a free port"},
		"an origin":       {[]string{"--url", signs, "--origin", "https://hooks.example.com/path"}, "is not a scheme with a host"},
	} {
		r := run(t, append([]string{"listen"}, test.args...)...)
		if r.status == 0 || !strings.Contains(r.stderr, test.want) {
			t.Errorf("%s: status %d, %s, want %q", name, r.status, r.stderr, test.want)
		}
	}
}
