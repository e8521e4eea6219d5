// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/test/bindingtest"
)

const (
	now = `"timestamp":"2026-01-01T00:00:00.000Z"`

	openD      = `{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING",` + now + `}}}`
	artifactD  = `{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a1","parts":[{"text":"Hi"}]},"lastChunk":true}}`
	completedD = `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED",` + now + `}}}`
	inputD     = `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_INPUT_REQUIRED",` + now + `}}}`
	authD      = `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_AUTH_REQUIRED",` + now + `}}}`
	completedC = `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED",` + now + `},"final":true}}`
	inputC     = `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_INPUT_REQUIRED",` + now + `},"final":true}}`
)

func frame(id, data string) string {
	if id != "" {
		id = "id: " + id + "\n"
	}
	return id + "data: " + data + "\n\n"
}

// kind returns a frame of DialectKindREST, which contains an object twice.
func kind(id, name, object string) string {
	return frame(id, `{"jsonrpc":"2.0","id":null,"result":`+object+`,"`+name+`":`+object+`}`)
}

func TestStreams(t *testing.T) {
	open := []*a2a.Record{snapshot(1, newTask(a2a.StateWorking)), artifact(2, "Hi"), status(3, a2a.StateCompleted)}
	input := []*a2a.Record{snapshot(1, newTask(a2a.StateWorking)), status(2, a2a.StateInputRequired), status(3, a2a.StateCompleted)}
	auth := []*a2a.Record{snapshot(1, newTask(a2a.StateWorking)), status(2, a2a.StateAuthRequired), status(3, a2a.StateCompleted)}
	const (
		completedS = `{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"completed",` + now + `},"final":true}`
		openS      = `{"kind":"task","id":"t1","contextId":"c1","status":{"state":"working",` + now + `}}`
		artifactS  = `{"kind":"artifact-update","taskId":"t1","contextId":"c1","artifact":{"artifactId":"a1","parts":[{"kind":"text","text":"Hi"}]},"append":false,"lastChunk":true}`
		endedS     = `{"kind":"task","id":"t1","contextId":"c1","status":{"state":"completed",` + now + `}}`
		internal   = "event: error\n" + `data: {"error":{"code":500,"status":"INTERNAL","message":"Internal error","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INTERNAL_ERROR","domain":"a2a-protocol.org"}]}}` + "\n\n"
	)
	tests := map[string]struct {
		request, body string
		records       []*a2a.Record
		err           error
		want          string
	}{
		"1.0 send":        {"POST /message:stream", helloD, open, nil, frame("1", openD) + frame("2", artifactD) + frame("3", completedD)},
		"1.0 in a tenant": {"POST /acme/message:stream", helloD, open, nil, frame("1", openD) + frame("2", artifactD) + frame("3", completedD)},
		"0.3 send":        {"POST /v1/message:stream", helloC, open, nil, frame("1", openD) + frame("2", artifactD) + frame("3", completedC)},
		"kinds send":      {"POST /v1/message:stream", helloS, open, nil, kind("1", "task", openS) + kind("2", "artifactUpdate", artifactS) + kind("3", "statusUpdate", completedS)},
		"1.0 message": {
			"POST /message:stream", helloD,
			[]*a2a.Record{{Event: a2a.Event{Message: &a2a.Message{ID: "m", Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("Hi")}}}}},
			nil,
			frame("", `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"Hi"}]}}`),
		},
		"1.0 send closes on input":         {"POST /message:stream", helloD, input, nil, frame("1", openD) + frame("2", inputD)},
		"1.0 send stays on authentication": {"POST /message:stream", helloD, auth, nil, frame("1", openD) + frame("2", authD) + frame("3", completedD)},
		"1.0 subscribe stays on input":     {"POST /tasks/t1:subscribe", "", input, nil, frame("1", openD) + frame("2", inputD) + frame("3", completedD)},
		"1.0 subscribe by GET":             {"GET /tasks/t1:subscribe", "", open, nil, frame("1", openD) + frame("2", artifactD) + frame("3", completedD)},
		"0.3 send closes on input":         {"POST /v1/message:stream", helloC, input, nil, frame("1", openD) + frame("2", inputC)},
		"0.3 subscribe closes on input":    {"GET /v1/tasks/t1:subscribe", "", input, nil, frame("1", openD) + frame("2", inputC)},
		"0.3 subscribe by POST":            {"POST /v1/tasks/t1:subscribe", "{}", open, nil, frame("1", openD) + frame("2", artifactD) + frame("3", completedC)},
		"0.3 subscribe to the end":         {"GET /v1/tasks/t1:subscribe", "", []*a2a.Record{snapshot(9, newTask(a2a.StateCompleted))}, nil, frame("9", strings.Replace(openD, "WORKING", "COMPLETED", 1))},
		"kinds subscribe, by what made it": {"GET /v1/tasks/t1:subscribe", "", []*a2a.Record{snapshot(1, kindTask(a2a.StateWorking)), status(2, a2a.StateCompleted)}, nil, kind("1", "task", openS) + kind("2", "statusUpdate", completedS)},
		"kinds subscribe to the end":       {"GET /v1/tasks/t1:subscribe", "", []*a2a.Record{snapshot(9, kindTask(a2a.StateCompleted))}, nil, kind("9", "task", endedS) + kind("", "statusUpdate", completedS)},
		"draining":                         {"POST /message:stream", helloD, open[:1], a2a.ErrDraining, frame("1", openD)},
		"too slow":                         {"POST /v1/message:stream", helloC, open[:1], a2a.ErrSlowSubscriber, frame("1", openD)},
		"1.0 fails in the middle":          {"POST /message:stream", helloD, open[:1], errors.New("secret"), frame("1", openD) + internal},
		"0.3 fails in the middle":          {"POST /v1/message:stream", helloC, open[:1], errors.New("secret"), frame("1", openD) + internal},
		"kinds fail in the middle":         {"POST /v1/message:stream", helloS, open[:1], errors.New("secret"), kind("1", "task", openS) + internal},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			verb, url, _ := strings.Cut(test.request, " ")
			w := newFixture(&fake{Records: test.records, StreamErr: test.err}).do(t, verb, url, test.body)
			for header, want := range map[string]string{
				"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no", "Content-Length": "",
			} {
				if got := w.Header().Get(header); got != want {
					t.Errorf("%s = %q, want %q", header, got, want)
				}
			}
			if diff := cmp.Diff(test.want, w.Body.String()); diff != "" {
				t.Errorf("stream (-want +got):\n%s", diff)
			}
		})
	}
}

