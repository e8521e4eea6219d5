// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/kit/publicaddress"
)

// anywhere allows every name that resolves to public addresses. It also allows one
// private address, because otherwise the scheme http would be refused before the address
// is checked.
var anywhere = &Policy{Hosts: []string{"*"}, CIDRs: []netip.Prefix{netip.MustParsePrefix("10.255.255.254/32")}}

// spellings4 and spellings6 map names to functions that return a spelling of an address
// in a URL.
var spellings4 = map[string]func(a netip.Addr) string{
	"literal":      func(a netip.Addr) string { return a.String() },
	"decimal":      func(a netip.Addr) string { return fmt.Sprint(toNumber(a)) },
	"octal":        func(a netip.Addr) string { return fmt.Sprintf("0%o", toNumber(a)) },
	"hexadecimal":  func(a netip.Addr) string { return fmt.Sprintf("0x%X", toNumber(a)) },
	"short":        func(a netip.Addr) string { return fmt.Sprintf("%d.%d", toNumber(a)>>24, toNumber(a)&0xffffff) },
	"octal bytes":  func(a netip.Addr) string { b := a.As4(); return fmt.Sprintf("0%o.0%o.0%o.0%o", b[0], b[1], b[2], b[3]) },
	"mapped":       func(a netip.Addr) string { return "[::ffff:" + a.String() + "]" },
	"mapped, hex":  func(a netip.Addr) string { return fmt.Sprintf("[::ffff:%x:%x]", toNumber(a)>>16, toNumber(a)&0xffff) },
	"trailing dot": func(a netip.Addr) string { return a.String() + "." },
}

var spellings6 = map[string]func(a netip.Addr) string{
	"literal":    func(a netip.Addr) string { return "[" + a.String() + "]" },
	"expanded":   func(a netip.Addr) string { return "[" + a.StringExpanded() + "]" },
	"upper case": func(a netip.Addr) string { return "[" + strings.ToUpper(a.StringExpanded()) + "]" },
	"zone":       func(a netip.Addr) string { return "[" + a.String() + "%25eth0]" },
	"dotted end": func(a netip.Addr) string {
		b := a.As16()
		head := netip.AddrFrom16([16]byte(append(b[:12:12], 0, 0, 0, 1))).StringExpanded()
		return fmt.Sprintf("[%s%d.%d.%d.%d]", head[:30], b[12], b[13], b[14], b[15])
	},
}

// disguises map names to functions that return a URL which hides the given host.
var disguises = map[string]func(host string) string{
	"user":          func(host string) string { return "http://hooks.example.com@" + host + "/" },
	"password":      func(host string) string { return "http://hooks.example.com:443@" + host + "/" },
	"fragment":      func(host string) string { return "http://" + host + "/#@hooks.example.com/" },
	"backslash":     func(host string) string { return `http://hooks.example.com\@` + host + "/" },
	"port 0":        func(host string) string { return "http://" + host + ":0/" },
	"another case":  func(host string) string { return "hTTp://" + host + "/" },
	"other scheme":  func(host string) string { return "gopher://" + host + "/" },
	"escaped slash": func(host string) string { return "http://hooks.example.com%2f@" + host + "/" },
}

func toNumber(a netip.Addr) uint32 { b := a.As4(); return binary.BigEndian.Uint32(b[:]) }

// sample returns an address of a range, and not the first one if there are several.
func sample(p netip.Prefix) netip.Addr {
	if p.IsSingleIP() {
		return p.Addr()
	}
	return p.Addr().Next().Next().Next()
}

