// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package interop tests the whole sidecar with the official SDKs for Go, Python and
// JavaScript, as clients and as servers behind it. Other agents are HTTP handlers of a
// few lines, as users write them.
package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	oldsdk "github.com/a2aproject/a2a-go/a2a"
	newsdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/test/programs"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(programs.Built(m, "cmd/sidecar")) }

func TestSendReturnsTheTask(t *testing.T) {
	each(t, sidecartest.TextAgent, func(t *testing.T, client sdk) {
		t.Helper()
		got, err := client.send(t.Context(), message{Text: "Hi"})
		if err != nil {
			t.Fatal(err)
		}
		want := event{Kind: "task", TaskID: got.TaskID, State: "completed", Text: "Hello world"}
		if diff := cmp.Diff(want, got); diff != "" || got.TaskID == "" {
			t.Errorf("send (-want +got):\n%s", diff)
		}
	})
}

func TestSendIsAnsweredByAMessage(t *testing.T) {
	agent := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"message","parts":[{"kind":"text","text":"Hello"}]}`)
	}
	each(t, agent, func(t *testing.T, client sdk) {
		t.Helper()
		got, err := client.send(t.Context(), message{Text: "Hi"})
		if diff := cmp.Diff(event{Kind: "message", Text: "Hello"}, got); diff != "" || err != nil {
			t.Errorf("send (-want +got):\n%s%v", diff, err)
		}
		events, err := collect(client.stream(t.Context(), message{Text: "Hi again"}))
		if diff := cmp.Diff([]event{{Kind: "message", Text: "Hello"}}, events); diff != "" || err != nil {
			t.Errorf("stream (-want +got):\n%s%v", diff, err)
		}
	})
}

func TestStreamHasEveryPart(t *testing.T) {
	each(t, sidecartest.TextAgent, func(t *testing.T, client sdk) {
		t.Helper()
		events, err := collect(client.stream(t.Context(), message{Text: "Hi"}))
		if err != nil || len(events) < 3 {
			t.Fatalf("stream = %+v, %v", events, err)
		}
		first, last := events[0], events[len(events)-1]
		if first.Kind != "task" || first.TaskID == "" {
			t.Errorf("first event = %+v, want a task", first)
		}
		if last.Kind != "status" || last.State != "completed" {
			t.Errorf("last event = %+v, want completed", last)
		}
		text := ""
		for _, e := range events {
			if e.TaskID != first.TaskID {
				t.Errorf("event of another task: %+v", e)
			}
			text += e.Text
		}
		if text != "Hello world" {
			t.Errorf("text = %q", text)
		}
	})
}

func TestGetReturnsTheHistoryAsked(t *testing.T) {
	each(t, sidecartest.TextAgent, func(t *testing.T, client sdk) {
		t.Helper()
		sent, err := client.send(t.Context(), message{Text: "Hi", ContextID: "my-context"})
		if err != nil {
			t.Fatal(err)
		}
		want := task{ID: sent.TaskID, ContextID: "my-context", State: "completed", Text: "Hello world", History: 1}
		got, err := client.get(t.Context(), sent.TaskID, nil)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("get (-want +got):\n%s%v", diff, err)
		}
		if !speaksProto03(t) { // in the proto of 0.3, 0 is the same as no number
			want.History = 0
		}
		got, err = client.get(t.Context(), sent.TaskID, new(0))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("get without history (-want +got):\n%s%v", diff, err)
		}
	})
}

func TestCancelEndsTheTask(t *testing.T) {
	each(t, sidecartest.HeldAgent(nil), func(t *testing.T, client sdk) {
		t.Helper()
		sent, err := client.send(t.Context(), message{Text: "Hi", Immediately: true})
		if err != nil || sent.Kind != "task" || sent.State == "completed" {
			t.Fatalf("send = %+v, %v", sent, err)
		}
		canceled, err := client.cancel(t.Context(), sent.TaskID)
		if err != nil || canceled.State != "canceled" {
			t.Errorf("cancel = %+v, %v", canceled, err)
		}
		got, err := client.get(t.Context(), sent.TaskID, nil)
		if err != nil || got.State != "canceled" {
			t.Errorf("get = %+v, %v", got, err)
		}
		if _, err := client.cancel(t.Context(), sent.TaskID); !errors.Is(err, newsdk.ErrTaskNotCancelable) && !errors.Is(err, oldsdk.ErrTaskNotCancelable) {
			t.Errorf("second cancel error = %v, want ErrTaskNotCancelable", err)
		}
	})
}

func TestSubscriptionContinuesARunningTask(t *testing.T) {
	proceed := make(chan struct{})
	each(t, sidecartest.HeldAgent(proceed), func(t *testing.T, client sdk) {
		t.Helper()
		ctx, leave := context.WithCancel(t.Context())
		id := ""
		for e, err := range client.stream(ctx, message{Text: "Hi"}) {
			if err != nil {
				t.Fatal(err)
			}
			id = e.TaskID
			if e.Text == "one " {
				break
			}
		}
		leave()
		var all []event
		for e, err := range client.subscribe(t.Context(), id) {
			if err != nil {
				t.Fatal(err)
			}
			if len(all) == 0 {
				proceed <- struct{}{}
			}
			all = append(all, e)
		}
		if len(all) < 2 || all[0].Kind != "task" || all[0].Text != "one " {
			t.Fatalf("subscription = %+v, want to begin with the task so far", all)
		}
		text := ""
		for _, e := range all {
			text += e.Text
		}
		if last := all[len(all)-1]; text != "one two" || last.State != "completed" {
			t.Errorf("subscription = %+v", all)
		}
	})
}

func TestSubscriptionToAFinishedTask(t *testing.T) {
	each(t, sidecartest.TextAgent, func(t *testing.T, client sdk) {
		t.Helper()
		sent, err := client.send(t.Context(), message{Text: "Hi"})
		if err != nil {
			t.Fatal(err)
		}
		events, err := collect(client.subscribe(t.Context(), sent.TaskID))
		if c, ok := client.(*v1); ok && c.version == newsdk.Version {
			if !errors.Is(err, newsdk.ErrUnsupportedOperation) {
				t.Errorf("subscribe = %+v, %v, want ErrUnsupportedOperation", events, err)
			}
			return
		}
		want := []event{
			{Kind: "task", TaskID: sent.TaskID, State: "completed", Text: "Hello world"},
			{Kind: "status", TaskID: sent.TaskID, State: "completed"},
		}
		if speaksProto03(t) { // in the proto of 0.3, the task is the only event
			want = want[:1]
		}
		if diff := cmp.Diff(want, events); diff != "" || err != nil {
			t.Errorf("subscribe (-want +got):\n%s%v", diff, err)
		}
	})
}

func TestMessageContinuesAPausedTask(t *testing.T) {
	each(t, sidecartest.AskingAgent, func(t *testing.T, client sdk) {
		t.Helper()
		asked, err := client.send(t.Context(), message{Text: "Do it"})
		if err != nil || asked.State != "input-required" {
			t.Fatalf("send = %+v, %v", asked, err)
		}
		events, err := collect(client.stream(t.Context(), message{Text: "This", TaskID: asked.TaskID}))
		if err != nil {
			t.Fatal(err)
		}
		if last := events[len(events)-1]; last.State != "completed" || last.TaskID != asked.TaskID {
			t.Errorf("stream = %+v", events)
		}
		got, err := client.get(t.Context(), asked.TaskID, nil)
		if err != nil || got.State != "completed" || got.Text != "That one" || got.History != 3 {
			t.Errorf("get = %+v, %v", got, err)
		}
	})
}

func TestStreamEndsAtInputRequired(t *testing.T) {
	agent := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}`+"\n\n")
	}
	each(t, agent, func(t *testing.T, client sdk) {
		t.Helper()
		events, err := collect(client.stream(t.Context(), message{Text: "Do it"}))
		if err != nil || len(events) == 0 || events[len(events)-1].State != "input-required" {
			t.Errorf("stream = %+v, %v", events, err)
		}
	})
}

