// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agenttokens gets the tokens with which a sidecar calls agents, and caches them.
//
// Each token is for one agent, and for one subject if the calling agent acts for one. The registry issues it
// in exchange for the sidecar's ServiceAccount token and the token of the subject (OAuth 2.0 Token Exchange, RFC
// 8693). Both are sent to the registry only. If the registry cannot verify the token of the subject, the sidecar asserts
// the subject.
package agenttokens

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

const (
	// maxTokens is the maximum number of cached tokens.
	maxTokens = 256
	// expiryMargin is how long before its expiry a token is no longer used, because a request
	// takes time to arrive. For a token with a lifetime of less than 20 s, it is half of the
	// lifetime.
	expiryMargin = 10 * time.Second
	// retryAfter is the minimum time from a failure to the next attempt. The registry can
	// request a longer time, up to maxRetryAfter.
	retryAfter    = time.Second
	maxRetryAfter = 30 * time.Second
	// refreshRetryAfter is used instead of retryAfter while the cached token is still valid.
	refreshRetryAfter = 5 * time.Second
	// renewalWait is how long a call for a subject waits for the next token while the cached one is valid.
	renewalWait = time.Second
	// proveAfter is the time after which the registry is asked again to verify a subject whose token it could not
	// verify: it may not have the keys of the subject's issuer yet. The time doubles with each attempt.
	proveAfter = 15 * time.Second
	// minAge is the minimum age of a token that Reject removes. It prevents an exchange for each
	// call of an agent that rejects every token.
	minAge = 5 * time.Second
)

// Options configure a Source. All fields are required.
type Options struct {
	Transport http.RoundTripper
	// Observe is called after each exchange. Its argument is the error, or nil if the registry
	// issued a token. It must not block.
	Observe func(error)
	Now     func() time.Time
}

// Source caches tokens by their audience and their subject. It is safe for concurrent use.
type Source struct {
	options   Options
	exchanges singleflight.Group

	mu sync.Mutex
	// cached has at most maxTokens entries, by Request.Key.
	cached map[string]*entry
}

// entry is the result of the last exchanges for an audience and a subject.
type entry struct {
	// token is "" if there is none.
	token string
	// issued is the time just before the token was requested. From refresh on, the next token is
	// requested. From expires on, the token is no longer used.
	issued, refresh, expires time.Time
	// unproven is the time after which the subject is proven again, 0 for a proven one.
	unproven time.Duration
	// err is the error of the last exchange, if an exchange has failed since the token was
	// issued. retry is the time from which the next exchange is allowed.
	err   error
	retry time.Time
}

// New returns an empty Source.
func New(options Options) *Source {
	return &Source{options: options, cached: map[string]*entry{}}
}

// Len returns the number of cached tokens, including expired ones.
func (s *Source) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	for _, e := range s.cached {
		if e.token != "" {
			count++
		}
	}
	return count
}

// Token returns a token for the audience or the resource of r. After half of the lifetime of a cached token,
// it requests the next token. A call for a subject waits for it, for renewalWait at most, because the token may be all
// that the called agent has of the subject during its turn: it has half of the lifetime left. Other calls get the cached
// token. If the registry does not respond, Token returns
// the cached token until that token expires. If the registry refuses, it drops the cached
// token. Concurrent calls for one audience and subject share an exchange (singleflight). Its errors wrap
// ErrRefused, ErrChain, ErrUnproven or ErrUnavailable, or are the error of ctx.
func (s *Source) Token(ctx context.Context, r Request) (string, error) {
	now := s.options.Now()
	key := r.Key()
	last := s.last(key)
	if !last.due(now) {
		return last.at(now)
	}
	// The exchange continues if ctx of the first caller ends, because other callers wait for it.
	result := s.exchanges.DoChan(key, func() (any, error) { return s.renew(context.WithoutCancel(ctx), r, key) })
	cached := last.valid(now)
	if cached && r.Subject == nil {
		return last.token, nil
	}
	var late <-chan time.Time
	if cached {
		timer := time.NewTimer(renewalWait)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-late:
		return last.token, nil
	case answer := <-result:
		if answer.Err != nil && cached {
			if current := s.last(key); current.valid(now) {
				return current.token, nil
			}
			return "", answer.Err
		}
		token, _ := answer.Val.(string)
		return token, answer.Err
	}
}

// last returns a copy of an entry. The copy is empty if there is no entry.
func (s *Source) last(key string) entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.cached[key]; e != nil {
		return *e
	}
	return entry{}
}

// valid reports whether the token can be used.
func (e *entry) valid(now time.Time) bool { return e.token != "" && now.Before(e.expires) }

// due reports whether an exchange is needed and allowed now.
func (e *entry) due(now time.Time) bool {
	fresh := e.valid(now) && now.Before(e.refresh)
	return !fresh && !now.Before(e.retry)
}

