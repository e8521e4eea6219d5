// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package requestcheck

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// asking is a handler whose tasks wait for a decision. It keeps the messages, and has counted their memory.
type asking struct {
	a2a.Handler
	sent []*a2a.Message
}

func (*asking) Get(context.Context, *a2a.GetRequest) (*a2a.Task, error) {
	request := &a2a.Message{Metadata: a2a.Object(`{"` + approval.Extension + `":{"type":"` + approval.TypeRequest + `"}}`)}
	return &a2a.Task{ID: "t", Status: a2a.Status{State: a2a.StateInputRequired, Message: request}}, nil
}

func (h *asking) Send(_ context.Context, r *a2a.SendRequest) (a2a.Event, error) {
	h.sent = append(h.sent, r.Message)
	r.Counted()
	return a2a.Event{}, nil
}

// TestDecisionNamesThePersonAndTheAgent lets people decide through one agent, with one message id.
func TestDecisionNamesThePersonAndTheAgent(t *testing.T) {
	const front = "system:serviceaccount:team:front"
	anyone, err := authz.New([]authz.Rule{{Allow: true}})
	if err != nil {
		t.Fatal(err)
	}
	tasks := &asking{}
	h := &Handler{Handler: tasks, Card: func() *card.Card { return &card.Card{} }, Approves: func() bool { return true }}
	ids := map[string]bool{}
	for _, test := range []struct {
		subject *auth.Subject
		want    string
		proven  string
	}{
		{nil, front, "null"},
		{&auth.Subject{Principal: "boss", Actors: []string{front}}, front + " for boss", "true"},
		{&auth.Subject{Principal: "deputy", Actors: []string{front}, AssertedBy: front}, front + " for deputy", "false"},
		{&auth.Subject{Principal: "boss", Actors: []string{front, "system:serviceaccount:team:relay"}}, front + " for system:serviceaccount:team:relay for boss", "true"},
	} {
		caller := auth.Caller{Owner: front + "#1", Individual: front, Subject: test.subject, TaskOwner: "owner", Policy: &auth.Policy{Approvers: anyone}}
		decision := &a2a.Message{
			ID: "m", TaskID: "t", Extensions: []string{approval.Extension},
			Metadata: a2a.Object(`{"` + approval.Extension + `":{"type":"` + approval.TypeDecisions + `"}}`),
		}
		counted := 0
		_, err := h.Send(auth.WithCaller(t.Context(), caller), &a2a.SendRequest{Owner: caller.Owner, Message: decision, Counted: func() { counted++ }})
		if err != nil || counted != 1 {
			t.Fatalf("the memory of the message is counted %d times: %v", counted, err)
		}
		got := tasks.sent[len(tasks.sent)-1]
		by := approval.DecidedBy(got)
		if proven, _ := json.Marshal(by.IsProven); by.Principal != test.want || string(proven) != test.proven {
			t.Errorf("decided by %q, proven %s, want %q, proven %s", by.Principal, proven, test.want, test.proven)
		}
		if ids[got.ID] {
			t.Errorf("the decision of %s has the id of another one", test.want)
		}
		ids[got.ID] = true
	}
	// An approver who owns nothing can answer no question.
	sent := len(tasks.sent)
	caller := auth.Caller{Owner: front + "#1", Individual: front, TaskOwner: "owner", Policy: &auth.Policy{Approvers: anyone}}
	answer := &a2a.Message{
		ID: "m", TaskID: "t", Extensions: []string{approval.Extension}, Metadata: a2a.Object(`{"` + approval.Extension + `":{"type":"ask_user_response"}}`),
		Parts: []a2a.Part{{Content: a2a.ContentData, Data: a2a.Value(`{"name":"adk_request_confirmation"}`)}},
	}
	if _, err := h.Send(auth.WithCaller(t.Context(), caller), &a2a.SendRequest{Owner: caller.Owner, Message: answer}); err == nil || len(tasks.sent) != sent {
		t.Errorf("an answer of an approver: %v, sent %d", err, len(tasks.sent)-sent)
	}
}
