// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2aclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

func httpClient(tb testing.TB, o TransportOptions) *http.Client {
	tb.Helper()
	client, err := NewHTTPClient(o, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.CloseIdleConnections)
	return client
}

func connect(tb testing.TB, u string, choice Choice) *client.Client {
	tb.Helper()
	h := httpClient(tb, TransportOptions{})
	c, err := ReadCard(tb.Context(), h, u)
	if err != nil {
		tb.Fatal(err)
	}
	client, err := New(c, Options{HTTP: h, Choice: choice})
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

func message(text, task string) *a2a.SendRequest {
	return &a2a.SendRequest{Message: &a2a.Message{
		ID: "m-" + text, TaskID: task, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(text)},
	}}
}

// choices are all versions and bindings that the CLI speaks.
var choices = []Choice{
	{}, {Transports: []string{"HTTP+JSON"}}, {Version: "0.3"}, {Version: "0.2"}, {Version: "0.3", Transports: []string{"HTTP+JSON"}}, {Version: "0.1"},
}

func TestEveryVersionSendsStreamsReadsAndCancels(t *testing.T) {
	for _, choice := range choices {
		t.Run(fmt.Sprint(choice.Version, choice.Transports), func(t *testing.T) {
			f := sidecartest.Start(t, sidecartest.TextAgent)
			c := connectAs(t, f.URL, choice)
			text := ""
			follow := &client.Following{Client: c, PollInterval: 10 * time.Millisecond, Observe: func(e *client.Event) error {
				if e.Artifact != nil {
					text += e.Artifact.Artifact.Parts[0].Text
				}
				if !json.Valid(e.JSON) || strings.ContainsAny(string(e.JSON), "\n") {
					t.Errorf("JSON of an event is %q", e.JSON)
				}
				return nil
			}}
			if err := follow.Send(t.Context(), message("hello", "")); err != nil {
				t.Fatal(err)
			}
			if follow.State() != a2a.StateCompleted || text == "" || follow.TaskID() == "" {
				t.Fatalf("task %q is %v with the text %q", follow.TaskID(), follow.State(), text)
			}
			answer, err := c.Send(t.Context(), message("again", ""))
			if err != nil || answer.Task == nil || answer.Task.Status.State != a2a.StateCompleted {
				t.Fatalf("Send() = %+v, %v", answer, err)
			}
			task, err := c.Get(t.Context(), &a2a.GetRequest{TaskID: follow.TaskID()})
			if err != nil || len(task.Task.Artifacts) != 1 || !strings.Contains(string(task.JSON), `"TASK_STATE_COMPLETED"`) {
				t.Fatalf("Task() = %s, %v", task.JSON, err)
			}
			if _, err := c.Cancel(t.Context(), &a2a.CancelRequest{TaskID: follow.TaskID()}); failure.Of(err).Code != "TaskNotCancelableError" {
				t.Errorf("cancel of a task that has ended: %v", err)
			}
			if _, err := c.Get(t.Context(), &a2a.GetRequest{TaskID: "none"}); failure.Of(err).Code != "TaskNotFoundError" || failure.Of(err).Hint == "" {
				t.Errorf("unknown task: %v", err)
			}
		})
	}
}

