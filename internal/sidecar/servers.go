// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/serverconn"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// Limits of every server. Only that of the A2A endpoint has a write timeout,
// which its streams and long calls replace by one for each write; what others
// answer is waited for, or is as long as somebody else's task.
const (
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	// pingAfter is the silence after which a peer is asked whether it is there.
	pingAfter = time.Minute
	// maxStreams bounds the requests that one connection of HTTP/2 has at a time.
	// A proxy with more opens another one.
	maxStreams = 256
	// maxReceived bounds what is kept of one connection's requests that nobody
	// has read yet, and of one request.
	maxReceived = 1 << 20
)

// HealthAddress is where a sidecar in a pod answers callers inside it.
var HealthAddress = net.JoinHostPort("127.0.0.1", strconv.Itoa(sidecarconfig.HealthPort))

// listeners are the sockets of a sidecar; one that is nil is off.
type listeners struct {
	agent, health, gateway net.Listener
}

// listen opens all sockets or none, and says which flag to change.
func listen(ctx context.Context, o *Options) (l listeners, err error) {
	agent, health, gateway := o.addresses()
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	var config net.ListenConfig
	for _, each := range []struct {
		to            *net.Listener
		flag, address string
	}{
		{&l.agent, "--listen", agent}, {&l.health, "--health-listen", health}, {&l.gateway, "--gateway-listen", gateway},
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

func (l *listeners) close() {
	for _, each := range []net.Listener{l.agent, l.health, l.gateway} {
		if each != nil {
			_ = each.Close()
		}
	}
}

// server is one HTTP server with its socket.
type server struct {
	http.Server
	listener net.Listener
}

// newServer speaks HTTP/1.1, and HTTP/2 to those who begin with it.
func newServer(log *slog.Logger, listener net.Listener, h http.Handler) *server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &server{listener: listener, Server: http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		Protocols:         protocols,
		// The limits of HTTP/2 on writing are for its streams. What nobody takes
		// from the socket holds up all of a connection's.
		HTTP2: &http.HTTP2Config{
			WriteByteTimeout: writeTimeout, SendPingTimeout: pingAfter, PingTimeout: writeTimeout,
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: maxReceived, MaxReceiveBufferPerStream: maxReceived,
		},
		ConnContext: serverconn.ConnContext,
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
}

// serve runs until the server is shut down.
func (s *server) serve(listener net.Listener) error {
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	return nil
}

// stop ends a server: requests that run may finish until ctx ends, then their
// connections are closed.
func (s *server) stop(ctx context.Context) {
	if s.Shutdown(ctx) != nil {
		_ = s.Close()
	}
}