// TestErrorsBeforeTheFirstEvent checks that the response to a stream that fails before its
// first event has the HTTP status of the error.
func TestErrorsBeforeTheFirstEvent(t *testing.T) {
	tests := map[string]struct {
		request, body string
		fake          *fake
		status        int
		reason        string
	}{
		"no such task":             {"GET /tasks/t1:subscribe", "", &fake{Err: a2a.TaskNotFound("t1")}, 404, "TASK_NOT_FOUND"},
		"no such task, 0.3":        {"GET /v1/tasks/t1:subscribe", "", &fake{Err: a2a.TaskNotFound("t1")}, 404, "TASK_NOT_FOUND"},
		"from the stream":          {"POST /message:stream", helloD, &fake{StreamErr: a2a.TaskNotFound("t1")}, 404, "TASK_NOT_FOUND"},
		"from the stream, 0.3":     {"POST /v1/message:stream", helloC, &fake{StreamErr: a2a.TaskNotFound("t1")}, 404, "TASK_NOT_FOUND"},
		"ended":                    {"POST /tasks/t1:subscribe", "", &fake{Records: []*a2a.Record{snapshot(9, newTask(a2a.StateFailed))}}, 400, "UNSUPPORTED_OPERATION"},
		"draining":                 {"POST /message:stream", helloD, &fake{Err: a2a.ErrDraining}, 503, "UNAVAILABLE"},
		"a failure of the system":  {"POST /message:stream", helloD, &fake{Err: errors.New("secret")}, 500, "INTERNAL_ERROR"},
		"that breaks, of a stream": {"POST /message:stream", helloD, &fake{StreamErr: errors.New("secret")}, 500, "INTERNAL_ERROR"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			verb, url, _ := strings.Cut(test.request, " ")
			w := newFixture(test.fake).do(t, verb, url, test.body, "Accept", "text/event-stream")
			if w.Code != test.status || w.Header().Get("Content-Type") != "application/json" || !strings.Contains(w.Body.String(), `"reason":"`+test.reason+`"`) {
				t.Errorf("response = %d %s %s", w.Code, w.Header().Get("Content-Type"), w.Body)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("response tells a secret: %s", w.Body)
			}
		})
	}
}