// connectAs returns a client that speaks the chosen version to a sidecar. The card lists the interfaces of 0.1 and 0.2 as
// 0.3, so connectAs replaces this version for them.
func connectAs(t *testing.T, u string, choice Choice) *client.Client {
	t.Helper()
	h := httpClient(t, TransportOptions{})
	c, err := ReadCard(t.Context(), h, u)
	if err != nil {
		t.Fatal(err)
	}
	if choice.Version == "0.1" || choice.Version == "0.2" {
		for i := range c.Interfaces {
			if c.Interfaces[i].ProtocolVersion == "0.3" {
				c.Interfaces[i].ProtocolVersion = choice.Version
			}
		}
	}
	client, err := New(c, Options{HTTP: h, Choice: choice})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestTasksAreListedByPage(t *testing.T) {
	for _, transport := range []string{"JSONRPC", "HTTP+JSON"} {
		t.Run(transport, func(t *testing.T) {
			f := sidecartest.Start(t, sidecartest.TextAgent)
			c := connect(t, f.URL, Choice{Transports: []string{transport}})
			want := map[string]bool{}
			for i := range 3 {
				e, err := c.Send(t.Context(), message(fmt.Sprint("n", i), ""))
				if err != nil {
					t.Fatal(err)
				}
				want[e.Task.ID] = true
			}
			r := &a2a.ListRequest{PageSize: 2, State: a2a.StateCompleted}
			for range 2 {
				page, err := c.List(t.Context(), r)
				if err != nil || page.TotalSize != 3 || !strings.HasPrefix(string(page.JSON), `{"tasks":[`) {
					t.Fatalf("Tasks() = %+v, %v", page, err)
				}
				for _, e := range page.Tasks {
					delete(want, e.Task.ID)
				}
				r.PageToken = page.NextPageToken
			}
			if len(want) > 0 || r.PageToken != "" {
				t.Errorf("tasks %v are on no page", want)
			}
		})
	}
	f := sidecartest.Start(t, sidecartest.TextAgent)
	if _, err := connect(t, f.URL, Choice{Version: "0.3"}).List(t.Context(), &a2a.ListRequest{}); failure.Of(err).Code != "UnsupportedOperationError" {
		t.Errorf("0.3: %v", err)
	}
}

func TestAContinuedTaskEndsWhereItWaits(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.AskingAgent)
	c := connect(t, f.URL, Choice{})
	follow := &client.Following{Client: c, PollInterval: time.Millisecond, Observe: func(*client.Event) error { return nil }}
	if err := follow.Send(t.Context(), message("one", "")); err != nil || follow.State() != a2a.StateInputRequired {
		t.Fatalf("state %v, %v", follow.State(), err)
	}
	next := &client.Following{Client: c, PollInterval: time.Millisecond, Observe: func(*client.Event) error { return nil }}
	if err := next.Send(t.Context(), message("two", follow.TaskID())); err != nil || next.State() != a2a.StateCompleted || next.TaskID() != follow.TaskID() {
		t.Fatalf("state %v, %v", next.State(), err)
	}
}

