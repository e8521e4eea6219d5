// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/pbwire"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

// TestControlCharacters sends texts and values of control characters, each of which has six bytes in JSON, and one in protobuf: alone, and
// more of them at a time than there is memory for.
func TestControlCharacters(t *testing.T) {
	const size = 5 << 20
	text := pbwire.AppendString(nil, 1, strings.Repeat("\x01", size))
	value := pbwire.AppendBytes(nil, 4, pbwire.AppendString(nil, 3, strings.Repeat("\x01\x01xxx", size/5)))
	short := pbwire.AppendString(nil, 1, strings.Repeat("\x01", size/5))
	escaped := strings.Replace(fmt.Sprintf(message, "ID", "TEXT"), "TEXT", strings.Repeat(`\u0001`, size/6), 1)
	byGRPC := func(part []byte) func(*sidecar, string) string {
		return func(s *sidecar, bearer string) string { return s.sendByGRPC(t, bearer, part) }
	}
	for _, load := range []struct {
		name string
		send func(s *sidecar, bearer string) string
	}{
		{"a text by JSON-RPC", func(s *sidecar, bearer string) string {
			return status(s.post(t.Context(), strings.Replace(escaped, "ID", rand.Text(), 1), "Authorization", bearer))
		}},
		{"a text by gRPC", byGRPC(text)},
		{"a text of a fifth of the size by gRPC", byGRPC(short)},
		{"a value by gRPC", byGRPC(value)},
	} {
		for _, where := range []string{"memory", "Redis"} {
			t.Run(load.name+", "+where, func(t *testing.T) {
				besideOthers(t)
				var flags []string
				if where == "Redis" {
					flags = []string{"--store", "redis://" + redistest.Start(t).Address(), "--store-name", "team/echo"}
				}
				for _, number := range []int{1, 8, 16} {
					s := startSidecar(t, echo, nil, flags...)
					s.awaitReady(t)
					bearers := make([]string, 4)
					for i := range bearers {
						bearers[i] = "Bearer " + s.token(t, fmt.Sprintf("caller-%d", i))
					}
					var next atomic.Int64
					ctx, cancel := context.WithTimeout(t.Context(), lasts)
					seen := crowd(ctx, number, 1000, func(context.Context) string {
						return load.send(s, bearers[next.Add(1)%int64(len(bearers))])
					})
					cancel()
					if failure := s.Failure(); failure != "" || s.Kills() > 0 {
						t.Errorf("%d at a time: %d kills; %s", number, s.Kills(), failure)
					}
					t.Logf("%d at a time: %s; peak %d MiB", number, seen, s.Peak()>>20)
				}
			})
		}
	}
}

// sendByGRPC sends a message of 1.0 with a part, and returns the status of the answer.
func (s *sidecar) sendByGRPC(t *testing.T, bearer string, part []byte) string {
	t.Helper()
	m := pbwire.AppendString(nil, 1, rand.Text())
	m = pbwire.AppendInt(m, 4, 1)
	m = pbwire.AppendBytes(m, 5, part)
	frame := []byte{0, 0, 0, 0, 0}
	frame = pbwire.AppendBytes(frame, 2, m)
	binary.BigEndian.PutUint32(frame[1:], uint32(len(frame)-5))
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.agent.url("/lf.a2a.v1.A2AService/SendMessage"), bytes.NewReader(frame))
	if err != nil {
		return err.Error()
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("Authorization", bearer)
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "no answer"
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body)
	return "gRPC status " + cmp.Or(response.Trailer.Get("Grpc-Status"), response.Header.Get("Grpc-Status"))
}
