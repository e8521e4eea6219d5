// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package logging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/a2a-operator/a2a-operator/internal/kit/logging"
)

// lines checks that each event of a log has a time, and returns the
// events without it.
func lines(t *testing.T, out *bytes.Buffer) []map[string]any {
	t.Helper()
	var all []map[string]any
	for decoder := json.NewDecoder(out); decoder.More(); {
		var line map[string]any
		if err := decoder.Decode(&line); err != nil {
			t.Fatalf("the log is not JSON: %v", err)
		}
		if at, _ := line["time"].(string); at == "" {
			t.Errorf("line %v has no time", line)
		}
		delete(line, "time")
		all = append(all, line)
	}
	return all
}

func TestBothLoggersHaveTheSameKeys(t *testing.T) {
	var out bytes.Buffer
	log := logging.New(&out, slog.LevelDebug)
	verbose := logr.FromSlogHandler(logging.ForVerbosity(log.Handler()))
	failure := errors.New("refused")
	log.Info("one", "a", 1)
	log.Error("two", "error", failure)
	log.Debug("three")
	verbose.Info("one", "a", 1)
	verbose.Error(failure, "two")
	verbose.V(1).Info("three")
	verbose.V(2).Info("four")
	verbose.V(9).Info("five")
	verbose.WithName("feed").WithValues("err", failure).Info("six")
	want := []map[string]any{
		{"level": "INFO", "msg": "one", "a": 1.0},
		{"level": "ERROR", "msg": "two", "error": "refused"},
		{"level": "DEBUG", "msg": "three"},
	}
	want = append(append(want, want...), map[string]any{"level": "INFO", "msg": "six", "logger": "feed", "error": "refused"})
	if diff := cmp.Diff(want, lines(t, &out)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestTheLevelIsReadForEachEvent(t *testing.T) {
	var out bytes.Buffer
	level := &slog.LevelVar{}
	log := logging.New(&out, level)
	verbose := logr.FromSlogHandler(logging.ForVerbosity(log.Handler()))
	for _, l := range []slog.Level{slog.LevelInfo, slog.LevelDebug, slog.LevelError} {
		level.Set(l)
		log.Debug("debug", "at", l.String())
		verbose.V(1).Info("verbose", "at", l.String())
		log.Info("info", "at", l.String())
	}
	want := []map[string]any{
		{"level": "INFO", "msg": "info", "at": "INFO"},
		{"level": "DEBUG", "msg": "debug", "at": "DEBUG"},
		{"level": "DEBUG", "msg": "verbose", "at": "DEBUG"},
		{"level": "INFO", "msg": "info", "at": "DEBUG"},
	}
	if diff := cmp.Diff(want, lines(t, &out)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestEventsNameTheTraceOfTheirContext(t *testing.T) {
	const id, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	traceID, _ := trace.TraceIDFromHex(id)
	spanID, _ := trace.SpanIDFromHex(span)
	ofClient := logging.ContextWithTraceID(context.Background(), "11111111111111111111111111111111")
	sampled := trace.ContextWithSpanContext(ofClient, trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID}))
	var out bytes.Buffer
	log := logging.New(&out, slog.LevelInfo).With("a", 1)
	log.InfoContext(context.Background(), "none")
	log.InfoContext(ofClient, "client")
	log.InfoContext(sampled, "span")
	slog.New(logging.WithTraceIDs(log.Handler())).InfoContext(sampled, "once")
	want := []map[string]any{
		{"level": "INFO", "msg": "none", "a": 1.0},
		{"level": "INFO", "msg": "client", "a": 1.0, "trace_id": "11111111111111111111111111111111"},
		{"level": "INFO", "msg": "span", "a": 1.0, "trace_id": id, "span_id": span},
		{"level": "INFO", "msg": "once", "a": 1.0, "trace_id": id, "span_id": span},
	}
	if diff := cmp.Diff(want, lines(t, &out)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
