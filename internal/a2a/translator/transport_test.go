// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package translator

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"
)

// TestOnlyAlertsOfCertificatesBlameThem sends a client each alert of TLS in answer to its hello.
func TestOnlyAlertsOfCertificatesBlameThem(t *testing.T) {
	// The descriptions of RFC 8446 with which servers refuse a client's certificate, or the lack of one.
	blaming := map[byte]bool{40: true, 42: true, 43: true, 44: true, 45: true, 46: true, 48: true, 49: true, 116: true}
	for _, description := range []byte{10, 20, 22, 40, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 70, 71, 80, 86, 109, 110, 112, 113, 115, 116, 120} {
		client, server := net.Pipe()
		go func() {
			_, _ = server.Read(make([]byte, 4096))
			_, _ = server.Write([]byte{21, 3, 3, 0, 2, 2, description})
			_ = server.Close()
		}()
		failure := tls.Client(client, &tls.Config{ServerName: "agent.example", MinVersion: tls.VersionTLS12}).HandshakeContext(t.Context())
		_ = client.Close()
		if failure == nil {
			t.Fatalf("alert %d: no error", description)
		}
		text := explain(failure).Error()
		if got := strings.Contains(text, "may require a client certificate"); got != blaming[description] {
			t.Errorf("alert %d (%v): %q", description, failure, text)
		}
	}
}
