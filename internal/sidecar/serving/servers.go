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
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
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
	Parking *Parking
	Log     *slog.Logger
}

// Servers are the HTTP servers of a sidecar.
type Servers struct {
	all     []*http.Server
	parking *Parking
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
			s.cutOff(a2a.ErrDraining) // before the close, which ends the contexts without a cause
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
		// A client that reads nothing from its socket blocks all streams of its connection.
		HTTP2: &http.HTTP2Config{
			WriteByteTimeout: WriteTimeout, SendPingTimeout: pingInterval, PingTimeout: WriteTimeout,
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: maxUnread, MaxReceiveBufferPerStream: maxUnread,
		},
		ConnContext: serverconn.ConnContext,
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
