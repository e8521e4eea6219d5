// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/serverconn"
	"github.com/a2a-operator/a2a-operator/internal/kit/httpserver"
)

// ServerOptions configure the servers of a sidecar.
type ServerOptions struct {
	// Agent, Health and Gateway are the handlers for the listeners of the same name.
	Agent, Health, Gateway http.Handler
	// TLS configures the A2A endpoint. If it is nil, the endpoint is served without TLS.
	TLS *serverconn.TLS
	// Flooded is called for each HTTP/2 connection that is closed because of a flood of
	// frames.
	Flooded func()
	Parking *serverconn.Parking
	// Memory is how many bytes the connections of all listeners may use. 0 means
	// httpserver.Memory.
	Memory int64
	Log    *slog.Logger
}

// Servers are the HTTP servers of a sidecar.
type Servers struct {
	all     []*httpserver.Server
	parking *serverconn.Parking
	// cutOff ends the contexts of all requests with a cause.
	cutOff context.CancelCauseFunc
}

// The names of the listeners in metrics and in the readiness check.
const (
	listenerAgent   = "a2a"
	listenerHealth  = "health"
	listenerGateway = "gateway"
)

// Start serves the listeners on goroutines of the group until Stop is called.
func Start(group *errgroup.Group, l *Listeners, o ServerOptions) *Servers {
	if o.Memory == 0 {
		o.Memory = httpserver.Memory()
	}
	s := &Servers{parking: o.Parking}
	var requests context.Context
	requests, s.cutOff = context.WithCancelCause(context.Background())
	serve := func(options httpserver.Options, inner net.Listener, more ...net.Listener) {
		options.Flooded = o.Flooded
		added := httpserver.New(options)
		added.ErrorLog = slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug)
		added.BaseContext = func(net.Listener) context.Context { return requests }
		s.all = append(s.all, added)
		for _, listener := range append(more, added.Listener(inner)) {
			group.Go(func() error {
				if err := added.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
					return fmt.Errorf("serve %s: %w", listener.Addr(), err)
				}
				return nil
			})
		}
	}
	agent := httpserver.Options{
		Name: listenerAgent, Handler: o.Agent, Memory: o.Memory * 5 / 8, HTTP2: true, WriteTimeout: WriteTimeout,
	}
	if o.TLS != nil {
		agent.TLS = o.TLS.Config()
	}
	serve(agent, l.Agent, o.Parking)
	if l.Health != nil {
		serve(httpserver.Options{Name: listenerHealth, Handler: o.Health, Memory: o.Memory / 8, Probes: true}, l.Health)
	}
	if l.Gateway != nil {
		serve(httpserver.Options{Name: listenerGateway, Handler: o.Gateway, Memory: o.Memory / 4, HTTP2: true}, l.Gateway)
	}
	return s
}

// Ready returns an error if the listener of the A2A endpoint is full.
func (s *Servers) Ready() error { return s.all[0].Ready(nil) }

// Stop shuts the servers down. Running requests may finish until ctx ends. Then their
// contexts end with the cause a2a.ErrDraining, and their connections are closed.
func (s *Servers) Stop(ctx context.Context) {
	for _, each := range s.all {
		if each.Shutdown(ctx) != nil {
			s.cutOff(a2a.ErrDraining) // before Close, which would end the contexts without this cause
			_ = each.Close()
		}
	}
	timed, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() { cancel(a2a.ErrDraining) })()
	s.parking.Stop(timed)
}

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
		if *each.to, err = config.Listen(ctx, networkOf(each.address), each.address); err != nil {
			return l, fmt.Errorf("listen at %s (%s): %w", each.address, each.flag, err)
		}
	}
	return l, nil
}

// networkOf returns the network at which to listen. Go listens at all addresses of both families for
// 0.0.0.0, too, so an IPv4 address needs tcp4.
func networkOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if ip, parseErr := netip.ParseAddr(host); err == nil && parseErr == nil && ip.Is4() {
		return "tcp4"
	}
	return "tcp"
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

// WriteTimeout bounds the time of each write of a stream or of a response to a long call.
// It bounds the whole response of all other requests to the A2A endpoint and the health
// port.
const WriteTimeout = httpserver.WriteTimeout

// NewParking returns a Parking that holds no connections.
func NewParking() *serverconn.Parking {
	return serverconn.NewParking(httpserver.IdleTimeout, WriteTimeout)
}

// ParkStreams returns a function that parks streams. It recovers from panics of serve, because
// serve runs on a goroutine outside of the handler chain, where a panic would end the process.
func ParkStreams(p *serverconn.Parking, log *slog.Logger) sse.Park {
	return func(w http.ResponseWriter, r *http.Request, serve func(context.Context, sse.Conn) bool) bool {
		return p.Park(w, r, func(ctx context.Context, c *serverconn.Parked) (whole bool) {
			defer func() {
				if reason := recover(); reason != nil {
					log.ErrorContext(ctx, "parked stream panicked", "reason", reason, "stack", string(debug.Stack()))
				}
			}()
			return serve(ctx, c)
		})
	}
}