func TestWire17_SSRFRangesAndEncodings(t *testing.T) {
	ranges, tried := 0, 0
	resolver := fakeResolver{}
	w := newFakeInternet(t, anywhere, resolver, nil)
	attempt := func(t *testing.T, raw string) {
		t.Helper()
		tried++
		if err := w.Check("url", raw); err == nil && !strings.Contains(raw, "name") {
			t.Errorf("Check(%q) has no error", raw)
		}
		u, err := url.Parse(raw)
		if err != nil {
			return
		}
		if _, err := w.RoundTrip(&http.Request{Method: http.MethodPost, URL: u, Header: http.Header{}}); !isDenied(err) {
			t.Errorf("request to %q error = %v, want ErrDenied", raw, err)
		}
	}
	for _, p := range slices.Concat(publicaddress.Special, publicaddress.Metadata) {
		t.Run(p.String(), func(t *testing.T) {
			ranges++
			a := sample(p)
			routes := spellings6
			if a.Is4() {
				routes = spellings4
			}
			before := tried
			for _, write := range routes {
				attempt(t, "http://"+write(a)+"/hook")
				attempt(t, "https://"+write(a)+":8443/hook")
			}
			for _, disguise := range disguises {
				attempt(t, disguise(routes["literal"](a)))
			}
			// The name resolves to the address alone, then to the address after allowed ones, and
			// then to its IPv4-mapped form.
			resolver["name.example.com."] = []netip.Addr{a}
			attempt(t, "https://name.example.com/")
			resolver["name.example.com."] = append(addresses("1.1.1.1", "2606:4700::1111"), a)
			attempt(t, "https://name.example.com/")
			resolver["name.example.com."] = []netip.Addr{netip.AddrFrom16(a.As16())}
			attempt(t, "https://name.example.com./")
			if tried-before < 8 {
				t.Errorf("%d ways were tried, want at least 8", tried-before)
			}
		})
	}
	if ranges < 35 || tried < 35*8 {
		t.Errorf("%d ranges and %d ways were tried, want 35 and 280", ranges, tried)
	}
	if got := w.connections.Load(); got != 0 {
		t.Errorf("%d connections arrived, want 0", got)
	}
	t.Logf("%d ranges, %d ways, %d connections", ranges, tried, w.connections.Load())
}

// rebindingResolver resolves a name to different addresses at each lookup.
type rebindingResolver struct {
	lookups atomic.Int64
	answers [][]netip.Addr
}

func (f *rebindingResolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	n := f.lookups.Add(1) - 1
	return f.answers[int(n)%len(f.answers)], nil
}

func TestWire17_SSRFRebinding(t *testing.T) {
	private := &Policy{CIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	f := &rebindingResolver{answers: [][]netip.Addr{addresses("10.1.0.1"), addresses("10.2.0.1"), addresses("169.254.169.254")}}
	w := newFakeInternet(t, private, f, func(rw http.ResponseWriter, _ *http.Request) { rw.Header().Set("Connection", "close") })
	if status, err := w.get(t, "http://name.example.com/"); status != http.StatusOK {
		t.Fatalf("allowed address: status = %d, error = %v", status, err)
	}
	if f.lookups.Load() != 1 {
		t.Errorf("name was resolved %d times for one connection, want 1", f.lookups.Load())
	}
	for range 2 {
		if _, err := w.get(t, "http://name.example.com/"); !isDenied(err) {
			t.Errorf("rebound name: error = %v, want ErrDenied", err)
		}
	}
	if got := w.connections.Load(); got != 1 {
		t.Errorf("%d connections arrived, want 1", got)
	}
}

func TestWire17_SSRFFinalAddress(t *testing.T) {
	w := newFakeInternet(t, &Policy{CIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}, fakeResolver{}, nil)
	w.rewrite = func(string) string { return "127.0.0.1:80" }
	if _, err := w.get(t, "http://10.1.0.1/"); !isDenied(err) {
		t.Errorf("error = %v, want ErrDenied", err)
	}
	if w.dials.Load() != 1 || w.connections.Load() != 0 {
		t.Errorf("dialled %d, connections %d, want 1 and 0", w.dials.Load(), w.connections.Load())
	}
}

func TestWire17_SSRFRedirects(t *testing.T) {
	w := newFakeInternet(t, &Policy{CIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}, fakeResolver{},
		func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "http://169.254.169.254/latest/meta-data", http.StatusTemporaryRedirect)
		})
	status, err := w.get(t, "http://10.1.0.1/")
	if status != http.StatusTemporaryRedirect || err != nil {
		t.Errorf("status = %d, error = %v, want the redirect itself", status, err)
	}
	if w.dials.Load() != 1 {
		t.Errorf("%d addresses were dialled, want 1", w.dials.Load())
	}
}

