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

// A message of 0.1 has no id. A driver that lost the stream of one must not send
// it again when it was taken, or the task has two.
func TestDriverSendsNoMessageTwice(t *testing.T) {
	tests := map[string]struct {
		// lost is the turn whose stream breaks off, and taken whether its message
		// was taken all the same.
		lost  int
		taken bool
		want  []int
	}{
		"taken":           {2, true, []int{1, 2, 3}},
		"not taken":       {2, false, []int{1, 2, 2, 3}},
		"taken first":     {1, true, []int{1, 2, 3}},
		"not taken first": {1, false, []int{1, 1, 2, 3}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &oldServer{lost: tt.lost, taken: tt.taken}
			listens := httptest.NewServer(s)
			defer listens.Close()
			a := newSubject(script.Script{Token: "t", Turns: 3, Chunks: 4, Size: 20})
			r := &reader{
				fleet:   &fleet{sidecars: []*server{{address: strings.TrimPrefix(listens.URL, "http://")}}, begin: time.Now()},
				subject: a, name: "driver", dialect: client.Dialects[0], counts: newCounts(), rng: rand.New(rand.NewPCG(1, 1)),
			}
			r.drive(t.Context(), 0)
			if diff := cmp.Diff(tt.want, s.sent); diff != "" {
				t.Errorf("turns that were sent (-want +got):\n%s", diff)
			}
			if !r.over {
				t.Error("the driver gave up before the task ended")
			}
		})
	}
}

// oldServer has one task of 0.1, which has said all of a turn when its message
// was taken. Its requests come one after the other.
type oldServer struct {
	lost  int
	taken bool
	said  []string
	// sent are the turns of the messages that came.
	sent []int
}

func (s *oldServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
		if !lost || s.taken {
			var text strings.Builder
			for i := range turn.Chunks {
				text.WriteString(turn.Chunk(turn.First() + i))
			}
			s.said = append(s.said, text.String())
		}
		if lost {
			panic(http.ErrAbortHandler)
		}
		s.stream(w, "working", s.said[len(s.said)-1:])
		s.event(w, `"status":{"state":"`+s.state()+`"},"final":true`)
	case len(s.said) == 0:
		_, _ = io.WriteString(w, `{"error":{"code":-32001,"message":"Task not found"}}`)
	case call.Method == "tasks/get":
		_, _ = io.WriteString(w, `{"result":{"id":"t","status":{"state":"`+s.state()+`"},"artifacts":[`+parts(strings.Join(s.said, ""))+`]}}`)
	default:
		// The client reads no further than it wants to, and so nothing ends it.
		s.stream(w, s.state(), s.said)
		<-r.Context().Done()
	}
}

func (s *oldServer) state() string {
	if len(s.said) == 3 {
		return "completed"
	}
	return inputRequired
}

func (s *oldServer) stream(w http.ResponseWriter, state string, artifacts []string) {
	w.Header().Set("Content-Type", "text/event-stream")
	s.event(w, `"status":{"state":"`+state+`"},"final":false`)
	for _, text := range artifacts {
		s.event(w, `"artifact":`+parts(text))
	}
}

func (*oldServer) event(w http.ResponseWriter, members string) {
	_, _ = fmt.Fprintf(w, "data: {\"result\":{\"id\":\"t\",%s}}\n\n", members)
	_ = http.NewResponseController(w).Flush()
}

func parts(text string) string { return fmt.Sprintf(`{"parts":[{"text":%q}]}`, text) }
