// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/serverconn"
)

// WriteTimeout limits each write of a response, not the response.
const WriteTimeout = 15 * time.Second

// Limits of all servers. Only the A2A endpoint has a write timeout of its own, which
// its streams and long calls replace with one for each write.
const (
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	// pingInterval is the silence after which HTTP/2 pings the peer.
	pingInterval = time.Minute
	// maxStreams bounds the concurrent requests of one HTTP/2 connection. A proxy that
	// has more opens another connection.
	maxStreams = 256
	// maxUnread bounds the unread request data of one HTTP/2 connection, and of one of
	// its requests, in bytes.
	maxUnread = 1 << 20
)

// Parking holds the connections of quiet streams, which net/http no longer serves.
type Parking struct {
	*serverconn.Parking

	log *slog.Logger
}

// NewParking returns a Parking without connections.
func NewParking(log *slog.Logger, now func() time.Time) *Parking {
	return &Parking{serverconn.NewParking(serverconn.ParkingOptions{Idle: idleTimeout, WriteTimeout: WriteTimeout, Now: now}), log}
}

// ParkStream implements sse.Park. It recovers from panics of serve: no handler of the
// chain is below its goroutine, so that a panic would end the process.
func (p *Parking) ParkStream(w http.ResponseWriter, r *http.Request, serve func(context.Context, sse.Conn) bool) bool {
	return p.Park(w, r, func(ctx context.Context, c *serverconn.Parked) (whole bool) {
		defer func() {
			if reason := recover(); reason != nil {
				p.log.ErrorContext(ctx, "parked stream panicked", "reason", reason, "stack", string(debug.Stack()))
			}
		}()
		return serve(ctx, c)
	})
}
