// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"fmt"
	"net"
)

// Addresses are the addresses at which a sidecar listens. For "", it does not listen.
type Addresses struct {
	Agent, Health, Gateway string
}

// Listeners are the open sockets of a sidecar. A nil listener is off.
type Listeners struct {
	Agent, Health, Gateway net.Listener
}

// Listen opens all sockets. If one fails, it closes the others, and the error names the
// flag of the address.
func Listen(ctx context.Context, a Addresses) (l *Listeners, err error) {
	l = &Listeners{}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	var config net.ListenConfig
	for _, each := range []struct {
		to            *net.Listener
		flag, address string
	}{
		{&l.Agent, "--listen", a.Agent}, {&l.Health, "--health-listen", a.Health}, {&l.Gateway, "--gateway-listen", a.Gateway},
	} {
		if each.address == "" {
			continue
		}
		if *each.to, err = config.Listen(ctx, "tcp", each.address); err != nil {
			return l, fmt.Errorf("listen at %s (%s): %w", each.address, each.flag, err)
		}
	}
	return l, nil
}

// Close closes the sockets.
func (l *Listeners) Close() {
	for _, each := range []net.Listener{l.Agent, l.Health, l.Gateway} {
		if each != nil {
			_ = each.Close()
		}
	}
}

// Addresses returns the addresses of the sockets.
func (l *Listeners) Addresses() Addresses {
	of := func(l net.Listener) string {
		if l == nil {
			return ""
		}
		return l.Addr().String()
	}
	return Addresses{Agent: of(l.Agent), Health: of(l.Health), Gateway: of(l.Gateway)}
}
