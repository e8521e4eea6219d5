// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

// TestDriverSendsNoMessageTwice breaks a stream of a client of 0.1, whose messages have no id. If the server accepted
// the message, the driver must not send it again.
func TestDriverSendsNoMessageTwice(t *testing.T) {
	tests := map[string]struct {
		// lost is the turn whose stream breaks. accepted is true if the server accepts the message of this turn before the
		// break.
		lost     int
		accepted bool
		want     []int
	}{
		"accepted":                   {2, true, []int{1, 2, 3}},
		"not accepted":               {2, false, []int{1, 2, 2, 3}},
		"first message accepted":     {1, true, []int{1, 2, 3}},
		"first message not accepted": {1, false, []int{1, 1, 2, 3}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server01{lost: tt.lost, accepted: tt.accepted}
			listens := httptest.NewServer(s)
			defer listens.Close()
			a := newSubject(script.Script{Token: "t", Turns: 3, Chunks: 4, Size: 20})
			r := &reader{
				fleet:   &fleet{sidecars: []*server{{address: strings.TrimPrefix(listens.URL, "http://")}}, begin: time.Now()},
				subject: a, name: "driver", dialect: client.Dialects[0], counts: newCounts(), rng: rand.New(rand.NewPCG(1, 1)),
			}
			r.drive(t.Context(), 0)
			if diff := cmp.Diff(tt.want, s.sent); diff != "" {
				t.Errorf("messages by turn (-want +got):\n%s", diff)
			}
			if !r.ended {
				t.Error("the driver ended before the task ended")
			}
		})
	}
}

// server01 is a server of 0.1 with one task. When it accepts a message, it adds the whole turn of the message to the task
// at once. It serves one request at a time.
type server01 struct {
	lost      int
	accepted  bool
	artifacts []string
	// sent holds the turns of the messages that arrived.
	sent []int
}

func (s *server01) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var call struct {
		Method string `json:"method"`
	}
	_ = json.Unmarshal(body, &call)
	switch {
	case call.Method == "tasks/sendSubscribe":
		turn, err := script.Find(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.sent = append(s.sent, turn.Turn)
		lost := turn.Turn == s.lost
		if lost {
			s.lost = 0
		}
		if !lost || s.accepted {
			var text strings.Builder
			for i := range turn.Chunks {
				text.WriteString(turn.Chunk(turn.First() + i))
			}
			s.artifacts = append(s.artifacts, text.String())
		}
		if lost {
			panic(http.ErrAbortHandler)
		}
		s.stream(w, "working", s.artifacts[len(s.artifacts)-1:])
		s.event(w, `"status":{"state":"`+s.state()+`"},"final":true`)
	case len(s.artifacts) == 0:
		_, _ = io.WriteString(w, `{"error":{"code":-32001,"message":"Task not found"}}`)
	case call.Method == "tasks/get":
		_, _ = io.WriteString(w, `{"result":{"id":"t","status":{"state":"`+s.state()+`"},"artifacts":[`+parts(strings.Join(s.artifacts, ""))+`]}}`)
	default:
		// Keep the connection open until the client closes it.
		s.stream(w, s.state(), s.artifacts)
		<-r.Context().Done()
	}
}

func (s *server01) state() string {
	if len(s.artifacts) == 3 {
		return "completed"
	}
	return inputRequired
}

func (s *server01) stream(w http.ResponseWriter, state string, artifacts []string) {
	w.Header().Set("Content-Type", "text/event-stream")
	s.event(w, `"status":{"state":"`+state+`"},"final":false`)
	for _, text := range artifacts {
		s.event(w, `"artifact":`+parts(text))
	}
}

func (*server01) event(w http.ResponseWriter, members string) {
	_, _ = fmt.Fprintf(w, "data: {\"result\":{\"id\":\"t\",%s}}\n\n", members)
	_ = http.NewResponseController(w).Flush()
}

func parts(text string) string { return fmt.Sprintf(`{"parts":[{"text":%q}]}`, text) }
