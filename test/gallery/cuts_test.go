// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gallery

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a2a-operator/a2a-operator/test/cutproxy"
)

// turns is how many turns of each example run while connections are cut.
func turns(t *testing.T) int {
	t.Helper()
	text := os.Getenv("GALLERY_TURNS")
	if text == "" {
		return 40
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("GALLERY_TURNS: %v", err)
	}
	return n
}

// TestNoPartIsLost cuts all connections, somewhere, between the sidecar and the
// program. A task that is completed has every word that the model sent, in
// order and once; any other has failed with a reason, and what it has is how the
// answer begins.
func TestNoPartIsLost(t *testing.T) {
	for _, e := range gallery {
		t.Run(e.name, func(t *testing.T) {
			selected(t, e.name)
			if e.uncut != "" {
				t.Skip("SKIPPED: " + e.uncut)
			}
			m := startModel(t)
			target, err := url.Parse(e.backend(t, m))
			if err != nil {
				t.Fatal(err)
			}
			proxy := cutproxy.Start(t, target.Host, cutproxy.Options{Seed: 12, Rate: 1, MaxBytes: 8000, Requests: 0.1})
			target.Host = proxy.Address()
			front := e.front(t, target.String(), modelKey, true)
			n := turns(t)
			var next, completed, failed, lost atomic.Int64
			var workers sync.WaitGroup
			for worker := range 8 {
				workers.Go(func() {
					c := &client{t: t, url: front.url, http: front.http, n: worker * 1_000_000}
					for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
						words := 5 + i%30
						got := c.send(to{}, fmt.Sprintf("Turn %d: #count %d", i, words))
						want, text := strings.Join(numbered(words), " "), strings.TrimSpace(got.says())
						switch {
						case got.Status.State == "completed" && text == want:
							completed.Add(1)
						case got.Status.State == "failed" && got.asks() != "" && strings.HasPrefix(want, text):
							failed.Add(1)
						default:
							lost.Add(1)
							t.Errorf("turn %d: %s %q %q, and the model sent %q", i, got.Status.State, got.asks(), text, want)
						}
					}
				})
			}
			workers.Wait()
			t.Logf("GALLERY %s: %d turns, %d of %d connections cut, %d completed, %d failed with a reason, %d with lost parts",
				e.name, n, proxy.Cuts(), proxy.Connections(), completed.Load(), failed.Load(), lost.Load())
			if proxy.Cuts() == 0 || completed.Load() == 0 {
				t.Error("nothing was cut, or nothing came through")
			}
		})
	}
}
