// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// TestHealthChecksWithLargeBodies sends gRPC health checks of 10 MiB, without a credential, that do not end. The well-behaved client
// sends messages of more than 64 KiB.
func TestHealthChecksWithLargeBodies(t *testing.T) {
	besideOthers(t)
	s := startSidecar(t, echo, nil)
	s.agent.post(fmt.Sprintf(message, "", strings.Repeat("x", 100<<10)), "Authorization", "Bearer "+s.token(t, "client"))
	subject := s.subject(t, "sidecar")
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	subject.withstands(t, "gRPC health checks of 10 MiB", lasts, func(ctx context.Context) string {
		return crowd(ctx, 24, 100, func(ctx context.Context) string {
			transport := &http.Transport{Protocols: protocols}
			defer transport.CloseIdleConnections()
			const size = 10 << 20
			frame := append([]byte{0, size >> 24, size >> 16 & 255, size >> 8 & 255, size & 255}, make([]byte, size-64<<10)...)
			more, end := io.Pipe()
			defer func() { _ = end.Close() }()
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.agent.url("/grpc.health.v1.Health/Check"), io.MultiReader(bytes.NewReader(frame), more))
			if err != nil {
				return err.Error()
			}
			request.Header.Set("Content-Type", "application/grpc")
			response, err := transport.RoundTrip(request)
			if err != nil {
				return "refused"
			}
			_ = response.Body.Close()
			return response.Header.Get("Grpc-Status") + " " + response.Status
		})
	})
}

// TestBadTokensOfASharedAddress sends 200 bad tokens a second from the address of the well-behaved client, who uses new tokens (S8 of
// the issue).
func TestBadTokensOfASharedAddress(t *testing.T) {
	besideOthers(t)
	s := startSidecar(t, echo, nil)
	other := startSidecar(t, echo, nil) // its key signs the bad tokens
	s.agent.post(fmt.Sprintf(message, "", "Hello"))
	var n atomic.Int64
	s.agent.good[0].bearer = func() string { return s.token(t, fmt.Sprintf("client-%d", n.Add(1))) }
	s.subject(t, "sidecar").withstands(t, "200 bad tokens a second from the client's address", lasts, func(ctx context.Context) string {
		return crowd(ctx, 8, 200, func(ctx context.Context) string {
			status, _ := s.post(ctx, fmt.Sprintf(message, "", "Hello"), "Authorization", "Bearer "+other.token(t, "attacker"))
			return fmt.Sprint(status)
		})
	})
}

// TestForgedTokensAtTheRegistry sends forged and unknown tokens to the registry from the address of the well-behaved
// client, whose requests have a new token each.
func TestForgedTokensAtTheRegistry(t *testing.T) {
	c := startCluster(t)
	manager := startManager(t, c, c.kubeconfig)
	registry := manager.listeners[2]
	tokens := make([]string, 200)
	for i := range tokens {
		tokens[i] = c.token(t, a2av1alpha1.Audience)
	}
	var n atomic.Int64
	next := func() string { return tokens[int(n.Add(1))%len(tokens)] }
	for i := range manager.client.asks {
		if a := &manager.client.asks[i]; a.url == registry.url("/v1/agents") {
			a.header = [2]string{}
			a.bearer = next
		}
	}
	parts := strings.Split(tokens[0], ".")
	var sent atomic.Int64
	attacker := ask{method: http.MethodGet, url: registry.url("/v1/agents"), status: http.StatusUnauthorized}
	attacker.bearer = func() string {
		unknown := strings.Repeat(rand.Text(), 10)
		if sent.Add(1)%5 == 0 {
			return unknown
		}
		return parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString([]byte(unknown)[:256])
	}
	manager.withstands(t, "registry: 200 forged and 50 unknown tokens a second from the client's address", lasts, func(ctx context.Context) string {
		return crowd(ctx, 20, 250, func(ctx context.Context) string {
			if err := manager.client.send(ctx, attacker, manager.client.http[1]); err != nil {
				return "another status"
			}
			return "401"
		})
	})
}

// TestImagesOfACaller sends the addresses of images that a model server must not fetch.
func TestImagesOfACaller(t *testing.T) {
	var asked atomic.Int64
	var leaked sync.Map
	model := func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		asked.Add(1)
		for _, address := range forbidden(t) {
			if bytes.Contains(text, []byte(address)) {
				leaked.Store(address, true)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}`)
	}
	s := startSidecar(t, model, func(c *sidecarconfig.Config) {
		c.Backend.Protocol = sidecarconfig.ProtocolChatCompletions
		c.Backend.Model.Name = "m"
	})
	s.awaitReady(t)
	const part = `{"kind":"text","text":"look"},{"kind":"file","file":{"mimeType":"image/png","uri":%q}}`
	for _, address := range forbidden(t) {
		body := strings.Replace(fmt.Sprintf(message, rand.Text(), "MARK"), `{"kind":"text","text":"MARK"}`, fmt.Sprintf(part, address), 1)
		status, answer := s.post(t.Context(), body)
		t.Logf("%s: %d %.100s", address, status, answer)
	}
	s.post(t.Context(), fmt.Sprintf(message, rand.Text(), "Hello"))
	leaked.Range(func(address, _ any) bool {
		t.Errorf("the model server gets the address %v of a caller", address)
		return true
	})
	if asked.Load() == 0 {
		t.Error("the model server is never asked")
	}
}

// forbidden returns URLs that no caller may make the sidecar, or a server behind it, fetch.
func forbidden(t *testing.T) []string {
	t.Helper()
	all := []string{
		"http://169.254.169.254/latest/meta-data", "https://169.254.169.254/", "http://127.0.0.1:8643/registry", "https://127.0.0.1:10250/", "https://[::1]/",
		"https://kubernetes.default.svc/", "https://kubernetes.default.svc.cluster.local/",
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && !network.IP.IsLoopback() {
			all = append(all, "https://"+net.JoinHostPort(network.IP.String(), "10250")+"/")
		}
	}
	return all
}

// TestNumbersThatNoClientReads stores numbers beyond a double, and expects that the list of tasks is readable.
func TestNumbersThatNoClientReads(t *testing.T) {
	s := startSidecar(t, echo, nil)
	s.awaitReady(t)
	for _, number := range []string{"1e400", "-1e400", "1e999999999", strings.Repeat("9", 400)} {
		for _, part := range []string{`{"kind":"data","data":{"n":%s}}`, `{"kind":"text","text":"a","metadata":{"n":[%s]}}`} {
			body := strings.Replace(fmt.Sprintf(message, rand.Text(), "MARK"), `{"kind":"text","text":"MARK"}`, fmt.Sprintf(part, number), 1)
			if _, answer := s.post(t.Context(), body); !strings.Contains(answer, "-32602") && !strings.Contains(answer, "-32700") {
				t.Errorf("a message with %.20s is accepted: %.200s", number, answer)
			}
		}
	}
	status, list := s.post(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`, "A2A-Version", "1.0")
	var readable any
	if err := json.Unmarshal([]byte(list), &readable); err != nil || status != http.StatusOK {
		t.Errorf("the list of tasks: %d, %v: %.300s", status, err, list)
	}
}

// awaitReady waits until the sidecar is ready.
func (s *sidecar) awaitReady(t *testing.T) {
	t.Helper()
	s.health.get(sidecarconfig.ReadyzPath)
	subject := &subject{Program: s.Program, name: "sidecar", client: newRegular(t, s.health.good)}
	subject.awaitReady(t)
}
