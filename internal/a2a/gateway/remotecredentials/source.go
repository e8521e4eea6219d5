// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package remotecredentials gets the credentials with which a sidecar calls remote agents from the
// registry, and caches them in memory. A credential is part of no log and no error.
package remotecredentials

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
	"github.com/a2a-operator/a2a-operator/internal/kit/sharedcache"
)

const (
	// maxCached bounds the cached credentials, in bytes. Each takes entryCost beside its texts.
	maxCached = 1 << 20
	entryCost = 2 << 10
	// timeout bounds one request, and maxAnswer a response in bytes: a certificate chain with its key fits.
	timeout   = 10 * time.Second
	maxAnswer = 256 << 10
	// maxLifetime is the longest time that a credential is cached. lostAge is how long one that does not expire is used while
	// the registry does not answer, as the listing of its agent is.
	maxLifetime = time.Hour
	lostAge     = 10 * time.Minute
	// retryAfter is the time from a failure to the next attempt, and minAge the age from which a refused credential is replaced.
	retryAfter = 2 * time.Second
	minAge     = 5 * time.Second
	// maxRenewAfter is the time after which a credential of the client is asked for again, although it is valid for longer: the Agent
	// may exchange tokens of users from now on. The registry answers from its cache.
	maxRenewAfter = time.Minute
)

// ErrNotShared means that the credentials of the agent are not for this sidecar's namespace.
var ErrNotShared = errors.New("the credentials are for agents of other namespaces")

// UnavailableError is the failure to get a credential. Its Reason is a text for clients.
type UnavailableError struct {
	Reason string
	// isGone is true if the registry says that the credential does not exist any more, or is not valid. The last one is then not used.
	isGone bool
	err    error
}

// Error implements error.
func (e *UnavailableError) Error() string {
	if e.err != nil {
		return fmt.Sprintf("get credential: %s: %v", e.Reason, e.err)
	}
	return "get credential: " + e.Reason
}

// Unwrap returns the cause, nil for a refusal of the registry.
func (e *UnavailableError) Unwrap() error { return e.err }

// Options configure a Source. All fields are required.
type Options struct {
	Transport http.RoundTripper
	// Registry returns the registry's service.
	Registry func() (Registry, error)
	Now      func() time.Time
}

// Registry is the registry's service for credentials.
type Registry struct {
	// URL is "" if there is no service.
	URL string
	// Token is the sidecar's token for the registry, and Client the audience of its agent.
	Token, Client string
}

// Source caches credentials by agent, by its origin and by the user for whom it is called. It is safe for concurrent use.
type Source struct {
	options Options
	getting singleflight.Group

	// cached is shared by the namespaces of the agents.
	cached *sharedcache.Cache[string, string, *entry]
}

// entry is the last result for an agent. It is immutable.
type entry struct {
	credential remotecredential.Credential
	// exchanges is remotecredential.Answer.Exchanges of the last answer, and isKnown is true if there was one.
	exchanges, isKnown bool
	err                error
	// got is the time just before the request. From renew on the next credential is requested, and from expires on this one is not used.
	got, renew, expires time.Time
}

// New returns an empty Source.
func New(o Options) *Source {
	return &Source{options: o, cached: sharedcache.New[string, string, *entry](maxCached)}
}

// Get returns the credential of a remote agent, which is zero if the agent has none, for requests to an origin. user is the subject for whom the sidecar calls, nil for
// none: if the agent needs a token of its users, Get returns one for which the registry has exchanged the credential of the user. refused is
// the Digest of a credential that the agent has refused, "" for none. Its error is ErrNotShared, an *UnavailableError or the error of ctx.
func (s *Source) Get(ctx context.Context, namespace, name, origin string, user *a2a.Subject, refused string) (remotecredential.Credential, error) {
	request := remotecredential.Request{Namespace: namespace, Name: name, Origin: origin, Exchanges: true}
	if user == nil {
		request.Refused = refused
		found, err := s.get(ctx, request)
		return found.credential, err
	}
	exchanges, err := s.Exchanges(ctx, namespace, name, origin)
	switch {
	case err != nil:
		return remotecredential.Credential{}, err
	case !exchanges:
		return s.Get(ctx, namespace, name, origin, nil, refused)
	case user.Credential == "":
		return remotecredential.Credential{}, errNoUserToken
	}
	request.SubjectToken = string(user.Credential)
	request.Refused = refused
	found, err := s.get(ctx, request)
	return found.credential, err
}

// Exchanges reports whether calls of the agent for a user need a token for which the user's token is exchanged. While the registry gives no
// credential, this is what it has said last. Its errors are those of Get.
func (s *Source) Exchanges(ctx context.Context, namespace, name, origin string) (bool, error) {
	found, err := s.get(ctx, remotecredential.Request{Namespace: namespace, Name: name, Origin: origin, Exchanges: true})
	if _, isUnavailable := errors.AsType[*UnavailableError](err); isUnavailable && found.isKnown {
		return found.exchanges, nil // a call that needs the credential fails by the error
	}
	return found.exchanges, err
}

// errNoUserToken is the error for a user whose token the sidecar does not have.
var errNoUserToken = &UnavailableError{Reason: "the agent needs a token of the user for whom it is called (spec.remote.credentials.oauth2.grant), and there is " +
	"none. The caller has sent no token, such as one with an API key, or the turn has ended, or goes on after a takeover or a restart. Call again with a token"}

