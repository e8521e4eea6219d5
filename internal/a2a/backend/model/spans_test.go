// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
)

// TestSpansOfSteps checks the spans of answers and calls: their names and attributes are those of OpenTelemetry's conventions, they are
// children of the turn, and what a step calls continues its span.
func TestSpansOfSteps(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	var tracer tracing.Tracer
	tracer.Swap(&tracing.Settings{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")})
	var called []string
	set := newTools(func(c *model.Call) (*model.Result, error) {
		called = append(called, c.Turn.Trace.Parent)
		switch c.Tool.Name {
		case "fail":
			return &model.Result{Text: "no", IsError: true}, nil
		case "vanish":
			return nil, errors.New("the connection broke")
		default:
			return echo(c)
		}
	}, &model.Tool{Name: "look"}, &model.Tool{Name: "fail"}, &model.Tool{Name: "vanish"})
	k := newTask(t, func(r *request) string {
		if r.results() == 0 {
			return says("", "look {}", "fail {}", "vanish {}")
		}
		return strings.Replace(says("secret"), `{"choices":[]`, `{"model":"m-2026","choices":[]`, 1)
	}, model.Options{Toolsets: []model.Toolset{set}, Tracer: &tracer, Limits: model.Limits{Parallel: 1}})
	const trace, turn = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	k.trace = a2a.TraceContext{Parent: "00-" + trace + "-" + turn + "-01"}
	if err := k.send(text("secret")); err != nil {
		t.Fatal(err)
	}
	var got, continued []string
	for _, span := range recorder.Ended() {
		if span.Parent().SpanID().String() != turn || span.SpanContext().TraceID().String() != trace {
			t.Errorf("%s has the parent %s", span.Name(), span.Parent().SpanID())
		}
		line := span.Name() + " " + span.SpanKind().String()
		for _, a := range span.Attributes() {
			value := a.Value.String()
			if strings.HasPrefix(value, "call-") {
				value = "CALL"
			}
			line += fmt.Sprintf(" %s=%s", a.Key, value)
		}
		got = append(got, line)
		if strings.HasPrefix(span.Name(), "execute_tool") {
			continued = append(continued, "00-"+trace+"-"+span.SpanContext().SpanID().String()+"-01")
		}
	}
	const chat = "chat m client gen_ai.operation.name=chat gen_ai.conversation.id=c gen_ai.request.model=m "
	tool := func(name, end string) string {
		return "execute_tool " + name + " internal gen_ai.operation.name=execute_tool gen_ai.tool.name=" + name + " gen_ai.tool.call.id=CALL gen_ai.tool.type=extension a2a.task.id=t " + end
	}
	want := []string{
		chat + `gen_ai.response.finish_reasons=["tool_calls"] gen_ai.usage.input_tokens=11 gen_ai.usage.output_tokens=2 a2a.outcome=success`,
		tool("look", "a2a.outcome=success"),
		tool("fail", "a2a.outcome=failed error.type=failed"),
		tool("vanish", "a2a.outcome=unknown error.type=unknown"),
		chat + `gen_ai.response.model=m-2026 gen_ai.response.finish_reasons=["stop"] gen_ai.usage.input_tokens=30 gen_ai.usage.output_tokens=2 a2a.outcome=success`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(continued, called); diff != "" {
		t.Errorf("trace contexts of calls (-want +got):\n%s", diff)
	}
}
