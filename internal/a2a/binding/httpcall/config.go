// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcall

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// Config has the settings that all bindings share. Only StrictVersion is optional. Each
// function may return another result at each call.
type Config struct {
	// Handler runs the operations on tasks. It checks requests against the card.
	Handler a2a.Handler
	// Push runs the operations on push configurations.
	Push a2a.PushHandler
	// Card returns the card that is served at the time of the call.
	Card func() *card.Card
	// ExtendedCard returns the extended card for the caller of r in a form. It returns an
	// *a2a.Error if the agent has no extended card or the caller may not read it.
	ExtendedCard func(r *http.Request, tenant string, form card.Form) ([]byte, error)
	// StrictVersion reports whether a request must name a version of A2A that has its method
	// or path. Methods and paths of 1.0 then require A2A-Version, and a client that names 1.0
	// can use no others. A nil StrictVersion means false.
	StrictVersion func() bool
	// Limits bound requests and responses.
	Limits *Limits
	// Observe is called once for each request that ended, with the context of the request. It
	// must not block.
	Observe func(context.Context, Outcome)
	Log     *slog.Logger
}

// IsStrict reports whether StrictVersion is on.
func (c *Config) IsStrict() bool { return c.StrictVersion != nil && c.StrictVersion() }
