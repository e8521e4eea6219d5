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
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/serverconn"
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
	Log     *slog.Logger
}

// Servers are the HTTP servers of a sidecar.
type Servers struct {
	all     []*http.Server
	parking *serverconn.Parking
	// cutOff ends the contexts of all requests with a cause.
	cutOff context.CancelCauseFunc
}

// Start serves the listeners on goroutines of the group until Stop is called.
func Start(group *errgroup.Group, l *Listeners, o ServerOptions) *Servers {
	s := &Servers{parking: o.Parking}
	var requests context.Context
	requests, s.cutOff = context.WithCancelCause(context.Background())
	serve := func(h http.Handler, writeTimeout time.Duration, listeners ...net.Listener) {
		added := newServer(o.Log, h)
		added.WriteTimeout = writeTimeout
		added.BaseContext = func(net.Listener) context.Context { return requests }
		s.all = append(s.all, added)
		for _, listener := range listeners {
			group.Go(func() error {
				if err := added.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
					return fmt.Errorf("serve %s: %w", listener.Addr(), err)
				}
				return nil
			})
		}
	}
	serve(o.Agent, WriteTimeout, serverconn.NewListener(l.Agent, serverconn.Options{TLS: o.TLS, Flooded: o.Flooded}), o.Parking)
	if l.Health != nil {
		serve(o.Health, 0, serverconn.NewListener(l.Health, serverconn.Options{Flooded: o.Flooded}))
	}
	if l.Gateway != nil {
		serve(o.Gateway, 0, l.Gateway)
	}
	return s
}

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

// newServer returns a server for HTTP/1.1, and for HTTP/2 without TLS by prior knowledge.
func newServer(log *slog.Logger, h http.Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		Protocols:         protocols,
		// WriteByteTimeout ends the connection of a client that does not read from its
		// socket, because such a client blocks all streams of its connection.
		HTTP2: &http.HTTP2Config{
			WriteByteTimeout: WriteTimeout, SendPingTimeout: pingInterval, PingTimeout: WriteTimeout,
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: maxUnread, MaxReceiveBufferPerStream: maxUnread,
		},
		ConnContext: serverconn.ConnContext,
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
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

// WriteTimeout bounds the time of each write of a stream or of a response to a long call.
// It bounds the whole response of all other requests to the A2A endpoint and the health
// port.
const WriteTimeout = 15 * time.Second

// Limits of all servers. Only the server of the A2A endpoint has a write timeout,
// WriteTimeout. Streams and long calls replace this timeout by a timeout for each write.
const (
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	// pingInterval is the time without a frame after which the server pings an HTTP/2
	// client.
	pingInterval = time.Minute
	// maxStreams is the maximum number of concurrent requests on one HTTP/2 connection. A
	// proxy with more requests opens another connection.
	maxStreams = 256
	// maxUnread is the maximum amount of unread request data on one HTTP/2 connection, and
	// in one of its requests, in bytes.
	maxUnread = 1 << 20
)

// NewParking returns a Parking that holds no connections.
func NewParking() *serverconn.Parking { return serverconn.NewParking(idleTimeout, WriteTimeout) }

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