// get returns the cached entry for a request, or asks the registry.
func (s *Source) get(ctx context.Context, r remotecredential.Request) (*entry, error) {
	key := r.Namespace + "/" + r.Name + " " + r.Origin
	if r.SubjectToken != "" {
		sum := sha256.Sum256([]byte(r.SubjectToken))
		key += " " + string(sum[:])
	}
	now := s.options.Now()
	last := s.last(key)
	if !last.due(now, r.Refused) {
		return last, last.err
	}
	// The request continues if ctx of the first caller ends, because other callers wait for it.
	result := s.getting.DoChan(key, func() (any, error) { return s.renew(context.WithoutCancel(ctx), key, r), nil })
	if last.valid(now, r.Refused) {
		return last, last.err
	}
	select {
	case <-ctx.Done():
		return &entry{}, ctx.Err()
	case answer := <-result:
		next := answer.Val.(*entry) // renew returns no other type
		return next, next.err
	}
}

// last returns the cached entry of a key, nil for none.
func (s *Source) last(key string) *entry {
	last, _ := s.cached.Get(key)
	return last
}

// cost returns the memory of an entry, in bytes.
func (e *entry) cost() int {
	cost := entryCost + len(e.credential.Value) + len(e.credential.Certificate) + len(e.credential.PrivateKey)
	if e.err != nil {
		cost += len(e.err.Error())
	}
	return cost
}

// due reports whether the registry must be asked.
func (e *entry) due(now time.Time, refused string) bool {
	if e == nil || !now.Before(e.renew) {
		return true
	}
	return e.err == nil && refused != "" && e.credential.Digest() == refused && now.Sub(e.got) >= minAge
}

// valid reports whether the entry may be used while a newer one is requested.
func (e *entry) valid(now time.Time, refused string) bool {
	return e != nil && e.err == nil && now.Before(e.expires) && (refused == "" || e.credential.Digest() != refused)
}

func (s *Source) renew(ctx context.Context, key string, r remotecredential.Request) *entry {
	now := s.options.Now()
	last := s.last(key)
	if !last.due(now, r.Refused) {
		return last // another call has asked a moment ago
	}
	answer, err := s.ask(ctx, r)
	next := &entry{credential: answer.Credential, exchanges: answer.Exchanges, isKnown: err == nil, err: err, got: now}
	lifetime := min(time.Duration(answer.ExpiresIn)*time.Second, maxLifetime)
	next.renew = now.Add(lifetime / 2)
	if r.SubjectToken == "" {
		next.renew = now.Add(min(lifetime/2, maxRenewAfter))
	}
	next.expires = now.Add(lifetime)
	unavailable, isUnavailable := errors.AsType[*UnavailableError](err)
	switch {
	case isUnavailable && !unavailable.isGone && last.valid(now, r.Refused):
		kept := *last
		kept.renew = s.options.Now().Add(retryAfter)
		next = &kept
	case err != nil:
		next.renew = s.options.Now().Add(retryAfter)
		if last != nil {
			next.exchanges = last.exchanges
			next.isKnown = last.isKnown
		}
	case answer.Static:
		next.expires = now.Add(lostAge)
	}
	s.cached.Put(r.Namespace, key, next, next.cost())
	return next
}

// withoutService is the answer for a registry that gives no credentials.
var withoutService = remotecredential.Answer{ExpiresIn: 60, Static: true}

// ask sends one request. Its error is ErrNotShared or an *UnavailableError.
func (s *Source) ask(ctx context.Context, r remotecredential.Request) (remotecredential.Answer, error) {
	none := remotecredential.Answer{}
	const lost = "the registry, which has the credential, does not answer"
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	registry, err := s.options.Registry()
	if err != nil {
		return none, &UnavailableError{Reason: lost, err: err}
	}
	if registry.URL == "" {
		return withoutService, nil // the configuration is of an operator that has no such service
	}
	if r.SubjectToken != "" {
		r.Client = registry.Client
	}
	body, err := json.Marshal(r)
	if err != nil {
		return none, &UnavailableError{Reason: lost, err: err}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, registry.URL, bytes.NewReader(body))
	if err != nil {
		return none, &UnavailableError{Reason: lost, err: err}
	}
	request.Header.Set("Authorization", "Bearer "+registry.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := s.options.Transport.RoundTrip(request)
	if err != nil {
		return none, &UnavailableError{Reason: lost, err: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil || len(text) > maxAnswer {
		return none, &UnavailableError{Reason: lost, err: err}
	}
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusForbidden:
		return none, ErrNotShared
	case http.StatusNotFound, http.StatusMethodNotAllowed: // a registry of an earlier version has no such path
		return withoutService, nil
	default:
		var problem struct {
			Error struct {
				Code    string `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(text, &problem) == nil && problem.Error.Message != "" {
			return none, &UnavailableError{Reason: problem.Error.Message, isGone: problem.Error.Code == remotecredential.CodeUnusable}
		}
		return none, &UnavailableError{Reason: lost, err: fmt.Errorf("status %d", response.StatusCode)}
	}
	var answer remotecredential.Answer
	if json.Unmarshal(text, &answer) != nil || answer.ExpiresIn <= 0 {
		return none, &UnavailableError{Reason: lost, err: errors.New("the response is not JSON of a credential")}
	}
	return answer, nil
}
