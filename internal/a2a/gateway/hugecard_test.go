// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2a-operator/a2a-operator/test/securitypage"
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

// TestHostileCardsNeedLittleMemory rewrites cards of the largest size that would be many times as large in memory if they were decoded, or
// whose addresses would make them many times as large.
func TestHostileCardsNeedLittleMemory(t *testing.T) {
	filled := func(begin, each, end string) string {
		return begin + strings.Repeat(each, (maxCard-len(begin)-len(end))/len(each)) + end
	}
	var versions strings.Builder
	for i := 1; versions.Len() < maxInterfaces-100; i++ {
		fmt.Fprintf(&versions, `,{"protocolVersion":"%d"}`, i)
	}
	cards := map[string]string{
		"empty objects":    filled(`{"name":"a","more":[`, `{},`, `0]}`),
		"nested objects":   filled(`{"name":"a","more":[`, `{"":{"":0}},`, `0]}`),
		"members":          filled(`{`, `"a":0,`, `"name":"a"}`),
		"repeated URLs":    filled(`{`, `"url":"",`, `"name":"a"}`),
		"signatures":       filled(`{"name":"a"`, `,"signatures":0`, `}`),
		"a long name":      filled(`{"`, `\u0061`, `":0}`),
		"interfaces":       filled(`{"supportedInterfaces":[`, `{},`, `{}]}`),
		"more interfaces":  filled(`{"url":"a","additionalInterfaces":[`, `{"transport":"GRPC"},`, `{}]}`),
		"many versions":    filled(`{"name":"`, `a`, `","supportedInterfaces":[{"protocolVersion":"0"}`+versions.String()+`]}`),
		"a long transport": filled(`{"url":"a","preferredTransport":"`, `a`, `"}`),
	}
	const most = 4 * maxCard
	for name, card := range cards {
		for form, rewrite := range map[string]func() ([]byte, error){
			"card": func() ([]byte, error) { return readdressCard([]byte(card), "http://gateway") },
			"RPC": func() ([]byte, error) {
				return readdressRPCCard([]byte(`{"id":1,"result":`+card+`}`), "http://gateway")
			},
			"repeated results": func() ([]byte, error) {
				return readdressRPCCard([]byte(`{"result":{"url":"a"},`+strings.Repeat(`"result":{},`, maxCard/12)+`"id":1}`), "http://gateway")
			},
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out, err := rewrite()
			runtime.ReadMemStats(&after)
			if used := int64(after.TotalAlloc-before.TotalAlloc) - 2*maxCard; used > most { // the text itself is two copies
				t.Errorf("%s, %s: %d MiB are allocated for a card of %d MiB", name, form, used>>20, maxCard>>20)
			}
			if len(out) > maxCard+maxInterfaces {
				t.Errorf("%s, %s: the card has %d bytes afterwards, and %v", name, form, len(out), err)
			}
			isTooLarge := strings.Contains(name, "interfaces") || name == "a long transport"
			if form == "card" && (err != nil) != isTooLarge {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	securitypage.Attempts(t, "T-CARD", 3*len(cards))
}
