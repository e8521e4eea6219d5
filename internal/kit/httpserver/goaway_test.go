// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"crypto/tls"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// evictIdle closes the HTTP/2 connections in use that a server may close to make room.
func (s *served) evictIdle() { closeAll(s.takeIdle()) }

// takeIdle removes these connections from the table.
func (s *served) takeIdle() []*Conn {
	t := s.table
	t.mu.Lock()
	var evicted []*Conn
	for element := t.conns.Front(); element != nil; {
		c := element.Value.(*Conn)
		element = element.Next()
		if c.streams.read.Load() > 0 && c.busy.Load() == 0 && !c.hasSent() && t.evict(c, false) {
			evicted = append(evicted, c)
		}
	}
	t.mu.Unlock()
	return evicted
}

// goAways are servers with and without TLS.
func goAways(t *testing.T, test func(t *testing.T, o Options, scheme string)) {
	o := Options{Memory: memoryFor(40), HTTP2: true}
	t.Run("plain", func(t *testing.T) { test(t, o, "http") })
	t.Run("TLS", func(t *testing.T) {
		o.TLS = &tls.Config{Certificates: []tls.Certificate{newCertificate(t)}, NextProtos: []string{"h2"}}
		test(t, o, "https")
	})
}

// TestClosedHTTP2ConnectionNamesItsLastStream closes a connection to make room. Its client learns which of its requests had no effect.
func TestClosedHTTP2ConnectionNamesItsLastStream(t *testing.T) {
	testLastStream(t, func(s *served, _ *client) { s.evictIdle() })
}

// TestReaderOfAClosedHTTP2ConnectionNamesItsLastStream sends a request on a connection that the table has taken and not closed yet.
func TestReaderOfAClosedHTTP2ConnectionNamesItsLastStream(t *testing.T) {
	testLastStream(t, func(s *served, c *client) {
		if len(s.takeIdle()) > 0 {
			c.send(opened(5, flagEndHeaders|flagEndStream))
		}
	})
}

func testLastStream(t *testing.T, closeIdle func(*served, *client)) {
	goAways(t, func(t *testing.T, o Options, _ string) {
		s := serve(t, o)
		c := s.dial(t, "127.0.0.2")
		if o.TLS != nil {
			c.Conn = tls.Client(c.Conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) // #nosec G402 -- self-signed
		}
		c.send(preface + settingsFrame + opened(1, flagEndHeaders|flagEndStream) + opened(3, flagEndHeaders|flagEndStream))
		framer := http2.NewFramer(io.Discard, c)
		ended := 0
		for {
			frame, err := framer.ReadFrame()
			if err != nil {
				t.Fatalf("the connection ends without GOAWAY: %v", err)
			}
			if frame.Header().Flags.Has(flagEndStream) && frame.Header().Type != http2.FrameSettings {
				ended++
			}
			if ended == 2 {
				ended = 0
				s.await(t, "the server waits for the client", func() bool {
					closeIdle(s, c)
					return s.open(t) == 0
				})
			}
			if last, ok := frame.(*http2.GoAwayFrame); ok {
				if last.LastStreamID != 3 || last.ErrCode != http2.ErrCodeNo {
					t.Errorf("GOAWAY names the stream %d, and the code %v", last.LastStreamID, last.ErrCode)
				}
				break
			}
		}
	})
}

// TestClientsOfClosedHTTP2ConnectionsAreServed closes connections all the time, while their clients send requests.
func TestClientsOfClosedHTTP2ConnectionsAreServed(t *testing.T) {
	goAways(t, func(t *testing.T, o Options, scheme string) {
		s := serve(t, o)
		client := newHTTP2Client(t)
		client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // #nosec G402 -- self-signed
		client.Transport.(*http.Transport).Protocols.SetHTTP2(true)
		ended := make(chan struct{})
		var evictor, clients sync.WaitGroup
		evictor.Go(func() {
			for {
				select {
				case <-ended:
					return
				case <-time.After(20 * time.Millisecond):
					s.evictIdle()
				}
			}
		})
		for range 2 {
			clients.Go(func() {
				for range 500 {
					response, err := client.Get(scheme + "://" + s.address + "/")
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
			})
		}
		clients.Wait()
		close(ended)
		evictor.Wait()
	})
}