// at returns what Token returns without an exchange: the cached token, or the last error.
func (e *entry) at(now time.Time) (string, error) {
	if e.valid(now) {
		return e.token, nil
	}
	return "", e.err
}

// Reject removes the token of a key that the agent has rejected, so that the next call gets a new one.
// It does not remove a token that is younger than minAge.
func (s *Source) Reject(key, token string) {
	now := s.options.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.cached[key]; e != nil && e.token == token && now.Sub(e.issued) >= minAge {
		delete(s.cached, key)
	}
}

// renew exchanges a token and caches the result.
func (s *Source) renew(ctx context.Context, r Request, key string) (string, error) {
	issued := s.options.Now()
	if last := s.last(key); !last.due(issued) {
		return last.at(issued) // another call has exchanged a token a moment ago
	}
	answer, wait, err := exchange(ctx, s.options.Transport, r)
	s.options.Observe(err)
	now := s.options.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		margin := min(expiryMargin, answer.lifetime/2)
		refresh := answer.lifetime / 2
		var unproven time.Duration
		if answer.unproven {
			unproven = proveAfter
			if last := s.cached[key]; last != nil && last.unproven > 0 {
				unproven = 2 * last.unproven
			}
			refresh = min(refresh, unproven)
		}
		s.keep(key, &entry{
			token: answer.token, issued: issued, refresh: issued.Add(refresh), expires: issued.Add(answer.lifetime - margin), unproven: unproven,
		}, now)
		return answer.token, nil
	}
	e := &entry{}
	least := retryAfter
	if last := s.cached[key]; last != nil && !errors.Is(err, ErrRefused) && !errors.Is(err, ErrChain) {
		*e = *last
		if e.valid(now) {
			least = refreshRetryAfter
		}
	}
	e.err = err
	e.retry = now.Add(min(max(wait, least), maxRetryAfter))
	s.keep(key, e, now)
	return "", err
}

// keep caches an entry. If the cache is full, it evicts expired entries, or if there are
// none, the entry that expires first. s.mu must be held.
func (s *Source) keep(key string, e *entry, now time.Time) {
	delete(s.cached, key)
	if len(s.cached) >= maxTokens {
		first := ""
		for other, o := range s.cached {
			switch {
			case !now.Before(o.expires):
				delete(s.cached, other)
			case first == "" || o.expires.Before(s.cached[first].expires):
				first = other
			}
		}
		if len(s.cached) >= maxTokens {
			delete(s.cached, first)
		}
	}
	s.cached[key] = e
}

const (
	// exchangeTimeout bounds one exchange.
	exchangeTimeout = 5 * time.Second
	// maxAnswer is the maximum size of a response, and maxToken of a token, in bytes.
	maxAnswer = 64 << 10
	maxToken  = 16 << 10
	// maxLifetime is the longest time that a token is cached.
	maxLifetime = time.Hour
)

// The values of the parameters (RFC 8693, sections 2.1 and 3).
const (
	grantType = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeJWT   = "urn:ietf:params:oauth:token-type:jwt"
)

// Errors of Source.Token.
var (
	// ErrRefused means that the registry does not list the agent for the caller.
	ErrRefused = errors.New("the registry refuses a token for the agent")
	// ErrChain means that the agents that call each other for the subject form a loop, or are too many.
	ErrChain = errors.New("the registry refuses a token for this chain of agents")
	// ErrUnproven means that the registry cannot verify the token of the subject, for a token that must name a proven one.
	ErrUnproven = errors.New("the registry cannot verify the token of the subject")
	// ErrUnavailable means that the registry did not respond, or responded unexpectedly.
	ErrUnavailable = errors.New("the registry issues no token")
)

// Request describes a token.
type Request struct {
	// URL is the URL of the token exchange.
	URL string
	// Token is the token of the sidecar for the registry.
	Token string
	// Client is the audience of the calling agent.
	Client string
	// Audience is the audience of the called agent, "" with Resource.
	Audience string
	// Resource is the URL of the called MCP server, "" for an agent. Its token names proven subjects only.
	Resource string
	// Subject is the subject for whom the calling agent acts, nil if it acts for itself.
	Subject *a2a.Subject
	// key is the result of Key with a subject, "" before the first call. The other fields do not change then.
	key string
}

// Key returns the key of the token in the cache. It contains no credential.
func (r *Request) Key() string {
	target := r.Audience + r.Resource
	if r.Subject == nil {
		return target
	}
	if r.key != "" {
		return r.key
	}
	var buffer [3 << 10]byte // a token has two kilobytes at most, as a rule
	text := buffer[:0]
	add := func(part string) { // the lengths tell the parts apart
		text = strconv.AppendInt(text, int64(len(part)), 10)
		text = append(text, ' ')
		text = append(text, part...)
	}
	add(r.Subject.Principal)
	add(string(r.Subject.Owner))
	add(string(r.Subject.Credential))
	for _, actor := range r.Subject.Actors {
		add(actor)
	}
	digest := sha256.Sum256(text)
	r.key = target + " " + string(digest[:])
	return r.key
}

