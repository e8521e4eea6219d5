// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// TestCardOfFlags checks the card of a sidecar without an operator.
func TestCardOfFlags(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) string {
		name := filepath.Join(dir, "card.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	const plain = "{displayName: Echo, description: d, version: 1}"
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	tests := map[string]struct {
		file    string
		flags   []string
		address net.Addr
		// want maps the Host of a request to the expected URLs of the 1.0 interfaces.
		want map[string]string
		err  string
	}{
		"by default": {plain, nil, at, map[string]string{
			"127.0.0.1:8080": "JSONRPC http://127.0.0.1:8080/, HTTP+JSON http://127.0.0.1:8080",
			"localhost:8080": "JSONRPC http://localhost:8080/, HTTP+JSON http://localhost:8080",
			"other":          "JSONRPC http://127.0.0.1:8080/, HTTP+JSON http://127.0.0.1:8080",
		}, ""},
		"everywhere": {plain, nil, &net.TCPAddr{IP: net.IPv6unspecified, Port: 8080}, map[string]string{
			"localhost:8080": "JSONRPC http://localhost:8080/, HTTP+JSON http://localhost:8080",
		}, ""},
		"bases": {plain, []string{"--base-url", "https://a.example/echo", "--base-url", "https://b.example"}, at, map[string]string{
			"a.example": "JSONRPC https://a.example/echo/, HTTP+JSON https://a.example/echo",
			"b.example": "JSONRPC https://b.example/, HTTP+JSON https://b.example",
			"localhost": "JSONRPC https://a.example/echo/, HTTP+JSON https://a.example/echo",
		}, ""},
		"bindings": {plain, []string{"--binding", "GRPC", "--binding", "HTTPJSON"}, at, map[string]string{
			"localhost:8080": "GRPC localhost:8080, HTTP+JSON http://localhost:8080",
		}, ""},
		"bindings of the file": {"{displayName: Echo, protocol: {bindings: [HTTPJSON]}}", nil, at, map[string]string{"localhost:8080": "HTTP+JSON http://localhost:8080"}, ""},
		"flags before the file": {"{displayName: Echo, protocol: {bindings: [HTTPJSON]}}", []string{"--binding", "JSONRPC"}, at, map[string]string{
			"localhost:8080": "JSONRPC http://localhost:8080/",
		}, ""},
		"interfaces of the file": {
			"{displayName: Echo, interfaces: [{url: 'https://c.example/x', binding: JSONRPC, protocolVersion: '1.0'}]}", nil, at,
			map[string]string{"localhost:8080": "JSONRPC https://c.example/x", "other": "JSONRPC https://c.example/x"},
			"",
		},
		"interfaces and a base": {
			"{displayName: Echo, interfaces: [{url: 'https://c.example/x', binding: JSONRPC, protocolVersion: '1.0'}]}",
			[]string{"--base-url", "https://a.example"},
			at,
			nil, "interfaces are listed, which --base-url, --binding and protocol.bindings cannot change: remove either",
		},
		"an unknown binding": {"{displayName: Echo, protocol: {bindings: [HTTP+JSON]}}", nil, at, nil, `protocol.bindings[0] is "HTTP+JSON", must be JSONRPC, HTTPJSON or GRPC`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := parse(t, append(test.flags, "--card", write(test.file), "--backend-url", "http://127.0.0.1:9000", "--anonymous")...)
			if err := o.Validate(); err != nil {
				t.Fatal(err)
			}
			l, err := o.Load(nil, test.address)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("Load() error = %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			h := &wellknown.Handler{}
			if err := h.Swap(wellknown.Content{Card: &l.Card, Bases: l.Bases}); err != nil {
				t.Fatal(err)
			}
			for host, want := range test.want {
				r := httptest.NewRequest(http.MethodGet, wellknown.Path, nil)
				r.Host = host
				text, err := h.Public(r, card.FormV10)
				if err != nil {
					t.Fatal(err)
				}
				read, err := card.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, i := range read.Interfaces {
					if i.ProtocolVersion == "1.0" {
						got = append(got, string(i.Binding)+" "+i.URL)
					}
				}
				if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
					t.Errorf("at %s (-want +got):\n%s", host, diff)
				}
			}
		})
	}
}

func TestBase(t *testing.T) {
	tests := map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080",
		"0.0.0.0:80":     "http://127.0.0.1:80",
		"[::]:8641":      "http://127.0.0.1:8641",
		"[::1]:8641":     "http://[::1]:8641",
	}
	for address, want := range tests {
		tcp, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&Options{}).OwnBase(tcp); got != want {
			t.Errorf("OwnBase(%s) = %s, want %s", address, got, want)
		}
	}
}
