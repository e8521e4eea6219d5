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
	"github.com/a2a-operator/a2a-operator/test/programs"
)

const sendMessage = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"%s","role":"user","parts":[%s]}}}`

// TestSidecarLivesWithinItsMemoryLimit sends more large messages at a time than the limit of
// the container has room for. The sidecar refuses what does not fit and is never killed, and
// a client with small messages is served meanwhile.
func TestSidecarLivesWithinItsMemoryLimit(t *testing.T) {
	for _, limit := range []int64{64 << 20, 128 << 20, 512 << 20} {
		for _, load := range []struct{ name, part string }{
			{"one text", `{"kind":"text","text":"` + strings.Repeat("x", 5<<20) + `"}`},
			{"escaped text", `{"kind":"text","text":"` + strings.Repeat(`\n`, 5<<19) + `"}`},
			{"many parts", strings.Repeat(`{"kind":"text","text":""},`, 5<<20/26-1) + `{"kind":"text","text":""}`},
			{"data", `{"kind":"data","data":{"a":[` + strings.Repeat("0,", 5<<19) + `0]}}`},
			{"file", `{"kind":"file","file":{"bytes":"` + strings.Repeat("QUFB", 5<<18) + `","mimeType":"image/png"}}`},
		} {
			t.Run(fmt.Sprintf("%d MiB/%s", limit>>20, load.name), func(t *testing.T) {
				testMemoryLimit(t, limit, load.part)
			})
		}
	}
}

func testMemoryLimit(t *testing.T, limit int64, part string) {
	group := newMemoryCgroup(t, limit)
	address := startSidecar(t, group)
	const senders, rounds = 12, 8
	var served sync.Map
	var wg sync.WaitGroup
	for sender := range senders {
		wg.Go(func() {
			for round := range rounds {
				status := post(address, fmt.Sprintf(sendMessage, fmt.Sprintf("%d-%d", sender, round), part))
				count, _ := served.LoadOrStore(status, new(int))
				_ = count
			}
		})
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	var small [2]int
	peak := int64(0)
	for i := 0; ; i++ {
		status := post(address, fmt.Sprintf(sendMessage, fmt.Sprintf("small-%d", i), `{"kind":"text","text":"hello"}`))
		if status == "200" {
			small[0]++
		} else {
			small[1]++
			t.Log(status)
		}
		peak = max(peak, group.used(t))
		select {
		case <-done:
		case <-time.After(20 * time.Millisecond):
			continue
		}
		break
	}
	var statuses []any
	served.Range(func(k, _ any) bool { statuses = append(statuses, k); return true })
	t.Logf("peak %d MiB, kills %d, small ok %d refused %d, %v", peak>>20, group.kills(t), small[0], small[1], statuses)
	if n := group.kills(t); n > 0 {
		t.Errorf("killed %d times", n)
	}
}

func post(address, body string) string {
	response, err := http.Post("http://"+address+"/", "application/json", strings.NewReader(body))
	if err != nil {
		return "error"
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return fmt.Sprint(response.StatusCode)
}

// startSidecar starts a sidecar in a cgroup, in front of an agent that repeats its request.
func startSidecar(t *testing.T, group *memoryCgroup) (address string) {
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
	command := group.command(t, programs.Path("cmd/sidecar"), "--backend-url", agent.URL, "--card", card, "--anonymous", "--listen", address)
	programs.Serve(t, command, address, 30*time.Second)
	return address
}
