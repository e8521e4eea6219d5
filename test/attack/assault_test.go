// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// assault is a number of attacks on a listener at once. It runs in a process of its own with a low priority, so that the attacker
// takes neither processors nor file descriptors from the well-behaved client and from the agent.
type assault struct {
	Listener listener
	// Attacks are the names of attacks.
	Attacks []string
	// From is the name of a source.
	From string
	// Many selects the numbers of connections of the long form.
	Many  bool
	Lasts time.Duration
}

// assaultVariable has the assault of a process, as JSON.
const assaultVariable = "ATTACK_ASSAULT"

// run runs the assault until its time is over or ctx ends, and returns a summary.
func (a assault) run(ctx context.Context) string {
	text, err := json.Marshal(a)
	if err != nil {
		return err.Error()
	}
	self, err := os.Executable()
	if err != nil {
		return err.Error()
	}
	attacker := exec.CommandContext(ctx, self)
	attacker.Env = append(os.Environ(), assaultVariable+"="+string(text))
	attacker.Cancel = func() error { return attacker.Process.Signal(syscall.SIGTERM) }
	attacker.WaitDelay = answerTimeout
	attacker.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := attacker.CombinedOutput()
	if err != nil && len(out) == 0 {
		return fmt.Sprintf("the attacker failed: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// beAttacker runs the assault of this process, and returns true, if the environment names one.
func beAttacker() bool {
	text := os.Getenv(assaultVariable)
	if text == "" {
		return false
	}
	var a assault
	if err := json.NewDecoder(bytes.NewReader([]byte(text))).Decode(&a); err != nil {
		panic(err)
	}
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 10)
	ctx, cancel := context.WithTimeout(context.Background(), a.Lasts)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	i := slices.IndexFunc(sources, func(s source) bool { return s.name == a.From })
	// A TLS handshake costs more than all other work for a connection.
	perSecond := 800
	if a.Many {
		perSecond = connectsPerSecond
	}
	if a.Listener.TLS {
		perSecond /= 4
	}
	pace := newPace(ctx, perSecond)
	var connects atomic.Int64
	var group sync.WaitGroup
	connections := 0
	number := func(each attack) int {
		if a.Many {
			return each.many
		}
		return each.few
	}
	// The attacks begin a connection each in turn, so that all of them have begun long before the time is over.
	for c, more := 0, true; more; c++ {
		more = false
		for _, each := range attacks {
			if c >= number(each) || !slices.Contains(a.Attacks, each.name) {
				continue
			}
			more = true
			connections++
			group.Go(func() {
				for pace.wait() {
					if each.once(ctx, &a.Listener, sources[i].of(c)) {
						connects.Add(1)
					}
				}
			})
		}
	}
	group.Wait()
	fmt.Printf("%d attackers, %d connections\n", connections, connects.Load())
	return true
}

// connectsPerSecond bounds the connects of an attacker in the long form. A flood writes at most 10,000 frames a second on a
// connection. The attacker shares the processors with the program and with the well-behaved client, so it must not use all of them.
const connectsPerSecond = 2000

// source returns the address of the attacker's connection i: one address, many addresses, or IPv6. Each of 127.0.0.0/8 is an address
// of this machine. The well-behaved client has 127.0.0.1.
type source struct {
	name string
	of   func(i int) netip.Addr
}

const overIPv6, everywhere = "IPv6", "all addresses"

var sources = []source{
	{"one address", oneAddress},
	{"many addresses", manyAddresses},
	{overIPv6, func(int) netip.Addr { return netip.IPv6Loopback() }},
	{everywhere, func(i int) netip.Addr {
		return [...]netip.Addr{manyAddresses(i), oneAddress(i), netip.IPv6Loopback()}[i%3]
	}},
}

func oneAddress(int) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 2}) }

func manyAddresses(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(1 + i>>14), byte(i >> 7 & 127), byte(1 + i&127)})
}

// pace lets a number of events happen in a second. It is closed when its context ends.
type pace <-chan struct{}

func newPace(ctx context.Context, perSecond int) pace {
	tokens := make(chan struct{})
	go func() {
		defer close(tokens)
		ticker := time.NewTicker(time.Second / time.Duration(perSecond))
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			select {
			case tokens <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return tokens
}

// wait returns false if the context has ended.
func (p pace) wait() bool {
	_, more := <-p
	return more
}
