// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/freeport"
)

// TestSidecarLivesWithinItsMemoryLimit sends more large messages at a time than a memory limit has
// room for. The sidecar refuses those that do not fit, and the kernel never kills it. A client with
// small messages is always served.
func TestSidecarLivesWithinItsMemoryLimit(t *testing.T) {
	besideOthers(t)
	const size = 5 << 20
	loads := []struct{ name, part string }{
		{"text", `{"kind":"text","text":"` + strings.Repeat("x", size) + `"}`},
		{"escaped", `{"kind":"text","text":"` + strings.Repeat(`\n`, size/2) + `"}`},
		{"control", `{"kind":"text","text":"` + strings.Repeat(`\u0001`, size/6) + `"}`},
		{"data", `{"kind":"data","data":{"a":[` + strings.Repeat(`{"a":0},`, size/8) + `0]}}`},
		{"file", `{"kind":"file","file":{"bytes":"` + strings.Repeat("QUFB", size/4) + `","mimeType":"image/png"}}`},
		{"small", `{"kind":"text","text":"` + strings.Repeat("x", 60<<10) + `"}`},
		{"medium", `{"kind":"text","text":"` + strings.Repeat("x", 1<<20) + `"}`},
	}
	for _, mebibytes := range []int64{64, 128, 512} {
		of := loads
		if mebibytes > 128 {
			of = loads[:2] // they fill the larger budgets
		}
		for _, load := range of {
			t.Run(fmt.Sprintf("%dMi/%s", mebibytes, load.name), func(t *testing.T) {
				testMemoryLimit(t, mebibytes<<20, load.part)
			})
		}
	}
}

func testMemoryLimit(t *testing.T, limit int64, part string) {
	clients := 12
	rounds := 1
	if full {
		rounds = 8
	}
	address, sidecar := startEcho(t, limit)
	var attackers sync.WaitGroup
	counts := &counts{of: map[int]int{}}
	for client := range clients {
		attackers.Go(func() {
			for round := range rounds {
				counts.add(post(address, fmt.Sprintf("m-%d-%d", client, round), part))
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		attackers.Wait()
		close(ended)
	}()
	var used int64
	served := 0
	for i, attacked := 0, true; attacked; i++ {
		if status := post(address, fmt.Sprintf("hello-%d", i), `{"kind":"text","text":"hello"}`); status != http.StatusOK {
			t.Errorf("a small message gets %d", status)
		}
		served++
		used = max(used, sidecar.Used())
		select {
		case <-ended:
			attacked = false
		case <-time.After(10 * time.Millisecond):
		}
	}
	if failure := sidecar.Failure(); failure != "" || sidecar.Kills() > 0 {
		t.Errorf("%d kills; %s", sidecar.Kills(), failure)
	}
	for status := range counts.of {
		switch status {
		case 0: // the client was still sending a refused body when the connection closed
		case http.StatusOK, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		default:
			t.Errorf("a large message gets %d", status)
		}
	}
	if counts.of[http.StatusOK]+counts.of[http.StatusRequestEntityTooLarge] == 0 {
		t.Error("no large message was accepted")
	}
	t.Logf("T-MEMORY: at most %d MiB used; large messages: %v; %d small messages served", used>>20, counts.of, served)
}

// counts are the numbers of responses by their status.
type counts struct {
	mu sync.Mutex
	of map[int]int
}

func (c *counts) add(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[status]++
}

// post sends a message with a part, and returns the status of the response, or 0 if the connection
// closes without one.
func post(address, id, part string) int {
	body := `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"` + id + `","role":"user","parts":[` + part + `]}}}`
	// A connection that the sidecar closes after a body that is too large must not be used again.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Post("http://"+address+"/", "application/json", strings.NewReader(body))
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// startEcho starts a sidecar with a memory limit, in front of an agent that answers with its
// request.
func startEcho(t *testing.T, limit int64) (address string, sidecar *Program) {
	t.Helper()
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.Copy(w, bytes.NewReader(body))
	}))
	t.Cleanup(agent.Close)
	card := filepath.Join(t.TempDir(), "card.yaml")
	if err := os.WriteFile(card, []byte("displayName: Echo\ndescription: d\nversion: \"1\"\nskills: [{id: s, name: S, description: d, tags: [t]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address = freeport.Address(t)
	sidecar = Start(t, limit, "cmd/sidecar", "--backend-url", agent.URL, "--card", card, "--anonymous", "--listen", address)
	for {
		response, err := http.Get("http://" + address + "/.well-known/agent-card.json")
		if err == nil {
			_ = response.Body.Close()
			return address, sidecar
		}
		if failure := sidecar.Failure(); failure != "" {
			t.Fatal(failure)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