func TestWire12_ResumeREST(t *testing.T) {
	rest := []*a2a.Record{artifact(8, "Hi"), status(9, a2a.StateCompleted)}
	for path, want := range map[string]string{
		"/tasks/t1:subscribe":    frame("8", artifactD) + frame("9", completedD),
		"/v1/tasks/t1:subscribe": frame("8", artifactD) + frame("9", completedC),
	} {
		for _, id := range []string{"7", "t1:7"} {
			x := newFixture(&fake{Records: rest, Task: newTask(a2a.StateWorking)})
			w := x.do(t, "GET", path, "", "Last-Event-ID", id)
			if diff := cmp.Diff(want, w.Body.String()); diff != "" {
				t.Errorf("%s after %s (-want +got):\n%s", path, id, diff)
			}
			if diff := cmp.Diff(&a2a.SubscribeRequest{Owner: "alice", TaskID: "t1", After: new(uint64(7)), RefuseEnded: true}, x.fake.Last()); diff != "" {
				t.Errorf("engine was asked (-want +got):\n%s", diff)
			}
		}
	}
	x := newFixture(&fake{Records: rest, Task: kindTask(a2a.StateWorking)})
	if w := x.do(t, "GET", "/v1/tasks/t1:subscribe", "", "Last-Event-ID", "7"); !strings.HasPrefix(w.Body.String(), "id: 8\n"+`data: {"jsonrpc":"2.0","id":null,"result":{"kind":"artifact-update",`) {
		t.Errorf("kinds = %s", w.Body)
	}
	x = newFixture(&fake{Records: []*a2a.Record{snapshot(9, newTask(a2a.StateWorking))}})
	x.do(t, "GET", "/tasks/t1:subscribe?historyLength=1", "", "Last-Event-ID", "garbage")
	if diff := cmp.Diff(&a2a.SubscribeRequest{Owner: "alice", TaskID: "t1", HistoryLength: new(1)}, x.fake.Last()); diff != "" {
		t.Errorf("engine was asked (-want +got):\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	info := func(reason, metadata, more string) string {
		return `"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"` + reason + `","domain":"a2a-protocol.org"` + metadata + `}` + more + `]`
	}
	tests := map[string]struct {
		err      error
		status   int
		v03, v10 string
	}{
		"task not found": {
			a2a.TaskNotFound("t9"), 404,
			`{"type":"TaskNotFoundError","code":-32001,"message":"Task not found","error":{"code":404,"status":"NOT_FOUND","message":"Task not found",` + info("TASK_NOT_FOUND", "", "") + `}}`,
			`{"error":{"code":404,"status":"NOT_FOUND","message":"Task not found",` + info("TASK_NOT_FOUND", `,"metadata":{"taskId":"t9"}`, "") + `}}`,
		},
		"invalid params": {
			a2a.InvalidParams("message.contextId", "is not the task's"), 400,
			`{"type":"InvalidParamsError","code":-32602,"message":"message.contextId: is not the task's","data":{"reason":"INVALID_PARAMS","field":"message.contextId"},` +
				`"error":{"code":400,"status":"INVALID_ARGUMENT","message":"message.contextId: is not the task's",` +
				info("INVALID_PARAMS", "", `,{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.contextId","description":"is not the task's"}]}`) + `}}`,
			`{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"message.contextId: is not the task's",` +
				info("INVALID_PARAMS", "", `,{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.contextId","description":"is not the task's"}]}`) + `}}`,
		},
		"a failure of the system": {
			errors.New("dial tcp 10.0.0.1: secret"), 500,
			`{"type":"InternalError","code":-32603,"message":"Internal error","error":{"code":500,"status":"INTERNAL","message":"Internal error",` + info("INTERNAL_ERROR", "", "") + `}}`,
			`{"error":{"code":500,"status":"INTERNAL","message":"Internal error",` + info("INTERNAL_ERROR", "", "") + `}}`,
		},
		"draining": {
			a2a.ErrDraining, 503,
			`{"code":-32603,"message":"Service unavailable","error":{"code":503,"status":"UNAVAILABLE","message":"Service unavailable",` + info("UNAVAILABLE", "", "") + `}}`,
			`{"error":{"code":503,"status":"UNAVAILABLE","message":"Service unavailable",` + info("UNAVAILABLE", "", "") + `}}`,
		},
		"too many": {
			&a2a.Error{Reason: a2a.ReasonResourceExhausted, Message: "Too many turns are running"}, 429,
			`{"code":-32603,"message":"Too many turns are running","error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Too many turns are running",` + info("RESOURCE_EXHAUSTED", "", "") + `}}`,
			`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Too many turns are running",` + info("RESOURCE_EXHAUSTED", "", "") + `}}`,
		},
	}
	for name, test := range tests {
		for path, want := range map[string]string{"/v1/tasks/t9": test.v03, "/tasks/t9": test.v10} {
			t.Run(name+" "+path, func(t *testing.T) {
				w := newFixture(&fake{Err: test.err}).do(t, "GET", path, "")
				if w.Code != test.status {
					t.Errorf("status = %d, want %d", w.Code, test.status)
				}
				if diff := cmp.Diff(want, w.Body.String()); diff != "" {
					t.Errorf("response (-want +got):\n%s", diff)
				}
				if retry := w.Header().Get("Retry-After"); (retry != "") != (test.status == 503 || test.status == 429) {
					t.Errorf("Retry-After = %q", retry)
				}
			})
		}
	}
}

// TestErrorProfiles checks the statuses of errors in both releases of 1.0.
func TestErrorProfiles(t *testing.T) {
	type want struct{ new, old string }
	for reason, want := range map[a2a.Reason]want{
		a2a.ReasonTaskNotFound:              {"404 NOT_FOUND", "404 NOT_FOUND"},
		a2a.ReasonTaskNotCancelable:         {"400 FAILED_PRECONDITION", "409 FAILED_PRECONDITION"},
		a2a.ReasonPushNotSupported:          {"400 FAILED_PRECONDITION", "400 UNIMPLEMENTED"},
		a2a.ReasonUnsupportedOperation:      {"400 FAILED_PRECONDITION", "400 UNIMPLEMENTED"},
		a2a.ReasonContentTypeNotSupported:   {"400 INVALID_ARGUMENT", "415 INVALID_ARGUMENT"},
		a2a.ReasonInvalidAgentResponse:      {"500 INTERNAL", "502 INTERNAL"},
		a2a.ReasonExtendedCardNotConfigured: {"400 FAILED_PRECONDITION", "400 FAILED_PRECONDITION"},
		a2a.ReasonExtensionRequired:         {"400 FAILED_PRECONDITION", "400 FAILED_PRECONDITION"},
		a2a.ReasonVersionNotSupported:       {"400 FAILED_PRECONDITION", "400 UNIMPLEMENTED"},
		a2a.ReasonPermissionDenied:          {"403 PERMISSION_DENIED", "403 PERMISSION_DENIED"},
	} {
		for profile, want := range map[errormap.Profile]string{"": want.new, errormap.Profile101: want.new, errormap.Profile100: want.old} {
			x := newFixture(&fake{Err: &a2a.Error{Reason: reason}})
			x.ErrorProfile = func() errormap.Profile { return profile }
			w := x.do(t, "GET", "/tasks/t1", "")
			code, status, _ := strings.Cut(want, " ")
			if http.StatusText(w.Code) == "" || !strings.HasPrefix(w.Body.String(), `{"error":{"code":`+code+`,"status":"`+status+`"`) || w.Result().Status[:3] != code {
				t.Errorf("%s in %q = %d %s, want %s", reason, profile, w.Code, w.Body, want)
			}
		}
	}
}

// TestWire10_REST checks that a missing task and the task of another owner get the same
// error. It is the error of the engine, to which the binding adds nothing.
func TestWire10_REST(t *testing.T) {
	for _, prefix := range []string{"", "/acme", "/v1"} {
		for _, request := range []string{
			"GET /tasks/ID", "POST /tasks/ID:cancel", "GET /tasks/ID:subscribe", "POST /tasks/ID:subscribe",
			"GET /tasks/ID/pushNotificationConfigs", "POST /tasks/ID/pushNotificationConfigs", "GET /tasks/ID/pushNotificationConfigs/p1", "DELETE /tasks/ID/pushNotificationConfigs/p1",
		} {
			verb, path, _ := strings.Cut(request, " ")
			body := ""
			if verb == "POST" && strings.HasSuffix(path, "Configs") {
				body = pushIn
			}
			var answers []string
			for _, id := range []string{"foreign", "missing"} {
				x := newFixture(&fake{Err: a2a.TaskNotFound(id)})
				w := x.do(t, verb, prefix+strings.ReplaceAll(path, "ID", id), body)
				if w.Code != http.StatusNotFound || x.observed[0].Code != -32001 {
					t.Errorf("%s = %d %s", request, w.Code, w.Body)
				}
				answers = append(answers, strings.ReplaceAll(w.Body.String(), id, "ID"))
			}
			if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
				t.Errorf("%s (-foreign +missing):\n%s", request, diff)
			}
		}
	}
}