// cutter starts a proxy that cuts the first stream after `after` bytes. cuts is 1 once it has cut the stream.
func cutter(t *testing.T, to string, after int) (u string, cuts *int) {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	cuts = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := r.Clone(r.Context())
		out.URL.Scheme, out.URL.Host, out.RequestURI = target.Scheme, target.Host, ""
		resp, err := http.DefaultTransport.RoundTrip(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		maps.Copy(w.Header(), resp.Header)
		w.WriteHeader(resp.StatusCode)
		limit := -1
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") && *cuts == 0 {
			limit = after
			*cuts++
		}
		buffer := make([]byte, 64)
		for {
			n, err := resp.Body.Read(buffer)
			if limit >= 0 && n >= limit {
				_, _ = w.Write(buffer[:limit])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			if limit >= 0 {
				limit -= n
			}
			_, _ = w.Write(buffer[:n])
			_ = http.NewResponseController(w).Flush()
			if err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, cuts
}

func TestABrokenStreamIsResumedWithoutLossOrRepetition(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.NDJSONAgent(
		`{"type":"text","text":"one "}`, `{"type":"text","text":"two "}`, `{"type":"text","text":"three "}`, `{"type":"text","text":"four"}`))
	for after := 150; after < 2000; after += 97 {
		u, cuts := cutter(t, f.URL, after)
		h := httpClient(t, TransportOptions{})
		c, err := ReadCard(t.Context(), h, f.URL)
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Interfaces {
			c.Interfaces[i].URL = strings.Replace(c.Interfaces[i].URL, f.URL, u, 1)
		}
		agent, err := New(c, Options{HTTP: h})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		resumed := 0
		follow := &client.Following{Client: agent, PollInterval: time.Millisecond, Resuming: func(error) { resumed++ }, Observe: func(e *client.Event) error {
			switch {
			case e.Artifact != nil:
				text.WriteString(e.Artifact.Artifact.Parts[0].Text)
			case e.Task != nil && len(e.Task.Artifacts) > 0: // a snapshot replaces the content read so far
				text.Reset()
				for _, p := range e.Task.Artifacts[0].Parts {
					text.WriteString(p.Text)
				}
			}
			return nil
		}}
		err = follow.Send(t.Context(), message(fmt.Sprint("x", after), ""))
		if err != nil && !strings.Contains(err.Error(), "cannot be reached") { // cut before the first event, so there is no task to resume
			t.Fatalf("cut after %d: %v", after, err)
		}
		if err == nil && text.String() != "one two three four" {
			t.Errorf("cut after %d bytes (%d cuts, %d resumed): text is %q", after, *cuts, resumed, text.String())
		}
	}
}

func TestInterruptReturnsItsCauseAndKeepsTheTaskID(t *testing.T) {
	proceed := make(chan struct{})
	defer close(proceed)
	f := sidecartest.Start(t, sidecartest.HeldAgent(proceed))
	interrupt := failure.New(failure.Internal, "interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	follow := &client.Following{Client: connect(t, f.URL, Choice{}), PollInterval: time.Millisecond}
	follow.Observe = func(e *client.Event) error {
		if e.Artifact != nil {
			cancel(interrupt)
		}
		return nil
	}
	if err := follow.Send(ctx, message("wait", "")); failure.Of(err) != interrupt || follow.TaskID() == "" {
		t.Errorf("error %v, task %q", err, follow.TaskID())
	}
}

func TestACardIsFoundAtEachKindOfReference(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.TextAgent)
	h := httpClient(t, TransportOptions{})
	text, err := ReadCard(t.Context(), h, f.URL)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "card.json")
	if err := os.WriteFile(file, text.JSON, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, reference := range []string{
		f.URL, f.URL + "/", strings.TrimPrefix(f.URL, "http://"), f.URL + "/.well-known/agent-card.json", f.URL + "/some/path", file, "file://" + file,
	} {
		if c, err := ReadCard(t.Context(), h, reference); err != nil || c.Name != text.Name {
			t.Errorf("%s: %v", reference, err)
		}
	}
	for reference, want := range map[string]failure.Code{
		"ftp://example.com": failure.Usage, "https://user:pass@example.com": failure.Usage,
		"./none.json": failure.CardNotFound, "http://127.0.0.1:1": failure.Unreachable,
	} {
		if _, err := ReadCard(t.Context(), h, reference); failure.Of(err).Code != want {
			t.Errorf("%s: %v", reference, err)
		}
	}
}

func TestHugeCardIsReadUpToTheLimit(t *testing.T) {
	for name, size := range map[string]int64{"64 MB": 64 << 20, "endless": math.MaxInt64} {
		var sent atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for piece := make([]byte, 64<<10); sent.Load() < size; {
				n, err := w.Write(piece)
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		}))
		_, err := ReadCard(t.Context(), httpClient(t, TransportOptions{}), server.URL)
		if failure.Of(err).Code != failure.CardInvalid || !strings.Contains(err.Error(), "has more than 1048576 bytes") {
			t.Errorf("%s: %v, want an error that names the limit", name, err)
		}
		server.CloseClientConnections()
		server.Close()
		// The limit is far above client.MaxCard, because the server can also fill the buffers of the connection, which hold some
		// megabytes.
		if n := sent.Load(); n > 16*client.MaxCard {
			t.Errorf("%s: the server could send %d bytes", name, n)
		}
	}
	file := filepath.Join(t.TempDir(), "card.json")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 64<<20)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadCard(t.Context(), httpClient(t, TransportOptions{}), file); failure.Of(err).Code != failure.CardInvalid || !strings.Contains(err.Error(), "has more than 1048576 bytes") {
		t.Errorf("a file of 64 MB: %v", err)
	}
}

func TestHostileServersOfCardsAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    failure.Code
	}{
		"megabytes":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 3<<20)) }, failure.CardInvalid},
		"web page":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, failure.CardInvalid},
		"not found":  {http.NotFound, failure.CardNotFound},
		"no name":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }, failure.CardInvalid},
		"repetition": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"name":"a","name":"b"}`)) }, failure.CardInvalid},
		"redirects":  {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, failure.CardNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.handler)
			defer server.Close()
			_, err := ReadCard(t.Context(), httpClient(t, TransportOptions{}), server.URL)
			if failure.Of(err).Code != test.want || len(err.Error()) > 500 {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// An answer of 2 MiB that would decode to 300 MiB is refused.
func TestAnswersThatTakeTooMuchMemoryAreRefused(t *testing.T) {
	history := strings.Repeat(`{},`, 700_000) + `{}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = fmt.Fprintf(w, `{"name":"x","url":"http://%s/","protocolVersion":"0.3.0","preferredTransport":"JSONRPC","skills":[]}`, r.Host)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"kind":"task","id":"t","contextId":"c","status":{"state":"completed"},"history":[`+history+`]}}`)
	}))
	t.Cleanup(server.Close)
	_, err := connect(t, server.URL, Choice{Version: "0.3"}).Send(t.Context(), message("hi", ""))
	if err == nil || !strings.Contains(err.Error(), "is the limit") {
		t.Errorf("Send() error = %v, want the limit of memory", err)
	}
}

func TestEarlierVersionsAreUsedOnRequestOnly(t *testing.T) {
	c := parse(t, `{"name":"old","url":"http://a.example/","protocolVersion":"0.3.0","skills":[]}`)
	_, err := New(c, Options{})
	if problem := failure.Of(err); problem.Code != "VersionNotSupportedError" || problem.Hint != "add --a2a-version 0.3" {
		t.Errorf("%v, hint %q", err, problem.Hint)
	}
	if _, err := New(c, Options{Choice: Choice{Version: "0.3"}}); err != nil {
		t.Error(err)
	}
	if _, err := New(c, Options{Choice: Choice{Version: "2.0"}}); failure.Of(err).Code != failure.Usage {
		t.Errorf("version 2.0: %v", err)
	}
	grpc := parse(t, `{"name":"g","supportedInterfaces":[{"url":"http://a.example","protocolBinding":"GRPC","protocolVersion":"1.0"}]}`)
	if _, err := New(grpc, Options{}); failure.Of(err).Code != failure.CardInvalid {
		t.Errorf("gRPC only: %v", err)
	}
}

func parse(t *testing.T, text string) *Card {
	t.Helper()
	u, _ := url.Parse("https://a.example/.well-known/agent-card.json")
	c, err := parseCard([]byte(text), u, "test")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheOrderOfTheCardAndThePreferenceDecideTheBinding(t *testing.T) {
	c := parse(t, `{"name":"a","supportedInterfaces":[
		{"url":"https://a.example/grpc","protocolBinding":"GRPC","protocolVersion":"1.0"},
		{"url":"https://a.example/rest","protocolBinding":"HTTP+JSON","protocolVersion":"1.0","tenant":"t1"},
		{"url":"https://a.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
		{"url":"https://b.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`)
	for want, choice := range map[string]Choice{
		"https://a.example/rest": {},
		"https://a.example/rpc":  {Transports: []string{"GRPC", "JSONRPC"}},
		"https://b.example/rpc":  {Origins: []string{"https://b.example"}},
	} {
		client, err := New(c, Options{Choice: choice})
		if err != nil {
			t.Fatal(err)
		}
		if got := client.Endpoint().URL.String(); got != want {
			t.Errorf("%+v chooses %s, want %s", choice, got, want)
		}
	}
	client, _ := New(c, Options{})
	if client.Endpoint().Tenant != "t1" {
		t.Errorf("tenant is %q", client.Endpoint().Tenant)
	}
}

func TestCredentialsGoWhereTheCardAsksForThem(t *testing.T) {
	for name, test := range map[string]struct {
		scheme string
		check  func(*http.Request) string
	}{
		"header": {`{"apiKeySecurityScheme":{"location":"header","name":"X-Key"}}`, func(r *http.Request) string { return r.Header.Get("X-Key") }},
		"query":  {`{"apiKeySecurityScheme":{"location":"query","name":"key"}}`, func(r *http.Request) string { return r.URL.Query().Get("key") }},
		"cookie": {`{"apiKeySecurityScheme":{"location":"cookie","name":"key"}}`, func(r *http.Request) string {
			if c, err := r.Cookie("key"); err == nil {
				return c.Value
			}
			return ""
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := parse(t, `{"name":"a","supportedInterfaces":[{"url":"https://a.example/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],
				"securitySchemes":{"k":`+test.scheme+`}}`)
			credential := Credential{APIKey: "s3cret"}
			if _, err := New(c, Options{Credential: credential}); err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodPost, "https://a.example/", nil)
			credential.authenticate(r, c)
			if got := test.check(r); got != "s3cret" {
				t.Errorf("key is %q in %+v", got, r)
			}
		})
	}
	plain := parse(t, `{"name":"a","supportedInterfaces":[{"url":"http://a.example/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`)
	if _, err := New(plain, Options{Credential: Credential{Bearer: "t"}}); failure.Of(err).Code != failure.CardInvalid {
		t.Errorf("an interface without TLS on a card with TLS gets the credential: %v", err)
	}
	if _, err := New(plain, Options{Credential: Credential{APIKey: "t"}}); err == nil {
		t.Error("an API key that the card does not declare is accepted")
	}
}

func TestMissingAndRejectedCredentialsAreDifferentFailures(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.TextAgent, sidecartest.WithTokens, sidecartest.WithoutAnonymous)
	h := httpClient(t, TransportOptions{})
	c, err := ReadCard(t.Context(), h, f.URL)
	if err != nil {
		t.Fatal(err)
	}
	for want, credential := range map[failure.Code]Credential{
		failure.CredentialsMissing: {}, failure.AuthFailed: {Bearer: "wrong"}, "": {Bearer: f.Token(t, "me")},
	} {
		for _, transport := range []string{"JSONRPC", "HTTP+JSON"} {
			client, err := New(c, Options{HTTP: h, Credential: credential, Choice: Choice{Transports: []string{transport}}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Send(t.Context(), message(transport+string(want), ""))
			if want == "" && err != nil || want != "" && (failure.Of(err).Code != want || failure.Of(err).Hint == "") {
				t.Errorf("%s with %v: %v", transport, credential, err)
			}
		}
	}
}

func TestCertificatesAreVerified(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	_, err := ReadCard(t.Context(), httpClient(t, TransportOptions{}), server.URL)
	if problem := failure.Of(err); problem.Code != failure.Unreachable || !strings.Contains(problem.Hint, "--ca-file") {
		t.Errorf("%v, hint %q", err, problem.Hint)
	}
	if _, err := ReadCard(t.Context(), httpClient(t, TransportOptions{Insecure: true}), server.URL); failure.Of(err).Code != failure.CardNotFound {
		t.Errorf("--insecure: %v", err)
	}
	_, err = ReadCard(t.Context(), httpClient(t, TransportOptions{}), "http"+strings.TrimPrefix(server.URL, "https"))
	if failure.Of(err).Code != failure.CardNotFound && failure.Of(err).Code != failure.Unreachable {
		t.Errorf("http to a server with TLS: %v", err)
	}
}

func TestTheProxyOfTheEnvironmentIsUsed(t *testing.T) {
	h := httpClient(t, TransportOptions{})
	if h.Transport.(*http.Transport).Proxy == nil {
		t.Error("requests use no proxy")
	}
}

func TestTheWireLogHasNoCredential(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.TextAgent, sidecartest.WithTokens, sidecartest.WithoutAnonymous)
	var log []string
	h, err := NewHTTPClient(TransportOptions{}, func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) })
	if err != nil {
		t.Fatal(err)
	}
	c, err := ReadCard(t.Context(), h, f.URL)
	if err != nil {
		t.Fatal(err)
	}
	token := f.Token(t, "me")
	client, err := New(c, Options{HTTP: h, Credential: Credential{Bearer: token}, Header: http.Header{"X-Secret": {"s3cret"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Send(t.Context(), message("hello", "")); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(log, "\n")
	if strings.Contains(all, token) || strings.Contains(all, "s3cret") {
		t.Errorf("a credential is in the log:\n%s", all)
	}
	for _, want := range []string{`"method":"SendMessage"`, "A2a-Version: 1.0", "Authorization: [redacted]", `"TASK_STATE_COMPLETED"`} {
		if !slices.ContainsFunc(log, func(line string) bool { return strings.Contains(line, want) }) {
			t.Errorf("the log lacks %s:\n%s", want, all)
		}
	}
}

func TestPlacesOfACardHaveAbsolutePaths(t *testing.T) {
	for _, reference := range []*url.URL{
		{Scheme: "https", Host: "a.example"}, {Scheme: "https", Host: "a.example", Path: "agent"}, {Scheme: "https", Host: "a.example", RawQuery: "x=1"},
	} {
		for _, place := range places(reference) {
			if !strings.HasPrefix(place.Path, "/") || strings.HasPrefix(place.Path, "//") {
				t.Errorf("%v has the place %q", reference, place.Path)
			}
		}
	}
}
