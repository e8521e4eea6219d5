// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-logr/logr"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/directory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/version"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/aggregatecard"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

const (
	// maxMessageBody bounds the body of an A2A request, in bytes.
	maxMessageBody = 64 << 10
	// messageBodies bounds the memory for the bodies of all A2A requests that are not decoded yet,
	// in bytes.
	messageBodies = 16 << 20
	// memoryTimeout bounds how long a request waits for free memory in the budget of messageBodies.
	memoryTimeout = time.Second
	// messageWriteTimeout bounds the write of each 64 KiB of a response.
	messageWriteTimeout = 10 * time.Second
	// answerCopies is the number of copies of an answer that are in memory at the same time: the
	// decoded data, the text of the message, and the encoded response.
	answerCopies = 3
)

// a2aAPI serves the registry as an A2A agent: its cards, JSON-RPC and HTTP+JSON.
type a2aAPI struct {
	*api
	// own is the public card of the directory agent, without interfaces. base is the URL of the
	// registry.
	own   *card.Card
	base  card.Base
	agent *directory.Handler
}

// handleA2A adds the handlers of the directory agent to mux. baseURL is the URL of the
// registry, without a slash at its end.
func (a *api) handleA2A(mux *http.ServeMux, baseURL string) {
	d := &a2aAPI{api: a, own: newOwnCard(), base: card.Base{URL: baseURL + "/"}}
	d.agent = directory.New(directory.Options{
		Registry:     d,
		Card:         d.own,
		Base:         func(*http.Request) card.Base { return d.base },
		ExtendedCard: d.aggregateCard,
		NotFound:     &a2a.Error{Reason: a2a.ReasonMethodNotFound, Message: "Path not found"},
		Limits: &httpcall.Limits{
			MaxBody:      func() int64 { return maxMessageBody },
			Bodies:       limit.NewBudget(messageBodies, memoryTimeout),
			WriteTimeout: messageWriteTimeout, AnswerTimeout: writeTimeout,
			Now: a.searchLimits.clock.Now,
		},
		Log: slog.New(logr.ToSlogHandler(a.log)),
		Now: a.searchLimits.clock.Now,
	})
	mux.HandleFunc(directory.CardPath, d.agent.ServeCard)
	mux.HandleFunc(directory.LegacyCardPath, d.legacyCard)
	for _, path := range a2aPaths {
		mux.HandleFunc(path, d.authenticated(d.agent.ServeHTTP))
	}
}

func newOwnCard() *card.Card {
	c := directory.Card("Agent registry",
		"Finds the agents of the cluster that the caller may see, and returns their cards. The extended card has the skills of these agents.", version.Get().Version)
	c.Capabilities.ExtendedCard = true
	c.SecuritySchemes = []card.SecurityScheme{{
		Name: "bearer", Type: card.SchemeHTTP, Scheme: "bearer", BearerFormat: "JWT",
		Description: "A ServiceAccount token for the audience a2a-operator.dev, or a token of the registry's OpenID Connect issuer.",
	}}
	return c
}

// legacyCard serves the card at the path of A2A 0.1 and 0.2. If the client sends a token, it serves
// the aggregate card, because A2A 0.1 has no path of its own for an extended card.
func (d *a2aAPI) legacyCard(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Authorization")
	if r.Header.Get("Authorization") == "" {
		d.agent.ServeCard(w, r)
		return
	}
	d.authenticated(func(w http.ResponseWriter, r *http.Request) {
		d.agent.ServeExtendedCard(w, r, card.FormUnion)
	})(w, r)
}

// a2aRequest is an authenticated request.
type a2aRequest struct {
	caller access.Caller
	// out reserves memory for the answer until it is sent.
	out *sender
}

type a2aRequestKey struct{}

func a2aRequestOf(ctx context.Context) *a2aRequest { return ctx.Value(a2aRequestKey{}).(*a2aRequest) }

// authenticated returns a handler that authenticates the caller and calls next. The request
// counts toward the caller's limit of concurrent responses until next returns.
func (d *a2aAPI) authenticated(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, no-cache")
		caller, err := d.caller(r)
		if err == nil && d.feed.Current() == nil {
			err = errNotIndexed
		}
		if err != nil {
			d.deny(w, r, err)
			return
		}
		release, ok := d.searchLimits.hold(principalOf(&caller))
		if !ok {
			limited.WithLabelValues("responses").Inc()
			d.deny(w, r, a2a.Busy(responsesMessage))
			return
		}
		defer release()
		request := &a2aRequest{caller: caller, out: d.searchLimits.sender(w)}
		defer request.out.end()
		ctx := context.WithValue(r.Context(), a2aRequestKey{}, request)
		ctx = auth.WithCaller(ctx, auth.Caller{Owner: a2a.Owner(caller.Username), Unscoped: true})
		next(request.out, r.WithContext(ctx))
	}
}

