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

// TestAttackDuringADrain attacks a sidecar that drains. The running turn ends, and the sidecar ends in time. The long form attacks each
// listener, also over IPv6 alone.
func TestAttackDuringADrain(t *testing.T) {
	besideOthers(t)
	drain(t, everywhere, func(s *sidecar) listener { return s.agent })
	if full {
		drain(t, overIPv6, func(s *sidecar) listener { return s.agent })
		drain(t, everywhere, func(s *sidecar) listener { return s.health })
		drain(t, everywhere, func(s *sidecar) listener { return s.gateway })
	}
}

func drain(t *testing.T, from string, of func(*sidecar) listener) {
	t.Helper()
	begun := make(chan struct{})
	var once sync.Once
	s := startSidecar(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if strings.Contains(string(text), "slowly") {
			once.Do(func() { close(begun) })
			time.Sleep(2 * time.Second)
		}
		_, _ = io.WriteString(w, "Hi")
	}, nil)
	s.subject(t, "sidecar")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	var attacked string
	victim := of(s)
	group.Go(func() {
		a := everything(victim, 2*lasts)
		a.From = from
		attacked = a.run(ctx)
	})
	group.Go(func() {
		if status, answer := s.post(ctx, fmt.Sprintf(message, "running", "slowly")); status != http.StatusOK {
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
		program: "sidecar", attack: fmt.Sprintf("all attacks on %s from %s during a drain", victim.Name, from), attempts: attacked, kills: s.Kills(),
		verdict: fmt.Sprintf("ended %s after SIGTERM", brief(took)),
	})
	if s.Kills() > 0 {
		t.Errorf("killed: %s", s.Failure())
	}
}
