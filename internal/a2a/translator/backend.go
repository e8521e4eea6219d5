// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package translator

import (
	"context"
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// linkKey is the context key of a request's link.
type linkKey struct{}

// linkBackend is the backend of the engine. It runs a turn with the link of the request
// that began the turn. All messages of a task have the same owner, and therefore the same
// agent and credential.
type linkBackend struct{ *Translator }

var _ backend.Canceler = linkBackend{}

// Run implements backend.Backend.
func (b linkBackend) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
	l := ctx.Value(linkKey{}).(*link) // every request has a link in its context
	b.use(l)
	defer b.release(l)
	err := l.backend.Run(ctx, t, emit)
	if failure, ok := errors.AsType[*backend.TurnError](err); ok {
		if failure.Unrecognized && b.options.Unrecognized != nil {
			b.options.Unrecognized()
		}
		named := *failure
		named.Reason += " (remote agent " + l.name + " at " + l.url + ")"
		return &named
	}
	return err // the engine compares it
}

// Canceled implements backend.Canceler.
func (b linkBackend) Canceled(ctx context.Context, t *a2a.Task) {
	ctx.Value(linkKey{}).(*link).backend.Canceled(ctx, t) // every request has a link in its context
}