// deny responds with an A2A error to a request that the registry refuses before it reads the body.
// If the client has disconnected, deny does nothing.
func (d *a2aAPI) deny(w http.ResponseWriter, r *http.Request, err error) {
	if httpcall.ClientLeft(r.Context(), err) {
		return
	}
	problem := a2a.ErrorOf(d.problemOf(r.Context(), err))
	if problem.Reason == a2a.ReasonUnauthenticated {
		setChallenge(w, r)
	}
	if seconds := int(problem.RetryAfter / time.Second); seconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	directory.Deny(w, r, problem)
}

// problemOf returns the A2A error for an error of the registry. It logs a failure of the system
// and, in the audit log, the denial of a peer. It returns context.Canceled and
// context.DeadlineExceeded unchanged.
func (d *a2aAPI) problemOf(ctx context.Context, err error) error {
	var (
		known   *a2a.Error
		mistake *index.ParameterError
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &mistake):
		return a2a.InvalidParams(mistake.Field, mistake.Cure)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, errPeer):
		d.denials.forbidden(ctx, &a2aRequestOf(ctx).caller, operationA2A, "")
	}
	refused := d.errorOf(ctx, err)
	return &a2a.Error{Reason: codes[refused.Status].a2a, Message: refused.Message, RetryAfter: refused.RetryAfter}
}

// Find implements directory.Registry.
func (d *a2aAPI) Find(ctx context.Context, parameters url.Values) (*directory.Page, error) {
	r := a2aRequestOf(ctx)
	q, err := index.QueryOf(parameters)
	if err != nil {
		return nil, d.problemOf(ctx, err)
	}
	page, err := d.find(ctx, d.requester(&r.caller), q)
	if err != nil {
		return nil, d.problemOf(ctx, err)
	}
	// The page only refers to entries of the index. The answer uses memory of its own only after
	// this reservation.
	if err := d.searchLimits.reserveIn(ctx, &r.out.reservation, shareOf(&r.caller), answerCopies*page.Size()); err != nil {
		return nil, d.problemOf(ctx, err)
	}
	found := &directory.Page{Items: make([]json.RawMessage, len(page.Entries)), Total: page.Total}
	for i, e := range page.Entries {
		found.Items[i] = e.Body()
	}
	found.NextCursor = page.NextCursor()
	for _, c := range page.Corrections {
		found.Corrections = append(found.Corrections, directory.Correction(c))
	}
	return found, nil
}

// Card implements directory.Registry.
func (d *a2aAPI) Card(ctx context.Context, agent directory.Agent, protocolVersion string) (json.RawMessage, error) {
	r := a2aRequestOf(ctx)
	if err := d.searchLimits.charged(principalOf(&r.caller), 1); err != nil {
		return nil, d.problemOf(ctx, err)
	}
	e, err := d.findKey(ctx, r.caller, d.feed.Current(), index.Key{Namespace: agent.Namespace, Name: agent.Name})
	if err != nil {
		return nil, d.problemOf(ctx, err)
	}
	if e == nil {
		return nil, a2a.InvalidParams("message.parts", "names agent "+agent.String()+", which does not exist, or you may not see it")
	}
	rendered, _, err := d.reservedCard(ctx, r.out, d.requester(&r.caller), e, protocolVersion, func(rendered *index.Rendering) int { return answerCopies * len(rendered.Body) })
	if err != nil {
		return nil, d.problemOf(ctx, err)
	}
	if rendered == nil {
		return nil, a2a.InvalidParams("message.parts", "names agent "+agent.String()+", which has no card yet; see the conditions of the Agent")
	}
	return rendered.Body, nil
}

// aggregateCard returns the extended card of the directory agent. It has the skills of the first
// aggregatecard.MaxAgents agents that the caller sees.
func (d *a2aAPI) aggregateCard(r *http.Request, form card.Form) ([]byte, error) {
	ctx := r.Context()
	request := a2aRequestOf(ctx)
	q, err := index.Selection{Limit: aggregatecard.MaxAgents}.Query()
	if err != nil {
		return nil, d.problemOf(ctx, err)
	}
	var text []byte
	err = d.inspectReserving(ctx, request.out, d.requester(&request.caller), inspection{cost: aggregateCost}, func(v *view, reserve func(int) error) (err error) {
		page := v.search(q)
		if err := reserve(answerCopies * page.Size()); err != nil {
			return err
		}
		text, err = d.renderAggregate(&page, form)
		return err
	})
	if err != nil {
		return nil, d.problemOf(ctx, err)
	}
	return text, nil
}

func (d *a2aAPI) renderAggregate(page *index.Page, form card.Form) ([]byte, error) {
	agents := aggregatecard.Agents{Items: make([][]byte, len(page.Entries)), Total: page.Total, NextCursor: page.NextCursor()}
	for i, e := range page.Entries {
		agents.Items[i] = e.Body()
	}
	made, err := aggregatecard.New(d.own.At(d.base), agents)
	if err != nil {
		return nil, fmt.Errorf("make aggregate card: %w", err)
	}
	text, err := card.Render(made, form)
	if err != nil {
		return nil, fmt.Errorf("render aggregate card: %w", err)
	}
	return text, nil
}
