// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package translator

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/grpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/jsonrpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/rest"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

// linkFor returns the link for an agent, a credential, and the user for whom the agent is called, nil for none. The caller must release it. If the
// card of the agent has changed, linkFor replaces the link. Errors that the agent or a limit
// causes are *a2a.Error.
func (t *Translator) linkFor(agent *gateway.Remote, credential string, user *a2a.Subject) (*link, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.draining {
		return nil, &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "The sidecar is shutting down"}
	}
	if err := t.start(); err != nil {
		return nil, err
	}
	at := address{name: agent.Namespace + "/" + agent.Name, url: agent.URL, credential: credential}
	if user != nil {
		at.user = string(user.Owner) + " " + user.Principal
	}
	found := t.links[at]
	if found != nil && found.agent.Digest == agent.Digest {
		found.uses++
		return found, nil
	}
	made, err := t.newLink(at, agent)
	if err != nil {
		return nil, err
	}
	if found != nil {
		t.drop(found)
	}
	if !t.makeRoom(at.name, len(agent.Card)) {
		return nil, a2a.Busy("Too many remote agents, or credentials for them, are in use; try again")
	}
	t.links[at] = made
	t.cards += len(agent.Card)
	if t.sweeper == nil {
		t.sweeper = time.AfterFunc(idleAfter, t.sweep)
	}
	return made, nil
}

// newLink returns a new link whose number of uses is 1. Its errors are *a2a.Error.
func (t *Translator) newLink(at address, agent *gateway.Remote) (*link, error) {
	refused := func(reason a2a.Reason, format string, args ...any) error {
		return &a2a.Error{Reason: reason, Message: "The remote agent " + at.name + ": " + fmt.Sprintf(format, args...)}
	}
	if t.core.guard.Check("url", agent.URL) != nil {
		return nil, refused(a2a.ReasonPermissionDenied, "%s", addressDenied)
	}
	origin, err := url.Parse(agent.URL)
	if err != nil {
		return nil, refused(a2a.ReasonInvalidAgentResponse, "its spec.remote.url cannot be read")
	}
	// spec.remote.url may be the URL of the card, so its path is removed. The card has the
	// path of the endpoint.
	origin = &url.URL{Scheme: origin.Scheme, Host: origin.Host}
	parsed, err := card.ParseRendered(agent.Card)
	if err != nil {
		return nil, refused(a2a.ReasonInvalidAgentResponse, "its card in the registry cannot be read")
	}
	transport := &transport{guard: t.core.guard, credential: agent.Credential, log: t.options.Log, name: at.name}
	calls, err := upstream.New(upstream.Options{
		URL:    origin.String(),
		Limits: stream.Limits{MaxAnswer: t.options.Memory.Remote / 2, EventMemory: int(min(t.options.Memory.Remote/2, t.options.Memory.MaxEvent()))},
		Remote: &upstream.Remote{
			Transport: transport, Card: agent.Card, Authorization: at.credential,
		},
	})
	if failure, ok := errors.AsType[*backend.TurnError](err); ok {
		return nil, refused(a2a.ReasonInvalidAgentResponse, "%s", failure.Reason)
	}
	if err != nil {
		return nil, refused(a2a.ReasonInvalidAgentResponse, "its spec.remote.url cannot be called")
	}
	l := &link{address: at, agent: agent, owner: t.core.owner(at), card: servedCard(parsed), transport: transport, backend: calls, uses: 1}
	l.bindings = t.newBindings(l)
	return l, nil
}

// owner returns the owner of the tasks of a link. It contains a keyed hash of the
// credential, so it does not reveal the credential.
func (c *core) owner(at address) a2a.Owner {
	mac := hmac.New(sha256.New, c.secret)
	for _, s := range []string{at.name, at.url, at.credential, at.user} {
		_, _ = fmt.Fprintf(mac, "%d %s", len(s), s)
	}
	return a2a.Owner("remote:" + at.name + ":" + hex.EncodeToString(mac.Sum(nil)[:16]))
}

// start creates the parts that all links share. If they exist, it does nothing. t.mu must
// be held.
func (t *Translator) start() error {
	if t.core != nil {
		return nil
	}
	c := &core{
		guard: egress.New(egress.Options{
			Policy: t.policy, Protected: t.options.Protected, Roots: t.options.Roots, Proxy: t.options.Proxy,
			Certificate: t.options.Certificate, PresentsTo: t.options.PresentsTo,
		}),
		secret: make([]byte, 32),
	}
	_, _ = rand.Read(c.secret) // never fails
	var err error
	c.engine, err = engine.New(engine.Options{
		Store:   memory.New(memory.Options{MaxTasks: maxTasks, MaxBytes: t.options.Memory.Remote, Now: t.options.Now}),
		Backend: linkBackend{t},
		Turns: func() engine.TurnLimits {
			return engine.TurnLimits{Max: maxTurns, MaxPerCaller: maxTurns / 2, MaxQueued: maxQueued, QueueTimeout: queueTimeout}
		},
		MaxDeduplicated:   maxDeduplicated,
		TurnBytes:         t.options.Memory.RemoteTurns,
		WaitingBytes:      t.options.Memory.RemoteTurns,
		DeduplicatedBytes: t.options.Memory.RemoteTurns,
		Log:               t.options.Log,
		Now:               t.options.Now,
	})
	if err != nil {
		return fmt.Errorf("start engine for remote agents: %w", err)
	}
	c.engine.Start()
	t.core = c
	t.links = map[address]*link{}
	return nil
}

