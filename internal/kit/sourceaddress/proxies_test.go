// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sourceaddress

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func proxies(tb testing.TB, texts ...string) (p Proxies) {
	tb.Helper()
	for _, text := range texts {
		prefix, err := ParseProxy(text)
		if err != nil {
			tb.Fatal(err)
		}
		p = append(p, prefix)
	}
	return p
}

const (
	proxy  = "10.8.0.1:4711"
	direct = "" // the address of the connection
)

// TestForwarded sends the headers of honest proxies, and those that an attacker sends through one.
func TestForwarded(t *testing.T) {
	trusted := proxies(t, "10.8.0.0/24", "fd08::1", "::ffff:10.9.0.0/120")
	for name, tt := range map[string]struct {
		peer    string
		headers []string
		want    string
	}{
		"one proxy":                     {proxy, []string{"X-Forwarded-For: 192.0.2.1"}, "192.0.2.1"},
		"with a port":                   {proxy, []string{"X-Forwarded-For: 192.0.2.1:80"}, "192.0.2.1"},
		"IPv6":                          {proxy, []string{"X-Forwarded-For: 2001:db8::1"}, "2001:db8::1"},
		"IPv6 with a port":              {proxy, []string{"X-Forwarded-For: [2001:db8::1]:80"}, "2001:db8::1"},
		"IPv6 in brackets":              {proxy, []string{"X-Forwarded-For: [2001:db8::1]"}, "2001:db8::1"},
		"IPv4-mapped client":            {proxy, []string{"X-Forwarded-For: ::ffff:192.0.2.1"}, "192.0.2.1"},
		"IPv4-mapped proxy":             {"[::ffff:10.8.0.1]:1", []string{"X-Forwarded-For: 192.0.2.1"}, "192.0.2.1"},
		"proxy of an IPv4-mapped range": {"10.9.0.3:1", []string{"X-Forwarded-For: 192.0.2.1"}, "192.0.2.1"},
		"IPv6 proxy":                    {"[fd08::1]:1", []string{"X-Forwarded-For: 192.0.2.1"}, "192.0.2.1"},
		"two trusted proxies":           {proxy, []string{"X-Forwarded-For: 192.0.2.1, 10.8.0.2"}, "192.0.2.1"},
		"two headers":                   {proxy, []string{"X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 10.8.0.2"}, "192.0.2.1"},
		"only trusted proxies":          {proxy, []string{"X-Forwarded-For: 10.8.0.3, 10.8.0.2"}, "10.8.0.3"},
		"Forwarded":                     {proxy, []string{`Forwarded: for=192.0.2.1;proto=https;by=10.8.0.1`}, "192.0.2.1"},
		"Forwarded, quoted":             {proxy, []string{`Forwarded: proto=https; FOR="[2001:db8::1]:4711"`}, "2001:db8::1"},
		"Forwarded, two proxies":        {proxy, []string{`Forwarded: for=192.0.2.1, for=10.8.0.2`}, "192.0.2.1"},
		"both headers agree":            {proxy, []string{`Forwarded: for="192.0.2.1:80"`, "X-Forwarded-For: 192.0.2.1"}, "192.0.2.1"},
		"no header":                     {proxy, nil, direct},

		"not from a proxy":            {"192.0.2.9:1", []string{"X-Forwarded-For: 192.0.2.1"}, direct},
		"not from a proxy, Forwarded": {"192.0.2.9:1", []string{"Forwarded: for=192.0.2.1"}, direct},
		"claims to be a proxy":        {"192.0.2.9:1", []string{"X-Forwarded-For: 192.0.2.1, 10.8.0.1"}, direct},
		"spoofed before the client":   {proxy, []string{"X-Forwarded-For: 198.51.100.7, 192.0.2.1"}, "192.0.2.1"},
		"spoofed by another header":   {proxy, []string{"X-Forwarded-For: 198.51.100.7", "X-Forwarded-For: 192.0.2.1"}, "192.0.2.1"},
		"spoofed as a proxy":          {proxy, []string{"X-Forwarded-For: 198.51.100.7, 10.8.0.9, 192.0.2.1"}, "192.0.2.1"},
		"the other header is spoofed": {proxy, []string{"Forwarded: for=198.51.100.7", "X-Forwarded-For: 192.0.2.1"}, direct},
		"the other header is garbage": {proxy, []string{"Forwarded: garbage", "X-Forwarded-For: 192.0.2.1"}, direct},
		"garbage before the client":   {proxy, []string{"X-Forwarded-For: \x01,,unknown, 192.0.2.1"}, "192.0.2.1"},
		"garbage":                     {proxy, []string{"X-Forwarded-For: 198.51.100.7, unknown"}, direct},
		"empty":                       {proxy, []string{"X-Forwarded-For: "}, direct},
		"ends with a comma":           {proxy, []string{"X-Forwarded-For: 198.51.100.7,"}, direct},
		"with a zone":                 {proxy, []string{"X-Forwarded-For: fe80::1%eth0"}, direct},
		"1,000 hops":                  {proxy, []string{"X-Forwarded-For: " + strings.Repeat("198.51.100.7,", 1000) + "192.0.2.1"}, "192.0.2.1"},
		"1,000 trusted hops":          {proxy, []string{"X-Forwarded-For: 198.51.100.7" + strings.Repeat(",10.8.0.2", 1000)}, direct},
		"1,000 headers":               {proxy, strings.Split(strings.Repeat("X-Forwarded-For: 10.8.0.2\n", 1000), "\n")[:1000], direct},
		"Forwarded: hidden":           {proxy, []string{"Forwarded: for=198.51.100.7, for=_hidden"}, direct},
		"Forwarded: two clients":      {proxy, []string{"Forwarded: for=198.51.100.7;for=192.0.2.1"}, direct},
		"Forwarded: no client":        {proxy, []string{"Forwarded: for=198.51.100.7, proto=https"}, direct},
		"Forwarded: open quote":       {proxy, []string{`Forwarded: host=", for=192.0.2.1`}, "192.0.2.1"},
		"Forwarded: in a quoted text": {proxy, []string{`Forwarded: for=192.0.2.1;host="x, for=198.51.100.7"`}, direct},
		"Forwarded: quoted semicolon": {proxy, []string{`Forwarded: for=192.0.2.1;host="x, for=198.51.100.7;y="`}, direct},
		"Forwarded: quote in a name":  {proxy, []string{`Forwarded: for=192.0.2.1;host="x, for=198.51.100.7;y"=z`}, direct},
		"Forwarded: escaped quote":    {proxy, []string{`Forwarded: for=192.0.2.1;host="x, for=198.51.100.7;y=\""`}, direct},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = tt.peer
		for _, header := range tt.headers {
			key, value, _ := strings.Cut(header, ": ")
			r.Header.Add(key, value)
		}
		want := tt.want
		if want == direct {
			want = tt.peer
		}
		got := ""
		trusted.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr })).ServeHTTP(nil, r)
		if got != want || r.RemoteAddr != tt.peer {
			t.Errorf("%s: address = %s, want %s", name, got, want)
		}
		Proxies(nil).Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr })).ServeHTTP(nil, r)
		if got != tt.peer {
			t.Errorf("%s, without trusted proxies: address = %s, want %s", name, got, tt.peer)
		}
	}
}