func TestWire17_SSRFNoProxyFromTheEnvironment(t *testing.T) {
	w := newFakeInternet(t, &Policy{CIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}, fakeResolver{}, nil)
	if w.transport(nil, true).Proxy != nil || w.transport(nil, false).Proxy != nil {
		t.Error("a transport uses a proxy")
	}
	if v := w.tlsConfig("x").MinVersion; v < 0x0303 {
		t.Errorf("least TLS version = %x, want 1.2", v)
	}
}

func TestWire17_SSRFRealSocket(t *testing.T) {
	// This guard has the dialer of the product. The name resolves to the server on loopback.
	w := newFakeInternet(t, nil, fakeResolver{}, nil)
	port := strings.TrimPrefix(w.server.URL, "http://127.0.0.1")
	for name, policy := range map[string]*Policy{
		"nothing allowed": nil,
		"all public":      {Hosts: []string{"*"}},
		"all of IPv4":     {CIDRs: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}},
		"loopback":        {CIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
		"a Service":       {Services: []Service{{Name: "name", Namespace: "team"}}},
	} {
		g := New(Options{Policy: policy, Resolver: fakeResolver{
			"name.team.svc.cluster.local.": addresses("127.0.0.1"), "name.example.com.": addresses("127.0.0.1"),
		}})
		for _, host := range []string{"127.0.0.1", "name.team.svc", "name.example.com", "localhost"} {
			u, _ := url.Parse("http://" + host + port + "/")
			if _, err := g.RoundTrip(&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}); !isDenied(err) && !isNotFound(err) {
				t.Errorf("%s: %s error = %v, want ErrDenied", name, u, err)
			}
		}
	}
	if got := w.connections.Load(); got != 0 {
		t.Errorf("%d connections arrived, want 0", got)
	}
	g := New(Options{Policy: &Policy{Local: true, CIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	defer g.CloseIdleConnections()
	u, _ := url.Parse(w.server.URL)
	response, err := g.RoundTrip(&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}})
	if err != nil {
		t.Fatalf("local policy: %v", err)
	}
	_ = response.Body.Close()
}

func isNotFound(err error) bool { return err != nil && strings.Contains(err.Error(), "no such host") }

func TestCheckOfURLs(t *testing.T) {
	g := New(Options{Policy: &Policy{
		Services: []Service{{Name: "hooks", Namespace: "team"}}, Namespaces: []string{"shared"},
		Hosts:         []string{"hooks.example.com", "*.example.org"},
		CIDRs:         []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("64:ff9b::/96")},
		ClusterDomain: "corp.example",
	}})
	const must = "must lead to a target that this agent is allowed to call"
	for raw, want := range map[string]string{
		"https://hooks.example.com/x?y=z":              "",
		"https://HOOKS.example.com.:8443/":             "",
		"https://a.b.example.org/":                     "",
		"http://hooks.team.svc/":                       "",
		"http://hooks.team.svc.corp.example:8080/":     "",
		"https://any.shared.svc/":                      "",
		"https://10.1.2.3/":                            "",
		"http://10.1.2.3:8080/":                        "",
		"https://[64:ff9b::8.8.8.8]/":                  "",
		"":                                             "is required",
		"https://[64:ff9b::a9fe:a9fe]/":                must,
		"https://10.2.0.1/":                            must,
		"hooks.example.com":                            "must be an absolute URL with the scheme https, or http for an allowed Service or private address",
		"ftp://hooks.example.com/":                     "must be an absolute URL with the scheme https, or http for an allowed Service or private address",
		"https:hooks.example.com":                      "must be an absolute URL with the scheme https, or http for an allowed Service or private address",
		"https://u@hooks.example.com/":                 "must not contain a user name or password",
		"https://@hooks.example.com/":                  "must not contain a user name or password",
		"https://hooks.example.com/#x":                 "must not contain a fragment",
		"https://hooks.example.com:99999/":             "must name a port between 1 and 65535",
		"https://hooks.example.com:port/":              "must be a URL",
		"https://h\u00f6oks.example.com/":              "must name a host by its DNS name or by a plain IP address",
		"https://hooks..example.com/":                  "must name a host by its DNS name or by a plain IP address",
		"https://hooks.example.com/\n":                 "must be a URL",
		"https://hooks.example.com/" + repeatX(maxURL): "must have at most 2048 bytes",
		"http://other.team.svc.corp.example/":          "",
		"https://" + strings.Repeat("a", 64) + ".com":  "must name a host by its DNS name or by a plain IP address",
	} {
		err := g.Check("config.url", raw)
		if want == "" {
			if err != nil {
				t.Errorf("Check(%.60q) error = %v", raw, err)
			}
			continue
		}
		problem, ok := errors.AsType[*a2a.Error](err)
		if !ok || problem.Reason != a2a.ReasonInvalidParams || problem.Field != "config.url" || problem.Message != want {
			t.Errorf("Check(%.60q) error = %v, want config.url: %s", raw, err, want)
		}
	}
}

