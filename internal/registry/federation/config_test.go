// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseNamesTheFieldOfAMistake(t *testing.T) {
	const valid = "{name: west, url: 'https://west.example/ard', publisher: west.example, mode: Forward}"
	for name, test := range map[string]struct{ text, want string }{
		"unknown field":      {"peers: [{name: west, urll: x}]", `unknown field "urll"`},
		"repeated field":     {"peers: []\npeers: []", `key "peers" already set`},
		"no YAML":            {"peers: [", "must have the fields maxHops and peers"},
		"name":               {"peers: [" + strings.Replace(valid, "name: west", "name: West_1", 1) + "]", `peers[0].name is "West_1"`},
		"name with a digit":  {"peers: [" + strings.Replace(valid, "name: west", "name: 1west", 1) + "]", `peers[0].name is "1west"`},
		"mode":               {"peers: [" + strings.Replace(valid, "Forward", "forward", 1) + "]", `peers[0].mode is "forward", must be Referral or Forward`},
		"publisher":          {"peers: [" + strings.Replace(valid, "publisher: west.example", "publisher: ''", 1) + "]", `peers[0].publisher is ""`},
		"no URL":             {"peers: [" + strings.Replace(valid, "https://west.example/ard", "west", 1) + "]", `peers[0].url is "west"`},
		"user in the URL":    {"peers: [" + strings.Replace(valid, "https://west", "https://me:pw@west", 1) + "]", "peers[0].url is"},
		"http":               {"peers: [" + strings.Replace(valid, "https:", "http:", 1) + "]", "peers[0].url has the scheme http"},
		"metadata address":   {"peers: [" + strings.Replace(valid, "west.example/", "169.254.169.254/", 1) + "]", "peers[0].url names the address 169.254.169.254"},
		"number as address":  {"peers: [" + strings.Replace(valid, "west.example/", "2852039166/", 1) + "]", "peers[0].url must name a host"},
		"loopback address":   {"peers: [" + strings.Replace(valid, "https://west.example/", "https://127.0.0.1/", 1) + "]", ""},
		"insecure":           {"peers: [" + strings.Replace(strings.Replace(valid, "https:", "http:", 1), "mode:", "insecure: true, mode:", 1) + "]", ""},
		"CA bundle":          {"peers: [" + strings.Replace(valid, "mode:", "caBundle: x, mode:", 1) + "]", "peers[0].caBundle contains no PEM certificate"},
		"timeout":            {"peers: [" + strings.Replace(valid, "mode:", "timeout: 1m, mode:", 1) + "]", "peers[0].timeout is 1m0s, must be from 100ms to 10s"},
		"repeated name":      {"peers: [" + valid + "," + strings.Replace(valid, "publisher: west", "publisher: east", 1) + "]", "peers[1].name is also the name of peers[0]"},
		"repeated publisher": {"peers: [" + valid + "," + strings.Replace(valid, "name: west", "name: east", 1) + "]", "peers[1].publisher is also the publisher of peers[0]"},
		"hops":               {"maxHops: 3\npeers: []", "maxHops is 3, must be a number from 1 to 2"},
		"valid":              {"maxHops: 2\npeers: [" + valid + "]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse([]byte(test.text))
			if got := ""; (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				if err != nil {
					got = err.Error()
				}
				t.Errorf("parse() error = %q, want %q", got, test.want)
			}
		})
	}
}

func TestRouteBoundsHops(t *testing.T) {
	for name, test := range map[string]struct {
		via, hops string
		most      int
		want      int
		mistake   bool
	}{
		"a client":                          {"", "", 2, 2, false},
		"a client with fewer hops":          {"", "1", 2, 1, false},
		"a client with more hops":           {"", "2", 1, 1, false},
		"a registry":                        {"a.example", "1", 2, 1, false},
		"a registry without hops":           {"a.example", "", 2, 0, false},
		"a query that was here":             {"a.example, Self.Example", "2", 2, 0, false},
		"too many registries":               {"a.a, b.b, c.c, d.d", "2", 2, 0, true},
		"the most registries":               {"a.a, b.b, c.c", "2", 2, 0, false},
		"no domain":                         {"a b", "2", 2, 0, true},
		"no number":                         {"a.example", "x", 2, 0, true},
		"a number beyond the limit of hops": {"a.example", "3", 2, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			if test.via != "" {
				header.Set(ViaHeader, test.via)
			}
			if test.hops != "" {
				header.Set(HopsHeader, test.hops)
			}
			route, err := ParseRoute(header)
			if (err != nil) != test.mistake {
				t.Fatalf("ParseRoute() error = %v", err)
			}
			if got := route.hopsFrom("self.example", test.most); err == nil && got != test.want {
				t.Errorf("hops = %d, want %d", got, test.want)
			}
		})
	}
}

func TestCleanRemovesControls(t *testing.T) {
	got := clean("a\x1b[31mb\nc\u202ed\u0000é"+strings.Repeat("é", 10), 11)
	if diff := cmp.Diff("a[31mb cdé", got); diff != "" {
		t.Error(diff)
	}
}

// Private addresses in results are addresses of the peer's network, in which this registry is only if the URL of the
// peer has a private address, too.
func TestPrivateAddressesInResults(t *testing.T) {
	for url, allowed := range map[string]bool{
		"https://west.example/ard": false, "http://west.example/ard": false, "http://127.0.0.1:8080/ard": false, "https://93.184.216.34/ard": false,
		"https://10.1.0.2/ard": true, "https://[fd00:1::2]/ard": true,
	} {
		p := Peer{URL: url, Insecure: true}
		for _, address := range []string{"10.0.0.7", "192.168.1.1", "100.64.0.7", "fd00::7"} {
			if got := p.allowsResultAt(netip.MustParseAddr(address)); got != allowed {
				t.Errorf("%s of the peer %s: allowed %t, want %t", address, url, got, allowed)
			}
		}
		for address, allowed := range map[string]bool{"93.184.216.34": true, "127.0.0.1": true, "169.254.169.254": false, "100.100.100.200": false, "fd00:ec2::254": false} {
			if got := p.allowsResultAt(netip.MustParseAddr(address)); got != allowed {
				t.Errorf("%s of the peer %s: allowed %t, want %t", address, url, got, allowed)
			}
		}
	}
}