// assertion returns the JSON of the subject, without its credential.
func (r *Request) assertion() []byte {
	text, err := json.Marshal(r.Subject)
	if err != nil {
		panic(err) // texts and a list of texts are always encoded
	}
	return text
}

// answer contains an issued token.
type answer struct {
	token    string
	lifetime time.Duration
	// unproven is true if the registry could not verify the token of the subject, which the caller then asserted.
	unproven bool
}

// exchange requests a token. With a subject whose token the registry cannot verify, it asserts the subject in a second request. After an
// error, wait is the time after which the registry allows the next request, or 0 if the registry does not name one.
func exchange(ctx context.Context, transport http.RoundTripper, r Request) (_ answer, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	form := url.Values{
		"grant_type":         {grantType},
		"subject_token":      {r.Token},
		"subject_token_type": {typeJWT},
	}
	if r.Resource != "" {
		form.Set("resource", r.Resource)
		form.Set("client_id", r.Client)
	} else {
		form.Set("audience", r.Audience)
	}
	if r.Subject == nil {
		return send(ctx, transport, r.URL, form)
	}
	if r.Resource != "" && r.Subject.Credential == "" {
		return answer{}, 0, ErrUnproven
	}
	form.Set("actor_token", r.Token)
	form.Set("actor_token_type", typeJWT)
	form.Set("client_id", r.Client)
	if r.Subject.Credential != "" {
		form.Set("subject_token", string(r.Subject.Credential))
		issued, wait, err := send(ctx, transport, r.URL, form)
		if !errors.Is(err, ErrUnproven) || r.Resource != "" {
			return issued, wait, err
		}
	}
	form.Set("subject_token", base64.RawURLEncoding.EncodeToString(r.assertion()))
	form.Set("subject_token_type", a2a.TypeAssertedSubject)
	asserted, wait, err := send(ctx, transport, r.URL, form)
	asserted.unproven = r.Subject.Credential != ""
	return asserted, wait, err
}

// send sends one request for a token.
func send(ctx context.Context, transport http.RoundTripper, to string, form url.Values) (_ answer, wait time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return answer{}, 0, unavailable(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return answer{}, 0, unavailable(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return answer{}, 0, unavailable(err)
	case len(text) > maxAnswer:
		return answer{}, 0, unavailable(fmt.Errorf("the response has more than %d bytes", maxAnswer))
	case response.StatusCode != http.StatusOK:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return answer{}, time.Duration(max(seconds, 0)) * time.Second, refusal(response.Status, text)
	}
	issued, err := read(text)
	return issued, 0, err
}

func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

// refusal returns the error for a response with a status other than 200.
func refusal(status string, text []byte) error {
	var problem struct {
		Error  string `json:"error"`
		Reason string `json:"reason"`
	}
	isRead := json.Unmarshal(text, &problem) == nil
	switch {
	case isRead && problem.Error == "invalid_target":
		return ErrRefused
	case isRead && problem.Reason == a2a.ReasonChain:
		return ErrChain
	case isRead && problem.Reason == a2a.ReasonSubjectUnproven:
		return fmt.Errorf("%w: %w", ErrUnavailable, ErrUnproven)
	}
	return unavailable(fmt.Errorf("status %s, error %.64q", status, problem.Error))
}

// read parses a successful response (RFC 8693, section 2.2.1). Its errors do not contain the
// token.
func read(text []byte) (answer, error) {
	var issued struct {
		AccessToken string  `json:"access_token"`
		TokenType   string  `json:"token_type"`
		ExpiresIn   float64 `json:"expires_in"`
	}
	if json.Unmarshal(text, &issued) != nil {
		return answer{}, unavailable(errors.New("the response is not JSON of a token"))
	}
	lifetime := time.Duration(min(issued.ExpiresIn, maxLifetime.Seconds()) * float64(time.Second))
	switch {
	case !strings.EqualFold(issued.TokenType, "Bearer"):
		return answer{}, unavailable(errors.New("the response has no token of type Bearer"))
	case issued.AccessToken == "" || len(issued.AccessToken) > maxToken || strings.Trim(issued.AccessToken, tokenCharacters) != "":
		return answer{}, unavailable(errors.New("the response has no token that fits into a header"))
	case lifetime <= 0:
		return answer{}, unavailable(errors.New("the response has a token that has expired"))
	}
	return answer{token: issued.AccessToken, lifetime: lifetime}, nil
}

// tokenCharacters are the characters of a bearer token (RFC 6750, section 2.1).
const tokenCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/="
