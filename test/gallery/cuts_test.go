// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gallery

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/cutclient"
	"github.com/a2a-operator/a2a-operator/test/cutproxy"
)

const (
	// defaultTurns is how many turns of each example run behind cut connections. GALLERY_TURNS overrides it.
	defaultTurns = 40
	// parallelTurns is the number of turns that run at once.
	parallelTurns = 16
)

// TestExamplesLoseNoPartBehindCutConnections cuts each connection between the sidecar and the program at a random byte.
// A completed task must have every word of the model, once and in order. Every other task must have failed with a
// reason, and its text must be the beginning of the answer.
func TestExamplesLoseNoPartBehindCutConnections(t *testing.T) {
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			skipUnlessSelected(t, e.name)
			m := startModel(t)
			target, err := url.Parse(e.startBackend(t, m))
			if err != nil {
				t.Fatal(err)
			}
			proxy := cutproxy.Start(t, target.Host, cutproxy.Options{Seed: 12, Rate: 1, MaxBytes: 8000, Requests: 0.1})
			target.Host = proxy.Address()
			o := outcomes{failed: map[string]int{}}
			sidecar := e.startSidecar(t, target.String(), modelKey, true)
			sidecar.http.Timeout = 6 * time.Minute // a silent agent fails a turn after 5 min
			turns := cutclient.Turns(t, "GALLERY_TURNS", defaultTurns)
			o.run(t, sidecar, turns)
			t.Logf("GALLERY %s: %d turns, %d of %d connections cut, %d completed, %d failed with a reason, %d with lost or repeated parts",
				e.name, turns, proxy.Cuts(), proxy.Connections(), o.completed, turns-o.completed-o.wrong, o.wrong)
			for _, reason := range slices.Sorted(maps.Keys(o.failed)) {
				t.Logf("GALLERY %s: %d failed: %s", e.name, o.failed[reason], reason)
			}
			if proxy.Cuts() == 0 || o.completed == 0 {
				t.Error("no connection was cut, or no turn completed")
			}
		})
	}
}

// TestExamplesLoseNoPartBehindCutClients cuts each connection between a client and the sidecar at a random byte. The client
// subscribes again, and must get every word of the model, once and in order.
func TestExamplesLoseNoPartBehindCutClients(t *testing.T) {
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			skipUnlessSelected(t, e.name)
			sidecar := e.startSidecar(t, e.startBackend(t, startModel(t)), modelKey, false)
			campaign := cutclient.Campaign{
				URL: sidecar.url, Turns: cutclient.Turns(t, "GALLERY_TURNS", defaultTurns), MaxBytes: 8 << 10,
				Ask: func(i int) (text, answer, message string) {
					words := 5 + i%30
					return fmt.Sprintf("Turn %d: #count %d", i, words), strings.Join(numbered(words), " "), ""
				},
			}
			campaign.Run(t)
		})
	}
}

// outcomes counts how turns end.
type outcomes struct {
	mu               sync.Mutex
	completed, wrong int
	// failed counts the turns that failed, by reason.
	failed map[string]int
}

// run runs turns, parallelTurns at a time.
func (o *outcomes) run(t *testing.T, sidecar *client, turns int) {
	t.Helper()
	next := make(chan int)
	var workers sync.WaitGroup
	for worker := range parallelTurns {
		workers.Go(func() {
			c := &client{t: t, url: sidecar.url, http: sidecar.http, messages: worker * 1_000_000}
			for i := range next {
				words := 5 + i%30
				o.add(t, i, c.send(recipient{}, fmt.Sprintf("Turn %d: #count %d", i, words)), strings.Join(numbered(words), " "))
			}
		})
	}
	for i := range turns {
		next <- i
	}
	close(next)
	workers.Wait()
}

// add counts how a turn ended. written is the text that the model wrote in the turn. An answer that contradicts this
// text fails the test.
func (o *outcomes) add(t *testing.T, turn int, got *task, written string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	text, reason := got.artifactText(), got.statusText()
	switch {
	case got.Status.State == "completed" && text == written:
		o.completed++
	case got.Status.State == "failed" && reason != "" && strings.HasPrefix(written, text):
		o.failed[reason]++
	default:
		o.wrong++
		t.Errorf("turn %d: %s %q %q, and the model wrote %q", turn, got.Status.State, reason, text, written)
	}
}
