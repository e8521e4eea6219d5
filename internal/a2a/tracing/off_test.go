// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// answering is a Handler that returns empty results.
type answering struct{ a2a.Handler }

func (answering) Send(context.Context, *a2a.SendRequest) (a2a.Event, error) { return a2a.Event{}, nil }
func (answering) Get(context.Context, *a2a.GetRequest) (*a2a.Task, error)   { return nil, nil }
func (answering) Stream(context.Context, *a2a.SendRequest) (a2a.Stream, error) {
	return nil, nil
}

func TestDisabledTracingAllocatesNothing(t *testing.T) {
	var tracer, none *Tracer = new(Tracer), nil
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	ctx, handler := r.Context(), Handler{answering{}}
	message, get := &a2a.SendRequest{Message: &a2a.Message{}}, &a2a.GetRequest{}
	operation := func(http.ResponseWriter, *http.Request) {
		_ = Continue(ctx, OfRequest(r.Header))
		_, _ = handler.Send(ctx, message)
		_, _ = handler.Stream(ctx, message)
		_, _ = handler.Get(ctx, get)
		Park(ctx, true)
		End(ctx, Result{Method: a2a.MethodSendMessage})
	}
	served := []http.Handler{tracer.Serve(http.HandlerFunc(operation)), none.Serve(http.HandlerFunc(operation))}
	allocations := testing.AllocsPerRun(100, func() {
		for i, each := range []*Tracer{tracer, none} {
			served[i].ServeHTTP(w, r)
			_, span := each.StartTurn(ctx, Turn{TaskID: "t", ContextID: "c"})
			span.End("")
			_, span = each.StartCall(ctx, r.Header, "team/echo", "t")
			span.Answered(http.StatusOK)
			span.End("")
			_, span = each.StartChat(ctx, a2a.TraceContext{}, "m", "c")
			span.Chat(&Chat{})
			span.End("")
			_, span = each.StartTool(ctx, a2a.TraceContext{}, "look", "call", "t")
			span.End("")
			_, span = each.StartDelivery(ctx, "t", "o", a2a.TraceContext{})
			span.End("")
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations, want none while tracing is off", allocations)
	}
}

var recorded = spanContextOf(a2a.TraceContext{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})

func TestTurnsAreForgottenInTheirOrder(t *testing.T) {
	var known turns
	name := func(i int) string { return string(rune('a'+i%26)) + string(rune(i)) }
	for i := range maxTurns + 10 {
		known.put(name(i), "alice", recorded)
	}
	known.put(name(20), "alice", recorded)
	if len(known.byTask) != maxTurns || known.link(name(9), nil) != nil || known.link(name(10), nil) == nil {
		t.Errorf("%d turns are known, want the last %d", len(known.byTask), maxTurns)
	}
	alice, bob := a2a.Owner("alice"), a2a.Owner("bob")
	if known.link(name(20), &alice) == nil || known.link(name(20), &bob) != nil {
		t.Error("a task of another owner has a link")
	}
}