// servedCard returns the card of a remote agent as the translator serves it. The card
// supports streaming even if the agent does not. Its only credential is the Authorization
// header, because the translator forwards no other credential of a caller.
func servedCard(c *card.Card) *card.Card {
	out := *c
	out.Interfaces = nil
	out.Capabilities.Streaming = true
	out.Capabilities.PushNotifications = false
	out.Capabilities.ExtendedCard = false
	out.SecuritySchemes = slices.DeleteFunc(slices.Clone(c.SecuritySchemes), func(s card.SecurityScheme) bool {
		return s.Type == card.SchemeAPIKey || s.Type == card.SchemeMutualTLS
	})
	return &out
}

// cardFor returns the card for a request. If the sidecar itself has a credential for the agent, callers need none.
func (l *link) cardFor(ctx context.Context) *card.Card {
	if credential, err := l.transport.current(ctx, client.OriginOf(l.agent.URL), ""); err != nil || credential.IsZero() {
		return l.card
	}
	out := *l.card
	out.SecuritySchemes = nil
	return &out
}

// newBindings returns the bindings of a link.
func (t *Translator) newBindings(l *link) bindings {
	current := func() *card.Card { return l.card }
	checked := &requestcheck.Handler{Handler: charged{t.core.engine, a2a.AccountingPrincipal{Principal: "remote:" + l.name}}, Card: current}
	streams := sse.Config{KeepAlive: keepAlive, WriteTimeout: t.options.Limits.WriteTimeout, Now: t.options.Now}
	noExtended := func(*http.Request, string, card.Form) ([]byte, error) {
		return nil, &a2a.Error{Reason: a2a.ReasonUnsupportedOperation}
	}
	public := func(r *http.Request, form card.Form) ([]byte, error) {
		base, _ := r.Context().Value(baseKey{}).(string)
		return card.Render(l.cardFor(r.Context()).At(card.Base{URL: base}), form)
	}
	shared := httpcall.Config{
		Handler: checked, Push: checked, Card: current, ExtendedCard: noExtended,
		Limits: t.options.Limits, Observe: func(ctx context.Context, o httpcall.Outcome) { gateway.Conclude(ctx, o.Reason, o.ClientLeft) }, Log: t.options.Log,
	}
	return bindings{
		rpc:  jsonrpc.New(jsonrpc.Config{Config: shared, Streams: streams}),
		rest: rest.New(rest.Config{Config: shared, Streams: streams, PublicCard: public}),
	}
}

// charged charges the turns of all links of an agent to one principal.
type charged struct {
	a2a.Handler
	to a2a.AccountingPrincipal
}

// Send implements a2a.Handler.
func (c charged) Send(ctx context.Context, r *a2a.SendRequest) (a2a.Event, error) {
	r.AccountingPrincipal = c.to
	return c.Handler.Send(ctx, r)
}

// Stream implements a2a.Handler.
func (c charged) Stream(ctx context.Context, r *a2a.SendRequest) (a2a.Stream, error) {
	r.AccountingPrincipal = c.to
	return c.Handler.Stream(ctx, r)
}

// baseKey is the context key of the base URL of a request.
type baseKey struct{}

// serve answers a request for the link.
func (l *link) serve(w http.ResponseWriter, r *http.Request, base string) {
	switch {
	case isCard(r):
		serveCard(w, r, l.cardFor(r.Context()), base)
	case r.URL.Path == "/":
		l.bindings.rpc.ServeHTTP(w, r)
	case rest.Owns(r):
		l.bindings.rest.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), baseKey{}, base)))
	default:
		rest.Deny(w, r, &a2a.Error{
			Reason: a2a.ReasonMethodNotFound,
			Message: "Path not found: JSON-RPC is at POST /, REST at /message:send, /tasks and, for 0.3, below /v1, the card at GET " +
				wellknown.Path + ", each below " + base,
		})
	}
}

func isCard(r *http.Request) bool {
	return r.URL.Path == wellknown.Path || r.URL.Path == wellknown.LegacyPath
}

// serveCard renders the card for the base URL of the request.
func serveCard(w http.ResponseWriter, r *http.Request, c *card.Card, base string) {
	h := &wellknown.Handler{}
	if err := h.Swap(wellknown.Content{Card: c.At(card.Base{URL: base})}); err != nil {
		Deny(w, r, &a2a.Error{Reason: a2a.ReasonInvalidAgentResponse, Message: "The card of the remote agent cannot be served"})
		return
	}
	h.ServeHTTP(w, r)
}

// Deny answers a request for an agent with an error in the shape of the request's protocol:
// gRPC, or REST of 1.0 or 0.3. The error for a card has the shape of REST of 1.0, and all
// other errors have the shape of JSON-RPC.
func Deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	switch {
	case grpc.Owns(r):
		grpc.Deny(w, r, problem)
	case isCard(r), rest.Owns(r):
		rest.Deny(w, r, problem)
	default:
		jsonrpc.Deny(w, r, problem)
	}
}

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
	memory := &backend.Memory{Budget: b.options.Events, Principal: t.AccountingPrincipal}
	defer memory.Release()
	if err := memory.ReserveRequest(ctx, t); err != nil {
		return err // the engine compares it
	}
	reserving := *t
	reserving.Reserve = func(bytes int64) error { return memory.Reserve(ctx, bytes) }
	err := l.backend.Run(ctx, &reserving, emit)
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

// addressDenied is the reason for an address that the policy does not allow.
const addressDenied = "this installation does not allow its address; " +
	"an administrator can allow a range of addresses with the chart's remote.allow (--remote-allow)"
