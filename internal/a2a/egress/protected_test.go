// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// inPod returns the protected targets of a pod with an IPv4 and an IPv6 address.
func inPod(t *testing.T) *Protected {
	t.Helper()
	p, err := InPod("10.96.0.1", "10.0.0.5,fd00:a::5")
	if err != nil {
		t.Fatal(err)
	}
	p.Interfaces = func() ([]net.Addr, error) {
		return []net.Addr{
			&net.IPNet{IP: net.ParseIP("10.1.0.7"), Mask: net.CIDRMask(24, 32)},
			&net.IPNet{IP: net.ParseIP("fd00:b::7"), Mask: net.CIDRMask(64, 128)},
		}, nil
	}
	p.Gateways = func() ([]netip.Addr, error) { return addresses("10.1.0.1", "fd00:b::1"), nil }
	return p
}

// No policy allows the pod, the node and the API server, neither when a client names the target
// nor when the name resolves to it later.
func TestWire17_SSRFPodNodeAndAPIServer(t *testing.T) {
	everything := &Policy{
		Hosts: []string{"*"}, Namespaces: []string{"default", "team"}, Services: []Service{{Name: "kubernetes", Namespace: "default"}},
		CIDRs: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")},
	}
	protected := []string{
		"10.1.0.7", "fd00:b::7", "10.1.0.1", "fd00:b::1", "64:ff9b::a01:1", "10.0.0.5", "fd00:a::5", "10.96.0.1",
		"64:ff9b::a01:7", "64:ff9b::a00:5", "2002:a60:1::1", "::ffff:10.0.0.5", "::10.0.0.5",
	}
	resolver := fakeResolver{}
	w := newFakeInternet(t, everything, resolver, nil)
	w.options.Protected = inPod(t)
	refused := func(url string, atRegistration bool) {
		t.Helper()
		if err := w.Check("url", url); atRegistration && err == nil {
			t.Errorf("Check(%s) has no error", url)
		}
		if _, err := w.get(t, url); !isDenied(err) {
			t.Errorf("request to %s error = %v, want ErrDenied", url, err)
		}
	}
	for _, address := range protected {
		literal := netip.MustParseAddr(address)
		for _, scheme := range []string{"http", "https"} {
			refused(scheme+"://"+net.JoinHostPort(address, "10250")+"/", true)
			for _, name := range []string{"hook.example.com", "hook.team.svc"} {
				resolver["hook.example.com."] = []netip.Addr{literal}
				resolver["hook.team.svc.cluster.local."] = append(addresses("10.1.0.8"), literal)
				refused(scheme+"://"+name+"/", false)
			}
		}
	}
	for _, name := range []string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "KUBERNETES.Default.svc.",
		"kubernetes.default.svc.cluster.local", "kubernetes.default.svc.cluster.local.",
	} {
		for _, n := range []string{"kubernetes", "kubernetes.default.", "kubernetes.default.svc.cluster.local."} {
			resolver[n] = addresses("10.1.0.8")
		}
		refused("https://"+name+"/api", true)
	}
	w.rewrite = func(string) string { return "10.0.0.5:10250" }
	refused("http://10.1.0.8/", false)
	if got := w.connections.Load(); got != 0 {
		t.Errorf("%d connections arrived, want 0", got)
	}
	w.rewrite = func(address string) string { return address }
	for _, url := range []string{"http://10.1.0.8/", "http://[fd00:b::8]/", "http://hook.default.svc/"} {
		resolver["hook.default.svc.cluster.local."] = addresses("10.96.0.2")
		if status, err := w.get(t, url); status != 200 {
			t.Errorf("request to %s: status = %d, error = %v", url, status, err)
		}
	}
}

// A configured host may be on the node, because only the author of the Agent chooses it. It is
// neither the pod nor the API server.
func TestConfiguredHostMayBeOnTheNode(t *testing.T) {
	for address, allowed := range map[string]bool{"10.0.0.5": true, "10.1.0.1": true, "10.1.0.7": false, "10.96.0.1": false} {
		w := newFakeInternet(t, &Policy{Configured: []string{"model.example.com", "kubernetes.default.svc"}},
			fakeResolver{"model.example.com.": addresses(address), "kubernetes.default.svc.cluster.local.": addresses("10.0.0.5")}, nil)
		w.options.Protected = inPod(t)
		if _, err := w.get(t, "http://model.example.com/"); (err == nil) != allowed || err != nil && !isDenied(err) {
			t.Errorf("%s: error = %v, want allowed %t", address, err, allowed)
		}
		if _, err := w.get(t, "http://kubernetes.default.svc/"); !isDenied(err) {
			t.Errorf("API server: error = %v, want ErrDenied", err)
		}
	}
}

// If the interfaces or the routes cannot be read, no target is allowed.
func TestUnreadableInterfacesAndRoutesAllowNothing(t *testing.T) {
	for _, protected := range []*Protected{
		{Interfaces: func() ([]net.Addr, error) { return nil, errors.New("no netlink") }},
		{Gateways: func() ([]netip.Addr, error) { return nil, errors.New("no routes") }},
	} {
		w := newFakeInternet(t, &Policy{CIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, fakeResolver{}, nil)
		w.options.Protected = protected
		if _, err := w.get(t, "http://10.1.0.8/"); !isDenied(err) {
			t.Errorf("error = %v, want ErrDenied", err)
		}
	}
}

func TestInPod(t *testing.T) {
	if p, err := InPod("", "10.0.0.5"); p != nil || err != nil {
		t.Errorf("outside of a pod: %v, %v, want nil", p, err)
	}
	p, err := InPod("Api.Cluster.example.com", "")
	if err != nil || !p.isAPIServer("api.cluster.example.com") || p.isAPIServer("example.com") {
		t.Errorf("API server with a name: %+v, %v", p, err)
	}
	if _, err := InPod("10.96.0.1", "10.0.0.5,nonsense"); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("error = %v, want one that names the value", err)
	}
}

// A Service may have any address, but calls of the page reach neither this pod nor what only the pods of the node may reach.
func TestOnlyServices(t *testing.T) {
	p := inPod(t)
	for address, allowed := range map[string]bool{
		"10.96.0.2:80": true, "10.1.0.8:80": true, "[fd00:b::8]:80": true, "192.0.2.1:443": true,
		"127.0.0.1:80": false, "[::1]:80": false, "169.254.169.254:80": false, "10.1.0.7:80": false, "10.0.0.5:80": false, "10.96.0.1:443": false,
		"[::ffff:127.0.0.1]:80": false, "0.0.0.0:80": false, "x": false,
	} {
		if err := p.OnlyServices("tcp", address, nil); (err == nil) != allowed || err != nil && !isDenied(err) {
			t.Errorf("%s: error = %v, want allowed %t", address, err, allowed)
		}
	}
	var none *Protected
	if err := none.OnlyServices("tcp", "127.0.0.1:80", nil); !isDenied(err) {
		t.Errorf("outside of a pod: error = %v, want ErrDenied", err)
	}
}