func TestParseProxyRefuses(t *testing.T) {
	for _, text := range []string{"", "gateway", "10.0.0.0/33", "0.0.0.0/0", "::/0", "::ffff:0.0.0.0/96", "fe80::1%eth0", "10.0.0.1:80"} {
		if p, err := ParseProxy(text); err == nil {
			t.Errorf("ParseProxy(%q) = %s, want an error", text, p)
		}
	}
}

// FuzzForwarded checks that no header makes an untrusted part of it count: what a proxy appends is the
// client.
func FuzzForwarded(f *testing.F) {
	for _, seed := range []string{"", "198.51.100.7", `for="`, `for=198.51.100.7;host="a, for=1.2.3.4`, `\",;=`} {
		f.Add(seed)
	}
	trusted := proxies(f, "10.8.0.0/24")
	f.Fuzz(func(t *testing.T, spoofed string) {
		for _, header := range []string{"X-Forwarded-For: 192.0.2.1", `Forwarded: for="192.0.2.1:80";host="a"`} {
			key, appended, _ := strings.Cut(header, ": ")
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.RemoteAddr = proxy
			r.Header[key] = []string{spoofed + ", " + appended}
			if client, ok := trusted.client(r); !ok || client != netip.MustParseAddr("192.0.2.1") {
				t.Errorf("%s of %q: %s, %t", key, spoofed, client, ok)
			}
		}
	})
}
