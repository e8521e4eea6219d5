// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"net/url"
	"strings"
	"testing"
)

// TestConfiguredHostsMayBePrivate checks that a host in the configuration may resolve to
// public and private addresses, and may be called over http. Link-local and metadata
// addresses stay forbidden.
func TestConfiguredHostsMayBePrivate(t *testing.T) {
	resolver := fakeResolver{
		"vllm.models":           addresses("10.0.0.7"),
		"vllm.models.svc.":      addresses("10.0.0.9"),
		"api.example.com.":      addresses("93.184.216.34"),
		"metadata.example.com.": addresses("169.254.169.254"),
		"half.example.com.":     addresses("93.184.216.34", "127.0.0.1"),
		"mapped.example.com.":   addresses("::ffff:169.254.169.254"),
		"here.example.com.":     addresses("127.0.0.1"),
		"other.example.com.":    addresses("93.184.216.34"),
	}
	const out, in, both = 1, 2, 3 // out: allowed in standalone mode; in: allowed in a pod
	for target, allowed := range map[string]int{
		"http://vllm.models:8000/v1":           both,
		"http://VLLM.models.:8000/v1":          both,
		"http://api.example.com/v1":            both,
		"http://10.1.2.3:8000/v1":              both,
		"http://[fd00::7]:8000/v1":             both,
		"http://[2606:4700::1111]/v1":          both,
		"http://metadata.example.com/v1":       0,
		"http://mapped.example.com/v1":         0,
		"http://169.254.169.254/v1":            0,
		"http://168.63.129.16/v1":              0,
		"http://[fe80::1]/v1":                  0,
		"http://0.0.0.0/v1":                    0,
		"http://[64:ff9b::a9fe:a9fe]/v1":       0,
		"http://here.example.com/v1":           out,
		"http://127.0.0.1/v1":                  out,
		"http://half.example.com/v1":           out,
		"http://[::1]/v1":                      out,
		"http://[64:ff9b::7f00:1]/v1":          0,
		"http://absent.example.com/v1":         0,
		"http://user@other.example.com/v1":     0,
		"http://other.example.com/v1#fragment": 0,
	} {
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		host, err := Host(u)
		if err != nil {
			t.Fatalf("Host(%q) = %v", target, err)
		}
		for bit, local := range map[int]bool{out: true, in: false} {
			w := newFakeInternet(t, &Policy{Configured: []string{host}, Local: local}, resolver, nil)
			status, err := w.get(t, target)
			if got, want := err == nil && status == 200, allowed&bit != 0; got != want || !want && w.connections.Load() != 0 {
				t.Errorf("%s, local %t: allowed %t, want %t (%v), %d connections", target, local, got, want, err, w.connections.Load())
			}
			// The policy does not allow a host that is not configured.
			if _, err := w.get(t, "http://other.example.com/"); host != "other.example.com" && !isDenied(err) {
				t.Errorf("%s allows another host: %v", target, err)
			}
		}
	}
	for _, bad := range []string{"http://0x7f000001/", "http://2130706433/", "http://127.1/", "http://a..b/", "http://[fe80::1%25eth0]/"} {
		u, err := url.Parse(bad)
		if err != nil {
			t.Fatal(err)
		}
		if host, err := Host(u); err == nil {
			t.Errorf("Host(%q) = %q", bad, host)
		}
	}
}

// The error of OffLink names the kinds of all addresses that it refuses. An error that names the
// allowed kinds would be false for 168.63.129.16, a metadata service at a public address.
func TestOffLinkNamesWhatItRefuses(t *testing.T) {
	for address, kind := range map[string]string{
		"169.254.1.1": "link-local", "[fe80::1]": "link-local", "168.63.129.16": "metadata", "100.100.100.200": "metadata", "224.0.0.1": "multicast",
		"[ff05::2]": "multicast", "255.255.255.255": "broadcast", "0.0.0.0": "unspecified", "[::]": "unspecified",
		"127.0.0.1": "", "[::1]": "", "10.0.0.7": "", "[fd00::7]": "", "93.184.216.34": "", "[2606:4700::1111]": "", "100.64.0.1": "",
	} {
		err := OffLink("tcp", address+":443", nil)
		if kind == "" && err != nil || kind != "" && (!errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), kind)) {
			t.Errorf("OffLink(%s) = %v, want an error that says %q, or none for \"\"", address, err, kind)
		}
	}
}
