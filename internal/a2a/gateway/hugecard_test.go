// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// hugeSizes are the sizes of cards that are larger than every limit, in bytes.
var hugeSizes = map[string]int64{"64 MB": 64 << 20, "endless": math.MaxInt64}

// hugeBody is a body with a size. It counts the bytes that were read.
type hugeBody struct {
	size, read int64
	closed     bool
}

func (b *hugeBody) Read(p []byte) (int, error) {
	n := min(int64(len(p)), b.size-b.read)
	if n == 0 {
		return 0, io.EOF
	}
	b.read += n
	return int(n), nil
}

func (b *hugeBody) Close() error {
	b.closed = true
	return nil
}

// TestHugeCardIsReadUpToTheLimit reads a card from an agent, and one from the registry,
// through the gateway, which rewrites the card.
func TestHugeCardIsReadUpToTheLimit(t *testing.T) {
	for size, bytes := range hugeSizes {
		for path, want := range map[string]string{
			"/agents/team/echo/.well-known/agent-card.json": "Agent team/echo has a card that cannot be read, or that is larger than 4 MiB; ask its owner to correct it",
			"/registry/v1/agents/team/echo/card":            "The registry has a card that cannot be read, or that is larger than 4 MiB; ask its owner to correct it",
		} {
			t.Run(size+" "+path, func(t *testing.T) {
				var sent atomic.Int64
				c := newCluster(t, func(w http.ResponseWriter, _ *http.Request) {
					piece := []byte(strings.Repeat("x", 64<<10))
					for sent.Load() < bytes {
						n, err := w.Write(piece)
						if sent.Add(int64(n)); err != nil {
							return
						}
					}
				})
				response, body := c.do(t, "GET", path, "")
				if response.StatusCode < http.StatusInternalServerError || !strings.Contains(body, want) {
					t.Errorf("%d %.200s, want %s", response.StatusCode, body, want)
				}
				if used := c.bodies.Used(); used != 0 {
					t.Errorf("%d bytes are charged after the response", used)
				}
				c.gateway.CloseClientConnections()
				// The buffers of the connections hold some megabytes that the gateway does not
				// read.
				if n := sent.Load(); n > 6*maxCard {
					t.Errorf("the card could have %d bytes", n)
				}
			})
		}
	}
}

// TestHugeCardOfARemoteAgentIsReadUpToTheLimit calls a remote agent, whose card the gateway
// reads from the registry.
func TestHugeCardOfARemoteAgentIsReadUpToTheLimit(t *testing.T) {
	for size, bytes := range hugeSizes {
		r, body := newFixture(t), &hugeBody{size: bytes}
		r.bodies = map[string]io.ReadCloser{"/v1/agents/team/weather/card": body}
		status, text, _ := r.get("/agents/team/weather/")
		if status != http.StatusServiceUnavailable || !strings.Contains(text, "the answer of the registry about it is larger than 1 MiB") {
			t.Errorf("%s: %d %s", size, status, text)
		}
		if body.read > maxEntry+1 || !body.closed {
			t.Errorf("%s: the gateway reads %d bytes, closed: %t", size, body.read, body.closed)
		}
	}
}
