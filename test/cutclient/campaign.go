// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cutclient

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/cutproxy"
)

// parallel is the number of turns that run at once.
const parallel = 16

// Campaign runs turns through a proxy that cuts each connection between the client and the sidecar at a random byte.
type Campaign struct {
	// URL is the A2A endpoint of the sidecar, with http.
	URL string
	// Turns is the number of turns.
	Turns int
	// Ask returns the text of turn i, and what the agent answers: the text of the artifacts, and the text of the message of
	// the last status, or of the direct answer.
	Ask func(i int) (text, answer, message string)
	// Direct is true if the answer is a message without a task.
	Direct bool
	// MaxBytes bounds the position of a cut. The default is 2 KiB, less than most answers.
	MaxBytes int
}

// Turns returns the number of turns in an environment variable, or otherwise if it is not set.
func Turns(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// Run runs the turns. It fails the test if a turn loses, repeats or reorders a part, in its stream or in its task, or if no
// connection was cut. Every second turn subscribes without Last-Event-ID.
func (c *Campaign) Run(t *testing.T) {
	t.Helper()
	size := c.MaxBytes
	if size == 0 {
		size = 2 << 10
	}
	proxy := cutproxy.Start(t, strings.TrimPrefix(c.URL, "http://"), cutproxy.Options{Seed: 29, Rate: 1, MaxBytes: size, Requests: 0.25})
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	next := make(chan int)
	var mu sync.Mutex
	wrong, broken := 0, 0
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for i := range next {
				got, err := c.turn(t, i, &Client{URL: proxy.URL(), HTTP: client, Snapshots: i%2 == 1}, &Client{URL: c.URL, HTTP: client})
				mu.Lock()
				broken += got.Broken
				if err != nil {
					wrong++
					t.Errorf("turn %d: %v", i, err)
				}
				mu.Unlock()
			}
		})
	}
	for i := range c.Turns {
		next <- i
	}
	close(next)
	workers.Wait()
	t.Logf("CUTS %s: %d turns, %d of %d connections cut, %d requests broken, %d turns with lost or repeated parts",
		t.Name(), c.Turns, proxy.Cuts(), proxy.Connections(), broken, wrong)
	if proxy.Cuts() == 0 {
		t.Error("no connection was cut")
	}
}

// turn runs one turn, and compares it and its task.
func (c *Campaign) turn(t *testing.T, i int, cut, whole *Client) (*Turn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	text, answer, message := c.Ask(i)
	got, err := cut.Follow(ctx, fmt.Sprintf("message-%d", i), text)
	if err != nil {
		return got, err
	}
	if err := got.check("stream", answer, message); err != nil {
		return got, err
	}
	if c.Direct {
		if got.TaskID != "" {
			return got, fmt.Errorf("task %s, want a direct answer", got.TaskID)
		}
		return got, nil
	}
	task, err := whole.Task(ctx, got.TaskID)
	if err != nil {
		return got, err
	}
	return got, task.check("task", answer, message)
}

// check compares a turn with what the agent has answered.
func (t *Turn) check(what, answer, message string) error {
	if t.TaskID != "" && t.State != "TASK_STATE_COMPLETED" {
		return fmt.Errorf("%s: %s %q", what, t.State, t.Message)
	}
	if strings.TrimSpace(t.Text()) != strings.TrimSpace(answer) {
		return fmt.Errorf("%s: artifacts %q, want %q", what, t.Text(), answer)
	}
	if message != "" && t.Message != message {
		return fmt.Errorf("%s: message %q, want %q", what, t.Message, message)
	}
	return nil
}
