// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package translator

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway"
)

// address is what tells links apart.
type address struct {
	name, url, credential string
}

// link is an agent as a credential reaches it.
type link struct {
	address
	agent   *gateway.Remote
	owner   a2a.Owner
	card    *card.Card
	backend *upstream.Backend
	bound   bound

	// uses are the requests and turns that have it, and since is when the last
	// one ended. Both are the translator's lock's.
	uses  int
	since time.Time
	// dropped is true of one that nobody finds any more: it closes with its last
	// use.
	dropped bool
}

// open returns the link of an agent for a credential, to be released. Errors
// are *a2a.Error.
func (t *Translator) open(agent *gateway.Remote, credential string) (*link, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.draining {
		return nil, &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "The sidecar is shutting down"}
	}
	if err := t.start(); err != nil {
		return nil, err
	}
	where := address{agent.Namespace + "/" + agent.Name, agent.URL, credential}
	found := t.links[where]
	if found != nil && found.agent.Digest == agent.Digest {
		found.uses++
		return found, nil
	}
	made, err := t.newLink(where, agent)
	if err != nil {
		return nil, err
	}
	if found != nil {
		// The agent serves another card by now. Its tasks are the same owner's.
		t.drop(found)
	}
	if !t.room(len(agent.Card)) {
		return nil, a2a.Busy("Too many agents that run elsewhere, or too many credentials for them, are in use")
	}
	t.links[where] = made
	t.cards += len(agent.Card)
	if t.sweeper == nil {
		t.sweeper = time.AfterFunc(idleAfter, t.sweep)
	}
	return made, nil
}

func (t *Translator) newLink(where address, agent *gateway.Remote) (*link, error) {
	says := func(reason a2a.Reason, format string, args ...any) error {
		return &a2a.Error{Reason: reason, Message: "The remote agent " + where.name + ": " + fmt.Sprintf(format, args...)}
	}
	if t.core.guard.Check("url", agent.URL) != nil {
		return nil, says(a2a.ReasonPermissionDenied, "%s", forbidden)
	}
	origin, err := url.Parse(agent.URL)
	if err != nil {
		return nil, says(a2a.ReasonInvalidAgentResponse, "its spec.remote.url cannot be read")
	}
	// Of its path the card's is meant.
	origin = &url.URL{Scheme: origin.Scheme, Host: origin.Host}
	parsed, err := card.ParseRendered(agent.Card)
	if err != nil {
		return nil, says(a2a.ReasonInvalidAgentResponse, "its card in the registry cannot be read")
	}
	speaks, err := upstream.New(upstream.Options{
		URL:    origin.String(),
		Limits: stream.Limits{MaxAnswer: maxBytes / 2},
		Now:    t.options.Now,
		Remote: &upstream.Remote{
			Transport: reach{t.core.guard}, Card: agent.Card, Authorization: where.credential,
		},
	})
	if failure, ok := errors.AsType[*backend.TurnError](err); ok {
		return nil, says(a2a.ReasonInvalidAgentResponse, "%s", failure.Reason)
	}
	if err != nil {
		return nil, says(a2a.ReasonInvalidAgentResponse, "its spec.remote.url is none that can be called")
	}
	l := &link{address: where, agent: agent, owner: t.core.owner(where), card: served(parsed), backend: speaks, uses: 1}
	l.bound = t.bind(l)
	return l, nil
}

// owner is what the tasks of a link belong to. It does not tell the credential.
func (c *core) owner(where address) a2a.Owner {
	mac := hmac.New(sha256.New, c.secret)
	for _, s := range []string{where.name, where.url, where.credential} {
		_, _ = fmt.Fprintf(mac, "%d %s", len(s), s)
	}
	return a2a.Owner("remote:" + where.name + ":" + hex.EncodeToString(mac.Sum(nil)[:16]))
}

// room makes place for one more link, by those that were idle for longest, and
// reports false when all are used. t.mu is held.
func (t *Translator) room(card int) bool {
	for len(t.links) >= maxLinks || t.cards+card > maxCards && len(t.links) > 0 {
		var oldest *link
		for _, l := range t.links {
			if l.uses == 0 && (oldest == nil || l.since.Before(oldest.since)) {
				oldest = l
			}
		}
		if oldest == nil {
			return false
		}
		t.drop(oldest)
	}
	return true
}

// drop lets a link go. t.mu is held.
func (t *Translator) drop(l *link) {
	delete(t.links, l.address)
	t.cards -= len(l.agent.Card)
	l.dropped = true
	if l.uses == 0 {
		t.closing.Go(l.backend.Close)
	}
	if len(t.links) == 0 && t.sweeper != nil {
		t.sweeper.Stop()
		t.sweeper = nil
	}
}

func (t *Translator) hold(l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.uses++
}

func (t *Translator) release(l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.since = t.options.Now()
	if l.uses--; l.uses == 0 && l.dropped {
		t.closing.Go(l.backend.Close)
	}
}

// sweep lets go of what was idle for too long, and looks again when the next
// one may have been.
func (t *Translator) sweep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, next := t.options.Now(), idleAfter
	for _, l := range t.links {
		switch idle := now.Sub(l.since); {
		case l.uses > 0:
		case idle >= idleAfter:
			t.drop(l)
		default:
			next = min(next, idleAfter-idle)
		}
	}
	if t.sweeper != nil {
		t.sweeper.Reset(next)
	}
}

// serve answers a request as the link's owner.
func (l *link) serve(w http.ResponseWriter, r *http.Request, base string) {
	ctx := auth.WithCaller(context.WithValue(r.Context(), linkKey{}, l), auth.Caller{Owner: l.owner})
	l.bound.serve(w, r.WithContext(ctx), l.card, base)
}

type linkKey struct{}

// linked is the engine's backend: a turn goes by the link of the request that
// began it. All messages of a task have the same owner, and so the same agent
// and credential.
type linked struct{ *Translator }

var _ backend.Canceler = linked{}

// Run implements backend.Backend.
func (b linked) Run(ctx context.Context, t *backend.Turn, emit backend.Emit) error {
	l := ctx.Value(linkKey{}).(*link) //nolint:forcetypeassert // every request has one
	b.hold(l)
	defer b.release(l)
	err := l.backend.Run(ctx, t, emit)
	if failure, ok := errors.AsType[*backend.TurnError](err); ok {
		if failure.Unrecognized && b.options.Unrecognized != nil {
			b.options.Unrecognized()
		}
		told := *failure
		told.Reason += " (remote agent " + l.name + " at " + l.url + ")"
		return &told
	}
	return err //nolint:wrapcheck // the engine compares it
}

// Canceled implements backend.Canceler.
func (b linked) Canceled(ctx context.Context, t *a2a.Task) {
	ctx.Value(linkKey{}).(*link).backend.Canceled(ctx, t) //nolint:forcetypeassert // as above
}
