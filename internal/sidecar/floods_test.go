// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"bytes"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// TestFloodsOfStreamsRefuseNoCaller sends streams without a credential, of which there are more than the rate of all requests, from
// several addresses that connect again and again. A caller with a credential and a reader of the card are served beside them.
func TestFloodsOfStreamsRefuseNoCaller(t *testing.T) {
	const streams, rounds, all = 40, 10, 80
	for name, flood := range map[string]struct{ resets, isWhole bool }{
		"rapid reset": {resets: true}, "many streams": {}, "whole requests": {isWhole: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
				c.Access.Authentication = append(c.Access.Authentication, sidecarconfig.Authentication{Type: sidecarconfig.AuthenticationAnonymous})
				c.Limits.TotalRequests = slowRefill(all)
				c.Limits.Requests = slowRefill(all)
			})
			as := []string{"Authorization", "Bearer " + p.token("team"), "Content-Type", "application/json"}
			for i := range rounds {
				p.flood(net.IPv4(127, 0, 0, byte(2+i)), streams, flood.resets, flood.isWhole)
				if response, body := p.do("POST", p.agent(), hello, as...); response.StatusCode != http.StatusOK {
					t.Errorf("round %d: a caller = %d %s", i, response.StatusCode, body)
				}
				if response, body := p.do("GET", p.agent()+".well-known/agent-card.json", ""); response.StatusCode != http.StatusOK {
					t.Errorf("round %d: the card = %d %s", i, response.StatusCode, body)
				}
				if response, body := p.do("GET", p.health("/readyz"), ""); response.StatusCode != http.StatusOK {
					t.Errorf("round %d: readiness = %d %s", i, response.StatusCode, body)
				}
			}
		})
	}
}

// flood opens a connection of HTTP/2 from an address of the loopback network, sends the headers of requests, and waits until the server
// has read them, or has closed the connection.
func (p *pod) flood(from net.IP, streams int, resets, isWhole bool) {
	p.t.Helper()
	address := strings.TrimSuffix(strings.TrimPrefix(p.agent(), "http://"), "/")
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}
	c, err := dialer.DialContext(p.t.Context(), "tcp", address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	var header bytes.Buffer
	encoder := hpack.NewEncoder(&header)
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", "/"}, {":authority", address}, {"content-type", "application/json"}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: true})
	}
	var frames bytes.Buffer
	frames.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&frames, c)
	_ = framer.WriteSettings()
	for i := range streams {
		id := uint32(2*i + 1)
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: header.Bytes(), EndHeaders: true, EndStream: isWhole})
		if resets {
			_ = framer.WriteRSTStream(id, http2.ErrCodeCancel)
		}
	}
	_ = framer.WritePing(false, [8]byte{})
	_, _ = c.Write(frames.Bytes())
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		ping, isPing := frame.(*http2.PingFrame)
		if isPing && ping.IsAck() {
			return
		}
	}
}