func repeatX(n int) string { return strings.Repeat("x", n) }

// TestNameIsAllowedByItsAddressInCIDRs checks that the resolved address decides whether the
// guard calls a name, if the policy has CIDRs.
func TestNameIsAllowedByItsAddressInCIDRs(t *testing.T) {
	w := newFakeInternet(t, &Policy{
		CIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("8.8.8.0/24")},
		Hosts: []string{"public.example.com"},
	}, fakeResolver{
		"inside.example.com.": addresses("10.1.0.1"), "outside.example.com.": addresses("10.2.0.1"),
		"public.example.com.": addresses("1.1.1.1"), "plain.example.com.": addresses("8.8.8.8"),
	}, nil)
	for url, want := range map[string]bool{
		"http://inside.example.com/": true, "http://outside.example.com/": false,
		"http://public.example.com/": false, "http://plain.example.com/": false,
	} {
		status, err := w.get(t, url)
		if got := status == http.StatusOK; got != want || !want && !isDenied(err) {
			t.Errorf("%s: status = %d, error = %v, allowed %t", url, status, err, want)
		}
	}
}

func TestSwapDeniesFormerTargets(t *testing.T) {
	w := newFakeInternet(t, &Policy{CIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}, fakeResolver{}, nil)
	if status, err := w.get(t, "http://10.1.0.1/"); status != http.StatusOK {
		t.Fatalf("status = %d, error = %v", status, err)
	}
	w.Swap(nil)
	if _, err := w.get(t, "http://10.1.0.1/"); !isDenied(err) {
		t.Errorf("after the policy is gone: error = %v, want ErrDenied", err)
	}
}

// TestSwapDropsConnectionsOfTheFormerPolicy checks that the guard does not reuse a
// connection of the former policy, even if the new policy allows the URL.
func TestSwapDropsConnectionsOfTheFormerPolicy(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	w := newFakeInternet(t, &Policy{CIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
		fakeResolver{"name.example.com.": addresses("10.1.0.1")},
		func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				close(entered)
				<-leave
			}
		})
	done := make(chan error)
	go func() {
		_, err := w.get(t, "http://name.example.com/slow")
		done <- err
	}()
	<-entered
	w.Swap(&Policy{CIDRs: []netip.Prefix{netip.MustParsePrefix("10.2.0.0/16")}})
	// An http.Transport keeps idle connections again once it has a new request. If the
	// policies shared a transport, it would now keep the connection of the slow request.
	if _, err := w.get(t, "http://10.2.0.1/"); err != nil {
		t.Fatal(err)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, err := w.get(t, "http://name.example.com/"); !isDenied(err) {
		t.Errorf("error = %v, want ErrDenied", err)
	}
}

func FuzzCheck(f *testing.F) {
	g := New(Options{Policy: &Policy{Hosts: []string{"hooks.example.com"}}})
	for _, seed := range []string{"https://hooks.example.com/", "https://1.2.3.4/", "https://a@b/", "http://[::1]/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if g.Check("url", raw) != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "https" || !strings.EqualFold(strings.TrimSuffix(u.Hostname(), "."), "hooks.example.com") || u.User != nil {
			t.Errorf("Check(%q) allows another host", raw)
		}
	})
}
