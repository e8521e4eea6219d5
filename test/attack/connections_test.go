// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// TestConnectionsToTheSidecar attacks each listener of a sidecar with each attack of the table.
func TestConnectionsToTheSidecar(t *testing.T) {
	attackListeners(t, func(t *testing.T) *subject {
		return startSidecar(t, echo, nil).subject(t, "sidecar")
	})
}

// TestConnectionsToTheSidecarOverTLS attacks a sidecar whose A2A endpoint has a certificate.
func TestConnectionsToTheSidecarOverTLS(t *testing.T) {
	attackListeners(t, func(t *testing.T) *subject {
		s := startSidecar(t, echo, nil, "--tls", certificate(t))
		s.agent.TLS = true
		subject := s.subject(t, "sidecar, TLS")
		subject.listeners = subject.listeners[:1] // the others have no certificate
		return subject
	})
}

// TestConnectionsToTheManager attacks each listener of a manager with each attack of the table.
func TestConnectionsToTheManager(t *testing.T) {
	c := startCluster(t)
	attackListeners(t, func(t *testing.T) *subject { return startManager(t, c, c.kubeconfig) })
}

// TestConnectionsToTheManagerOverTLS attacks a registry and a page with a certificate, and, with tokens of a tenant that has no rights, the
// registry and the metrics.
func TestConnectionsToTheManagerOverTLS(t *testing.T) {
	if !full {
		t.Skip("another manager; the same attacks over TLS are those on the metrics: ATTACK=full")
	}
	c := startCluster(t)
	bad := newHostile(t, c)
	attackListeners(t, func(t *testing.T) *subject {
		s := startManagerOverTLS(t, c, c.kubeconfig)
		for _, l := range []*listener{s.listener("registry"), s.listener("metrics")} {
			own := *l
			own.Path = strings.TrimPrefix(own.good[0].url, own.url(""))
			own.Name += " with a token"
			own.Bearer = bad.accountToken(t, "attacker", audiencesOf[l.Name]...)
			s.listeners = append(s.listeners, own)
		}
		s.listeners = slices.DeleteFunc(s.listeners, func(l listener) bool { return !l.TLS || l.Name == "metrics" })
		return s
	})
}

// audiencesOf are the audiences of tokens for a listener, nil for that of the API server.
var audiencesOf = map[string][]string{"registry": {a2av1alpha1.Audience}}

// attackListeners attacks each listener of a program. In the long form, one attack follows the other, from one address, many
// addresses, and over IPv6. In the short form, all attacks happen at once, on one half of the listeners and then on the other.
func attackListeners(t *testing.T, start func(*testing.T) *subject) {
	t.Helper()
	s := start(t)
	run := func(listeners []int, what string, of func(l listener) assault) {
		var names []string
		for _, i := range listeners {
			names = append(names, s.listeners[i].Name)
		}
		name := strings.Join(names, " and ")
		example := of(s.listeners[listeners[0]])
		t.Run(fmt.Sprintf("%s/%s/%s", name, what, example.From), func(test *testing.T) {
			if s.Failure() != "" {
				s = start(t) // an earlier attack has killed the program
			}
			asks := s.client.asks
			defer func() { s.client.asks = asks }()
			s.client.asks = slices.DeleteFunc(slices.Clone(asks), func(ask ask) bool {
				// The only address of IPv6 on loopback is that of the attacker, which has used up what one address may use.
				return (example.From == overIPv6 || example.From == everywhere) && slices.ContainsFunc(listeners, func(i int) bool {
					return strings.Contains(ask.url, "[::1]:"+s.listeners[i].Port)
				})
			})
			s.withstands(test, fmt.Sprintf("%s: %s, from %s", name, what, example.From), example.Lasts, func(ctx context.Context) string {
				seen := make([]string, len(listeners))
				var group sync.WaitGroup
				for n, i := range listeners {
					group.Go(func() { seen[n] = of(s.listeners[i]).run(ctx) })
				}
				group.Wait()
				return strings.Join(seen, "; ")
			})
			if full && s.Failure() == "" {
				s.awaitReady(test) // a listener that has refused connections says for 10 s that it is full
			}
		})
	}
	halves := map[int][]int{}
	for i := range s.listeners {
		if !full {
			halves[i%2] = append(halves[i%2], i)
			continue
		}
		for _, a := range attacks {
			for _, from := range sources {
				if from.name != everywhere && s.listeners[i].suffers(a, from.name) {
					until := lasts + time.Duration(a.many)*time.Second/connectsPerSecond
					run([]int{i}, a.name, func(l listener) assault {
						return assault{Listener: l, Attacks: []string{a.name}, From: from.name, Many: true, Lasts: until}
					})
				}
			}
		}
	}
	for half := range len(halves) {
		run(halves[half], "all attacks at once", func(l listener) assault { return everything(l, 2*lasts) })
	}
}

// certificate returns a directory with tls.crt and tls.key, a self-signed certificate of 127.0.0.1.
func certificate(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	pair := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "tls.key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
