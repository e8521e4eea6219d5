// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/operator"
)

// changeRemote changes the fields of a remote agent.
func changeRemote(t *testing.T, got *outcome) {
	far, allowed := serveRemote(t, remoteCard)
	b := newBench(t, "chaos-fields-elsewhere", func(b *bench) {
		b.user.remote = far
		b.settings = func(c *operator.Config) { c.RemoteAllow = allowed }
	})
	s := subject{
		kind: "agent", schema: specSchema(t, filepath.Join(root, "config", "crd", "bases", agentsCRD)),
		object: func(u *user) client.Object { return u.agent() },
	}
	remote := s.schema.Properties["remote"]
	var changes []change
	for _, m := range mutations(&remote, []any{"remote"}, func([]any) bool { return false }) {
		// Skip URLs of other hosts: in this test, the operator may connect to this machine only.
		if text, ok := m.value.(string); ok && strings.Contains(text, "example") && fmt.Sprint(m.path...) == "remoteurl" {
			continue
		}
		if object, ok := m.value.(map[string]any); ok && object["url"] != nil {
			continue
		}
		changes = append(changes, change{mutation: m, of: s})
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "far"}, StringData: map[string]string{"token": "t", "other": "o"}}
	if err := client.IgnoreAlreadyExists(cluster.Create(t.Context(), secret)); err != nil {
		t.Fatal(err)
	}
	// CEL rules bound these fields, and the generator cannot read CEL rules.
	for field, values := range map[string][]any{
		"url":             {far + "/", far + "/elsewhere", unreachableURL(far), "http://127.0.0.1:1", "ftp://127.0.0.1", "nonsense"},
		"cardPath":        {"/", "/a/path", "/%7e", "/none", "/%"},
		"refreshInterval": {"10s", "30s", "24h", "9s", "25h"},
		"credentials": {
			map[string]any{"secretRef": map[string]any{"name": "far"}},
			map[string]any{"secretRef": map[string]any{"name": "far", "key": "other"}, "header": "X-Key"},
			map[string]any{"secretRef": map[string]any{"name": "far", "key": "missing"}},
		},
	} {
		for _, value := range values {
			changes = append(changes, change{mutation: mutation{path: []any{"remote", field}, value: value}, of: s})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return strings.Compare(a.String(), b.String()) })
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	if !full {
		changes = changes[:sequence]
	}
	for group := range slices.Chunk(changes, sequence) {
		b.changes(group, got)
	}
}

// remoteCard serves the card of the remote agent at every path but one.
func remoteCard(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/none" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"name":"Far","description":"Far away.","version":"1","protocolVersion":"0.3.0","url":"http://%s/",
"capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
"skills":[{"id":"walk","name":"Walk","description":"Walks.","tags":["legs"]}]}`, r.Host)
}

// allowedRanges lists address ranges that an installation can allow without TLS: neither public nor
// loopback.
var allowedRanges = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("fd00::/8"),
}

// serveRemote starts a server at an address of this machine that an installation can allow, and
// returns its URL and the ranges that allow it.
func serveRemote(t *testing.T, handler http.HandlerFunc) (string, []netip.Prefix) {
	t.Helper()
	_ = os.Unsetenv("KUBERNETES_SERVICE_HOST") // in a pod, the address would be protected
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		within, err := netip.ParsePrefix(address.String())
		if err != nil || !slices.ContainsFunc(allowedRanges, func(p netip.Prefix) bool { return p.Contains(within.Addr()) }) {
			continue
		}
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(within.Addr().String(), "0"))
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(handler)
		_ = server.Listener.Close()
		server.Listener = listener
		server.Start()
		t.Cleanup(server.Close)
		return server.URL, []netip.Prefix{netip.PrefixFrom(within.Addr(), within.Addr().BitLen())}
	}
	t.Skip("this machine has no private address to serve at")
	return "", nil
}

// unreachableURL returns the URL of a port without a listener, at the host of another URL.
func unreachableURL(far string) string { return far[:strings.LastIndex(far, ":")] + ":1" }
