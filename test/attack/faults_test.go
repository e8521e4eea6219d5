// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// everything is an assault with all attacks on a listener, in the numbers of the short form.
func everything(l listener, lasts time.Duration) assault {
	a := assault{Listener: l, From: everywhere, Lasts: lasts}
	for _, each := range attacks {
		if l.suffers(each, everywhere) {
			a.Attacks = append(a.Attacks, each.name)
		}
	}
	return a
}

// victim is a listener of a sidecar, with the source of the attack. isTLS is true if the A2A endpoint has a certificate.
type victim struct {
	name, from string
	isTLS      bool
	of         func(*sidecar) *listener
}

// victims are the A2A endpoint; in the long form all listeners, the endpoint also over IPv6 alone and over TLS.
func victims() []victim {
	agent := func(s *sidecar) *listener { return &s.agent }
	all := []victim{{name: "a2a", from: everywhere, of: agent}}
	if full {
		all = append(all,
			victim{name: "a2a", from: overIPv6, of: agent},
			victim{name: "a2a over TLS", from: everywhere, isTLS: true, of: agent},
			victim{name: "health", from: everywhere, of: func(s *sidecar) *listener { return &s.health }},
			victim{name: "gateway", from: everywhere, of: func(s *sidecar) *listener { return &s.gateway }})
	}
	return all
}

// String returns what is attacked, and from where.
func (v *victim) String() string { return fmt.Sprintf("%s from %s", v.name, v.from) }

// start starts the sidecar.
func (v *victim) start(t *testing.T, agent http.HandlerFunc, flags ...string) *sidecar {
	t.Helper()
	if v.isTLS {
		flags = append(flags, "--tls", certificate(t))
	}
	s := startSidecar(t, agent, nil, flags...)
	s.agent.TLS = v.isTLS
	return s
}

// attack attacks the listener until ctx ends.
func (v *victim) attack(ctx context.Context, s *sidecar, lasts time.Duration) string {
	a := everything(*v.of(s), lasts)
	a.From = v.from
	return a.run(ctx)
}

// TestAttackDuringADrain attacks a sidecar that drains. The running turn ends, and the sidecar ends in time.
func TestAttackDuringADrain(t *testing.T) {
	besideOthers(t)
	for _, v := range victims() {
		v.drain(t)
	}
}

func (v *victim) drain(t *testing.T) {
	t.Helper()
	begun := make(chan struct{})
	var once sync.Once
	s := v.start(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if strings.Contains(string(text), "slowly") {
			once.Do(func() { close(begun) })
			time.Sleep(2 * time.Second)
		}
		_, _ = io.WriteString(w, "Hi")
	})
	caller := s.subject(t, "sidecar").client
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	var attacked string
	group.Go(func() { attacked = v.attack(ctx, s, 2*lasts) })
	group.Go(func() {
		if status, answer := s.postBy(ctx, caller.http[1], fmt.Sprintf(message, "running", "slowly")); status != http.StatusOK {
			t.Errorf("the running turn ends with %d %s", status, answer)
		}
	})
	select {
	case <-begun:
	case <-time.After(time.Minute):
		t.Error("the turn does not begin")
	}
	took := s.Terminate(t, 15*time.Second)
	cancel()
	group.Wait()
	report(t, row{
		program: "sidecar", attack: fmt.Sprintf("all attacks on %s during a drain", v), attempts: attacked, kills: s.Kills(),
		verdict: fmt.Sprintf("ended %s after SIGTERM", brief(took)),
	})
	if s.Kills() > 0 {
		t.Errorf("killed: %s", s.Failure())
	}
}
