// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcall

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// slowClient is the response to a slow client, which needs the time each to read one piece.
type slowClient struct {
	*httptest.ResponseRecorder
	now      time.Time
	each     time.Duration
	deadline time.Time
}

func (c *slowClient) SetWriteDeadline(t time.Time) error {
	c.deadline = t
	return nil
}

func (c *slowClient) Write(p []byte) (int, error) {
	if c.now = c.now.Add(c.each); c.now.After(c.deadline) {
		c.now = c.deadline
		return 0, http.ErrHandlerTimeout
	}
	return c.ResponseRecorder.Write(p)
}

func TestSlowClientsAreDisconnectedAtTheAnswerTimeout(t *testing.T) {
	for name, test := range map[string]struct {
		answer, each, want time.Duration
		ends               bool
	}{
		"slow, without a bound": {0, 9 * time.Second, 90 * time.Second, true},
		"slow, with a bound":    {30 * time.Second, 9 * time.Second, 30 * time.Second, false},
		"fast":                  {30 * time.Second, time.Second, 10 * time.Second, true},
		"that reads no part within the write timeout": {30 * time.Second, 20 * time.Second, 10 * time.Second, false},
		"that needs the whole answer timeout":         {30 * time.Second, 3 * time.Second, 30 * time.Second, true},
	} {
		c := &slowClient{ResponseRecorder: httptest.NewRecorder(), each: test.each}
		call := &Call{W: c, Limits: &Limits{WriteTimeout: 10 * time.Second, AnswerTimeout: test.answer, Now: func() time.Time { return c.now }}}
		body := make([]byte, 10*64<<10)
		call.write(http.StatusOK, "text/plain", body)
		if took := c.now.Sub(time.Time{}); took != test.want || (c.Body.Len() == len(body)) != test.ends {
			t.Errorf("a client %s has %d of %d bytes after %s, want %s and all: %t", name, c.Body.Len(), len(body), took, test.want, test.ends)
		}
	}
}

// TestAnswersAreChargedWhileTheyAreWritten checks that a response of more than 4 KiB is
// charged until its client has read it. Otherwise, a client could request thousands of
// responses and read none of them.
func TestAnswersAreChargedWhileTheyAreWritten(t *testing.T) {
	for size, want := range map[int]int64{1 << 10: 0, 60 << 10: 60 << 10, 200 << 10: 200 << 10} {
		budget := limit.NewBudget(1<<20, 0)
		w := &chargedClient{ResponseRecorder: httptest.NewRecorder(), budget: budget}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		call := &Call{W: w, R: r, Limits: &Limits{Answers: budget, Now: time.Now}}
		if err := call.WriteResult("text/plain", size, func(dst []byte) []byte { return append(dst, make([]byte, size)...) }); err != nil {
			t.Fatal(err)
		}
		if w.charged != want || budget.Used() != 0 {
			t.Errorf("a response of %d bytes is charged with %d, want %d; %d stay", size, w.charged, want, budget.Used())
		}
	}
}

// chargedClient is a response that records what is charged during a write.
type chargedClient struct {
	*httptest.ResponseRecorder
	budget  *limit.Budget
	charged int64
}

func (c *chargedClient) Write(p []byte) (int, error) {
	c.charged = c.budget.Used()
	return c.ResponseRecorder.Write(p)
}

// TestClientThatLeavesWhileItWaitsForMemoryIsCanceled checks that a request that waits for
// memory when its client disconnects is no failure of the sidecar.
func TestClientThatLeavesWhileItWaitsForMemoryIsCanceled(t *testing.T) {
	for name, waitForMemory := range map[string]func(*Call) error{
		"for its response": func(c *Call) error {
			return c.WriteResult("text/plain", 8<<10, func(dst []byte) []byte { return dst })
		},
		"for its body": func(c *Call) error {
			_, err := c.Body()
			return err
		},
		"for its message": func(c *Call) error { return c.Charge(1) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const size = 4 << 10
				budget := limit.NewBudget(size, time.Hour)
				var rest limit.Reservation
				if !budget.TryGrow(&rest, a2a.AccountingPrincipalAt("192.0.2.9:1"), size) {
					t.Fatal("the budget has no room")
				}
				ctx, leave := context.WithCancel(t.Context())
				r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader("{}"))
				call := &Call{W: httptest.NewRecorder(), R: r, Limits: &Limits{
					MaxBody: func() int64 { return size }, Bodies: budget, Answers: budget, Now: time.Now,
				}}
				failed := make(chan error, 1)
				go func() { failed <- waitForMemory(call) }()
				synctest.Wait()
				leave()
				var got Outcome
				problem := Outcome{}.Conclude(ctx, slog.New(slog.DiscardHandler), func(_ context.Context, o Outcome) { got = o }, <-failed)
				if want := (Outcome{ClientLeft: true}); got != want || problem != nil {
					t.Errorf("outcome = %+v, problem = %v, want %+v", got, problem, want)
				}
			})
		})
	}
}
