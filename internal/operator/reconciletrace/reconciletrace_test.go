// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciletrace

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var errFailed = errors.New("failed: secret")

func TestReconcilesThatChangeNothingMakeNoSpan(t *testing.T) {
	var traceparents []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		traceparents = append(traceparents, r.Header.Get("Traceparent"))
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusConflict)
		}
	}))
	t.Cleanup(server.Close)
	for name, tt := range map[string]struct {
		requests []string
		err      error
		want     []string
	}{
		"reads only": {[]string{http.MethodGet}, nil, nil},
		"writes":     {[]string{http.MethodGet, http.MethodPatch, http.MethodDelete}, nil, []string{"PATCH", "DELETE", "reconcile Agent"}},
		"fails":      {nil, errFailed, []string{"reconcile Agent"}},
	} {
		recorder := tracetest.NewSpanRecorder()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
		tracer := New(provider.Tracer(Name))
		client := &http.Client{Transport: tracer.Wrap(http.DefaultTransport)}
		started := time.Now().Add(-time.Second)
		r := tracer.Reconciler("Agent", reconcile.Func(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
			for _, method := range tt.requests {
				request, err := http.NewRequestWithContext(ctx, method, server.URL+"/apis/x", nil)
				if err != nil {
					return ctrl.Result{}, err
				}
				response, err := client.Do(request)
				if err != nil {
					return ctrl.Result{}, err
				}
				_ = response.Body.Close()
			}
			return ctrl.Result{}, tt.err
		}), func() time.Time { return started })
		traceparents = nil
		_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "echo"}})
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: error = %v, want %v", name, err, tt.err)
		}
		spans := recorder.Ended()
		if len(spans) != len(tt.want) {
			t.Errorf("%s: %d spans, want %v", name, len(spans), tt.want)
			continue
		}
		for i, s := range spans {
			if s.Name() != tt.want[i] {
				t.Errorf("%s: span %d is %q, want %q", name, i, s.Name(), tt.want[i])
			}
			for _, a := range s.Attributes() {
				if strings.Contains(a.Value.String(), "secret") {
					t.Errorf("%s: attribute %s = %q has the text of an error", name, a.Key, a.Value.String())
				}
			}
		}
		if len(spans) < 2 {
			continue
		}
		root := spans[len(spans)-1]
		if !root.StartTime().Equal(started) || spans[0].Parent().SpanID() != root.SpanContext().SpanID() {
			t.Errorf("%s: the reconcile starts at %v and is no parent of its write", name, root.StartTime())
		}
		if traceparents[0] != "" || !strings.Contains(traceparents[1], spans[0].SpanContext().SpanID().String()) {
			t.Errorf("%s: the API server received %q", name, traceparents)
		}
	}
}

func TestNilTracerChangesNothing(t *testing.T) {
	inner := reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{RequeueAfter: 1}, nil })
	var none *Tracer
	got, err := none.Reconciler("Agent", inner, time.Now).Reconcile(t.Context(), ctrl.Request{})
	if err != nil || got.RequeueAfter != 1 {
		t.Errorf("Reconcile() = %+v, %v", got, err)
	}
}
