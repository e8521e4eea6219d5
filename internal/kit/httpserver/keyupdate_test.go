// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// recorder counts the records of application data that a client of TLS has sent.
type recorder struct {
	net.Conn
	records uint64
}

func (r *recorder) Write(p []byte) (int, error) {
	for rest := p; len(rest) >= 5; rest = rest[5+int(binary.BigEndian.Uint16(rest[3:])):] {
		if rest[0] == 23 {
			r.records++
		}
	}
	return r.Conn.Write(p)
}

// keyUpdate is a message in which a client asks the server for new keys (RFC 8446 section 4.6.3), and the type of its record.
const keyUpdate = "\x18\x00\x00\x01\x01" + "\x16"

// clientSecret returns the secret with which a client sends, from what its tls.Config.KeyLogWriter got.
func clientSecret(t *testing.T, secrets string) []byte {
	t.Helper()
	_, line, _ := strings.Cut(secrets, "CLIENT_TRAFFIC_SECRET_0 ")
	secret, err := hex.DecodeString(strings.Fields(line)[1])
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// sealed returns a record of TLS 1.3 with AES-128-GCM. number is that of the records before, which the client has sent with the same
// secret.
func sealed(t *testing.T, secret []byte, number uint64, message []byte) []byte {
	t.Helper()
	derive := func(label string, length int) []byte {
		info := binary.BigEndian.AppendUint16(nil, uint16(length))
		info = append(append(info, byte(len("tls13 "+label))), "tls13 "+label+"\x00"...)
		key, err := hkdf.Expand(sha256.New, secret, string(info), length)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	block, err := aes.NewCipher(derive("key", 16))
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	nonce := derive("iv", 12)
	binary.BigEndian.PutUint64(nonce[4:], binary.BigEndian.Uint64(nonce[4:])^number)
	header := binary.BigEndian.AppendUint16([]byte{23, 3, 3}, uint16(len(message)+sealer.Overhead()))
	return sealer.Seal(header, nonce, message, header)
}

// TestKeyUpdateWhileNothingIsWritten lets the write deadline of a connection of HTTP/2 pass while the server has nothing to write, and
// then asks for new keys of TLS. The running request is answered.
func TestKeyUpdateWhileNothingIsWritten(t *testing.T) {
	s := serve(t, Options{Memory: 2 * memoryFor(40), HTTP2: true, TLS: &tls.Config{Certificates: []tls.Certificate{newCertificate(t)}, MinVersion: tls.VersionTLS13}})
	var secrets strings.Builder
	raw := &recorder{Conn: s.dial(t, "127.0.0.2").Conn}
	client := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, KeyLogWriter: &secrets, MinVersion: tls.VersionTLS13})
	if err := client.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if client.ConnectionState().CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skip("this machine prefers another cipher")
	}
	secret := clientSecret(t, secrets.String())

	var header bytes.Buffer
	encoder := hpack.NewEncoder(&header)
	for name, value := range map[string]string{":method": "GET", ":scheme": "https", ":path": "/wait", ":authority": "a"} { // in any order
		_ = encoder.WriteField(hpack.HeaderField{Name: name, Value: value})
	}
	raw.records = 0
	if _, err := fmt.Fprint(client, preface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(client, client)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: header.Bytes(), EndHeaders: true, EndStream: true}); err != nil {
		t.Fatal(err)
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if frame.Header().Type == http2.FrameSettings && frame.Header().Flags.Has(http2.FlagSettingsAck) {
			break
		}
	}
	s.awaitRunning(t, 1)

	s.table.mu.Lock()
	c := s.table.conns.Front().Value.(*Conn)
	s.table.mu.Unlock()
	if c.writeUntil.Load() == 0 {
		t.Error("the connection has no write deadline")
	}
	c.writeUntil.Store(1) // long ago
	if err := c.raw.SetWriteDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Conn.Write(sealed(t, secret, raw.records, []byte(keyUpdate))); err != nil {
		t.Fatal(err)
	}
	s.await(t, "the server writes", func() bool { return c.writeUntil.Load() != 1 })
	s.release <- struct{}{}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("the request is not answered: %v", err)
		}
		if frame.Header().StreamID == 1 && frame.Header().Flags.Has(http2.FlagDataEndStream) {
			return
		}
	}
}
