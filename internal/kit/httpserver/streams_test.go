// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// TestClientsThatAdmitNoResponseCostBoundedMemory opens streams with a flow control window of 0 over many HTTP/2
// connections. Their handlers return, and their responses wait for the window.
func TestClientsThatAdmitNoResponseCostBoundedMemory(t *testing.T) {
	header := strings.Repeat("x", 7000)
	tests := map[string]func(f *http2.Framer, id uint32) error{
		"many streams": func(f *http2.Framer, id uint32) error {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: encodedHeader(header), EndHeaders: true, EndStream: true})
		},
		"unread data": func(f *http2.Framer, id uint32) error {
			if id == 1 {
				return f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: encodedHeader("x"), EndHeaders: true})
			}
			return f.WriteData(1, false, make([]byte, maxFrame))
		},
	}
	for name, write := range tests {
		t.Run(name, func(t *testing.T) {
			s := serve(t, Options{Memory: 16 << 20, HTTP2: true}, func(s *Server) { s.WriteTimeout = WriteTimeout })
			before := memoryInUse()
			for range 60 {
				c := s.dial(t, "127.0.0.2")
				c.send(preface)
				framer := http2.NewFramer(c, c)
				if framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}) != nil || framer.WriteSettingsAck() != nil {
					continue // the server has closed the connection
				}
				go func() {
					for {
						if _, err := framer.ReadFrame(); err != nil {
							return
						}
					}
				}()
				_ = c.SetWriteDeadline(time.Now().Add(time.Second)) // the server stops reading
				for id := uint32(1); id < 200; id += 2 {
					if write(framer, id) != nil {
						break
					}
				}
			}
			if got, most := memoryInUse()-before, int64(24<<20); got > most {
				t.Errorf("%d bytes in use, want at most %d", got, most)
			}
			s.table.mu.Lock()
			defer s.table.mu.Unlock()
			if most := s.table.maxUsed + s.table.maxUsed/overdraft; s.table.used > most {
				t.Errorf("the table counts %d bytes, want at most %d", s.table.used, most)
			}
		})
	}
}

// TestResetStreamsLeaveNothing opens and resets streams until the server closes the connection, over many connections.
func TestResetStreamsLeaveNothing(t *testing.T) {
	s := serve(t, Options{Memory: 11 << 20, HTTP2: true}, func(s *Server) {
		s.WriteTimeout = WriteTimeout
		s.Handler = s.counted(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			later := time.Now().Add(time.Minute)
			controller := http.NewResponseController(w)
			if err := errors.Join(controller.SetReadDeadline(later), controller.SetWriteDeadline(later)); err != nil {
				t.Error(err)
			}
		}))
	})
	before := memoryInUse()
	request := encodedHeader("x")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				c := s.dial(t, "127.0.0.2")
				c.send(preface)
				go func() { _, _ = io.Copy(io.Discard, c) }()
				framer := http2.NewFramer(c, nil)
				err := framer.WriteSettings()
				for id := uint32(1); err == nil; id += 2 {
					err = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: request, EndHeaders: true, EndStream: true})
					if err == nil {
						err = framer.WriteRSTStream(id, http2.ErrCodeCancel)
					}
				}
				_ = c.Close()
			}
		})
	}
	wg.Wait()
	s.await(t, "all connections have ended", func() bool { return s.open(t) == 0 })
	if got, most := memoryInUse()-before, int64(12<<20); got > most {
		t.Errorf("%d bytes stay in use, want at most %d", got, most)
	}
}

// TestStreamsWithoutAnEndMakeRoom fills a listener with requests of HTTP/2 that do not arrive in whole. A client that sends several
// requests at a time over one connection is served.
func TestStreamsWithoutAnEndMakeRoom(t *testing.T) {
	s := serve(t, Options{Memory: memoryFor(200), HTTP2: true})
	client := newHTTP2Client(t)
	for i := range 60 {
		c := s.dial(t, netip.AddrFrom4([4]byte{127, 0, 1, byte(i)}).String())
		c.send(preface + settingsFrame)
		for id := byte(1); id < 2*maxStreams; id += 2 {
			_, _ = io.WriteString(c, opened(id, flagEndHeaders)) // the server may have closed the connection
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				response, err := client.Post("http://"+s.address+"/", "text/plain", strings.NewReader("whole"))
				if err != nil {
					t.Error(err)
					return
				}
				_ = response.Body.Close()
				if response.StatusCode != http.StatusOK {
					t.Errorf("status = %d, want 200", response.StatusCode)
				}
			})
		}
		wg.Wait()
	}
}

// newHTTP2Client returns a client that uses HTTP/2 without TLS.
func newHTTP2Client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestIdleConnectionEnds waits for the end of a connection that had a request, of a server without IdleTimeout.
func TestIdleConnectionEnds(t *testing.T) {
	s := serve(t, Options{Memory: memoryFor(40), HTTP2: true, ReadTimeout: time.Minute})
	if s.IdleTimeout >= 0 {
		t.Errorf("IdleTimeout = %v, which keeps closed HTTP/2 connections in memory for this time, or for the read timeout", s.IdleTimeout)
	}
	deadlines := make(chan time.Duration, 8)
	c := &Conn{Conn: &deadlineConn{deadlines: deadlines}, server: s.Server}
	c.hadRequest.Store(true)
	_ = c.SetReadDeadline(time.Time{})
	if got := <-deadlines; got < IdleTimeout-time.Minute || got > IdleTimeout {
		t.Errorf("the deadline is in %v, want %v", got, IdleTimeout)
	}
}

// deadlineConn reports the deadlines of its reads.
type deadlineConn struct {
	net.Conn
	deadlines chan time.Duration
}

func (c *deadlineConn) SetReadDeadline(at time.Time) error {
	c.deadlines <- time.Until(at)
	return nil
}

func encodedHeader(value string) []byte {
	var b bytes.Buffer
	encoder := hpack.NewEncoder(&b)
	for _, h := range [][2]string{{":method", http.MethodPost}, {":scheme", "http"}, {":path", "/"}, {":authority", "a"}, {"x", value}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1], Sensitive: true})
	}
	return b.Bytes()
}

// memoryInUse returns the bytes of the heap and of stacks.
func memoryInUse() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapInuse + stats.StackInuse)
}
