// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// reserve reserves the memory of a response of size bytes to p, until release is called.
func (s *searchLimits) reserve(ctx context.Context, p a2a.AccountingPrincipal, size int) (release func(), err error) {
	reservation := &limit.Reservation{}
	return reservation.Release, s.reserveIn(ctx, reservation, p, size)
}

// stalledClient reads nothing until the deadline for writes has passed.
type stalledClient struct {
	http.ResponseWriter
	begin, end sync.Once
	begun      *sync.WaitGroup
	ended      chan struct{}
}

func (s *stalledClient) Write([]byte) (int, error) {
	s.begin.Do(s.begun.Done)
	<-s.ended
	return 0, os.ErrDeadlineExceeded
}

func (s *stalledClient) SetWriteDeadline(at time.Time) error {
	if !at.IsZero() && time.Until(at) <= 0 {
		s.end.Do(func() { close(s.ended) })
	}
	return nil
}

// Clients that do not read their responses hold the memory of others only until these wait for it.
func TestClientsThatDoNotReadDelayNoOthers(t *testing.T) {
	skills := make([]string, 600)
	for i := range skills {
		skills[i] = "skill-" + strconv.Itoa(i) + strings.Repeat("x", 40)
	}
	fat := makeEntry(t, index.Key{Namespace: "team-z", Name: "fat"}, true, skills...)
	w := newWorld(t, snapshotOf(fat))
	handler := w.unvalidated // the other handler of the world keeps whole responses
	w.may["dev"] = []string{""}
	w.may["nobody"] = []string{""}
	size := len(fat.Body())
	if size < 2*limit.Small {
		t.Fatalf("the agent has only %d bytes", size)
	}
	request := func(method, target, token, body string) *http.Request {
		r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		return r
	}
	const message = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"skill"}]}}}`
	for name, test := range map[string]struct {
		method, target, body string
		size                 int
	}{
		"agent": {http.MethodGet, "/v1/agents/team-z/fat", "", size},
		"list":  {http.MethodGet, "/v1/agents", "", size},
		"card":  {http.MethodGet, "/v1/agents/team-z/fat/card", "", size},
		"A2A":   {http.MethodPost, "/", message, answerCopies * size},
	} {
		t.Run(name, func(t *testing.T) {
			// Four responses fill the share of large ones, two of each client.
			w.api.searchLimits.responses = limit.NewBudget(int64(6*test.size), searchTimeout)
			var begun, ended sync.WaitGroup
			var clients []*stalledClient
			for _, token := range []string{"dev", "dev", "none", "none"} {
				client := &stalledClient{ResponseWriter: httptest.NewRecorder(), begun: &begun, ended: make(chan struct{})}
				clients = append(clients, client)
				begun.Add(1)
				ended.Go(func() {
					handler.ServeHTTP(client, request(test.method, test.target, token, test.body))
					client.begin.Do(begun.Done)
				})
			}
			begun.Wait()
			if used := w.api.searchLimits.responses.Used(); used < int64(3*test.size) {
				t.Errorf("the clients that do not read hold only %d bytes", used)
			}
			began := time.Now()
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, request(test.method, test.target, "admin", test.body))
			if took := time.Since(began); recorder.Code != http.StatusOK || recorder.Body.Len() < 2*limit.Small || took > 2*time.Second {
				t.Errorf("another client gets %d with %d bytes after %s: %.300s", recorder.Code, recorder.Body.Len(), took, recorder.Body)
			}
			for _, client := range clients {
				_ = client.SetWriteDeadline(time.Unix(1, 0))
			}
			ended.Wait()
			if used := w.api.searchLimits.responses.Used(); used != 0 {
				t.Errorf("%d bytes stay reserved", used)
			}
		})
	}
}