func TestDeny(t *testing.T) {
	for path, want := range map[string]string{
		"/tasks/t1":        `{"error":{"code":403,"status":"PERMISSION_DENIED","message":"Forbidden",`,
		"/acme/tasks/t1":   `{"error":{"code":403,"status":"PERMISSION_DENIED","message":"Forbidden",`,
		"/v1/message:send": `{"code":-32603,"message":"Forbidden","error":{"code":403,"status":"PERMISSION_DENIED","message":"Forbidden",`,
		"/v1/frobnicate":   `{"code":-32603,"message":"Forbidden","error":{"code":403,"status":"PERMISSION_DENIED","message":"Forbidden",`,
	} {
		w := httptest.NewRecorder()
		Deny(w, httptest.NewRequest(http.MethodGet, path, nil), &a2a.Error{Reason: a2a.ReasonPermissionDenied})
		if w.Code != http.StatusForbidden || !strings.HasPrefix(w.Body.String(), want) || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s = %d %s", path, w.Code, w.Body)
		}
	}
}

// readTimeout is the read timeout of a request. It is long enough for the handler to remove
// the deadline on a busy machine.
const readTimeout = 500 * time.Millisecond

// late is a handler whose stream waits for longer than readTimeout before it yields its
// record.
type late struct {
	fake
	record *a2a.Record
}

