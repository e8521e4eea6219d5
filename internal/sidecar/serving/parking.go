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

// WriteTimeout bounds the time of each write of a response. It does not bound the whole
// response.
const WriteTimeout = 15 * time.Second

// Limits of all servers. Only the A2A endpoint has its own write timeouts: its streams
// and long calls replace the server's write timeout by one for each write.
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

// Parking holds the connections of quiet streams. net/http no longer serves these
// connections.
type Parking struct {
	*serverconn.Parking

	log *slog.Logger
}

// NewParking returns a Parking that holds no connections.
func NewParking(log *slog.Logger, now func() time.Time) *Parking {
	return &Parking{serverconn.NewParking(serverconn.ParkingOptions{Idle: idleTimeout, WriteTimeout: WriteTimeout, Now: now}), log}
}

// ParkStream implements sse.Park. It recovers from panics of serve, because serve runs on
// a goroutine outside of the handler chain, where a panic would end the process.
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