func TestPartsOfEachKindRoundTrip(t *testing.T) {
	agent := func(w http.ResponseWriter, r *http.Request) {
		var turn struct {
			Message struct{ Parts json.RawMessage } `json:"message"`
		}
		if err := json.NewDecoder(r.Body).Decode(&turn); err != nil {
			http.Error(w, "", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = fmt.Fprintf(w, `{"kind":"artifact-update","artifact":{"artifactId":"a","parts":%s},"lastChunk":true}`+"\n", turn.Message.Parts)
	}
	each(t, agent, func(t *testing.T, client sdk) {
		t.Helper()
		got, err := client.parts(t.Context())
		want := []string{"text t", "raw hi h.txt text/plain", `data {"n":1.5}`, "url https://example.com/f text/html"}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("parts (-want +got):\n%s%v", diff, err)
		}
	})
}

// TestClientsOfBothVersionsReadOneTask creates a task with a client of one version, and reads it with a client of the
// other version, in both directions.
func TestClientsOfBothVersionsReadOneTask(t *testing.T) {
	url := sidecartest.Start(t, sidecartest.TextAgent).URL
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	recent, err := goClients[0].open(t.Context(), target{client: client, url: url})
	if err != nil {
		t.Fatal(err)
	}
	old, err := goClients[6].open(t.Context(), target{client: client, url: url + "/"})
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]sdk{{recent, old}, {old, recent}} {
		sent, err := pair[0].send(t.Context(), message{Text: "Hi"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := pair[1].get(t.Context(), sent.TaskID, nil)
		if err != nil || got.Text != "Hello world" || got.State != "completed" || !strings.HasPrefix(got.ID, sent.TaskID) {
			t.Errorf("get = %+v, %v", got, err)
		}
	}
}