func (f *late) Subscribe(context.Context, *a2a.SubscribeRequest) (a2a.Stream, error) {
	return f, nil
}

func (f *late) Next(ctx context.Context) ([]*a2a.Record, error) {
	select {
	case <-time.After(3 * readTimeout / 2):
		return []*a2a.Record{f.record}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *late) Close() {}

// TestStreamOutlivesTheReadTimeout checks that the read timeout, which bounds the sending
// of the request, does not end a stream, even for a GET without a body.
func TestStreamOutlivesTheReadTimeout(t *testing.T) {
	x := newFixture(&fake{})
	x.Handler.Handler = &late{record: status(1, a2a.StateCompleted)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout))
		x.ServeHTTP(w, r.WithContext(auth.WithCaller(r.Context(), auth.Caller{Owner: "alice"})))
	}))
	defer server.Close()
	for _, id := range []string{"", "0"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/tasks/t1:subscribe", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Last-Event-ID", id)
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if diff := cmp.Diff(frame("1", completedD), string(body)); diff != "" || err != nil {
			t.Errorf("stream: %v (-want +got):\n%s", err, diff)
		}
	}
}

// TestLargeEventsOfStalledStreamsAreCharged checks that a stream whose client does not read
// stays charged for the event that it writes, and that a stream ends with an error if it
// gets no memory for its event.
func TestLargeEventsOfStalledStreamsAreCharged(t *testing.T) {
	x := newFixture(&fake{Records: []*a2a.Record{artifact(1, strings.Repeat("x", 1<<20)), status(2, a2a.StateCompleted)}})
	x.Limits.Answers = limit.NewBudget(2<<20, time.Millisecond)
	stalled := bindingtest.NewStalled()
	r := httptest.NewRequest(http.MethodGet, "/tasks/t1:subscribe", http.NoBody)
	r = r.WithContext(auth.WithCaller(t.Context(), auth.Caller{Owner: "alice"}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.ServeHTTP(stalled, r)
	}()
	<-stalled.Writing
	if got := x.do(t, http.MethodGet, "/tasks/t1:subscribe", "").Body.String(); !strings.Contains(got, `"status":"UNAVAILABLE"`) || len(got) > 1<<10 {
		t.Errorf("the second stream has %d bytes, want an error: %.200s", len(got), got)
	}
	stalled.Read()
	<-done
	if got := stalled.Body.Len(); got < 1<<20 {
		t.Errorf("the first stream has %d bytes, want the event", got)
	}
	if held := x.Limits.Answers.Used(); held != 0 {
		t.Errorf("after both streams, %d bytes are held", held)
	}
}
