// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// accountToken returns a token of a ServiceAccount of the tenant, which has no rights.
func (h *hostile) accountToken(t *testing.T, name string, audiences ...string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: name}}
	if err := h.Create(t.Context(), account); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
	if err := h.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// watch opens a watch of the registry from a source address. It returns the connection after the status line of the response, and
// the error of a response with another status than 200.
func watch(ctx context.Context, l *listener, from int, token string) (net.Conn, error) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(10+from))}}
	c, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", l.Port))
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(answerTimeout))
	var status string
	_, err = fmt.Fprintf(c, "GET /v1/agents?watch=true HTTP/1.1\r\nHost: registry\r\nAuthorization: Bearer %s\r\n\r\n", token)
	if err == nil {
		status, err = bufio.NewReader(c).ReadString('\n')
	}
	if err == nil && !strings.Contains(status, " 200 ") {
		err = fmt.Errorf("the watch gets %s", status)
	}
	if err != nil {
		_ = c.Close()
	}
	return c, err
}

// TestWatchesOfATenant opens as many watches as a tenant can with the tokens of its ServiceAccounts, from many addresses. The registry
// must still have connections for others.
func TestWatchesOfATenant(t *testing.T) {
	c := startCluster(t)
	manager := startManager(t, c, c.kubeconfig)
	registry := manager.listeners[2]
	bad := newHostile(t, c)
	tokens := make([]string, 24)
	for i := range tokens {
		tokens[i] = bad.accountToken(t, fmt.Sprintf("reader-%d", i), a2av1alpha1.Audience)
	}
	manager.withstands(t, "registry: watches of a tenant from 24 addresses", lasts, func(ctx context.Context) string {
		var opened, refused atomic.Int64
		var group sync.WaitGroup
		for i := range tokens {
			group.Go(func() {
				for ctx.Err() == nil {
					conn, err := watch(ctx, &registry, i, tokens[i])
					if err != nil {
						refused.Add(1)
						time.Sleep(pause)
						continue
					}
					opened.Add(1)
					defer func() { _ = conn.Close() }()
				}
			})
		}
		group.Wait()
		return fmt.Sprintf("%d watches, %d refused", opened.Load(), refused.Load())
	})
}
