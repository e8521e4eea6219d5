// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Intervals and limits of fetching keys.
const (
	// keysInterval is the time between two successful fetches.
	keysInterval = 5 * time.Minute
	// keysPause is the minimum time between two fetches that tokens with unknown keys request. Anyone can send such tokens, so it is also
	// the longest time for which they delay the fetch of a new key.
	keysPause = 10 * time.Second
	// keysWait is how long a token with an unknown key waits for the fetch that it requests.
	keysWait = 2 * time.Second
	// keysRetry is the first delay of the exponential backoff after failures.
	keysRetry = time.Second
	// keysBackoff is the longest backoff.
	keysBackoff = time.Minute
	// keysTimeout bounds one request.
	keysTimeout = 10 * time.Second
	// maxKeysAge is the age at which keys are no longer used to verify tokens.
	maxKeysAge = time.Hour
	// maxKeysBytes bounds a response of the issuer, in bytes. maxKeys bounds the number of
	// keys of an issuer.
	maxKeysBytes = 64 << 10
	maxKeys      = 32
)

// discoveryPath is the path of the discovery document below the issuer's URL (OpenID
// Connect Discovery 1.0).
const discoveryPath = "/.well-known/openid-configuration"

// KeySource is the place of the keys of an issuer.
type KeySource struct {
	Issuer string
	// URL is the URL of the JWK set (RFC 7517). If it is "", the URL is read from the
	// discovery document of the issuer.
	URL string
}

// IssuerKeysConfig configures the fetching of keys.
type IssuerKeysConfig struct {
	Source KeySource
	// Transport reaches the issuer.
	Transport http.RoundTripper
	// Observe is called after each fetch. Its argument is nil after a success, and otherwise
	// the error, which is a *KeysError if a request was made. Observe must not block.
	Observe func(err error)
	Log     *slog.Logger
	Now     func() time.Time
}

// IssuerKeys holds the keys of one issuer. Run refreshes them. Its methods are safe for
// concurrent use.
type IssuerKeys struct {
	config IssuerKeysConfig
	client *http.Client
	state  atomic.Pointer[fetchedKeys]
	// requested has an element from the time at which a token names an unknown key until Run
	// begins a fetch because of it.
	requested chan struct{}

	mu sync.Mutex
	// running is true while Run runs.
	running bool
	// allowed is the time from which Run fetches the keys at once if a token requests it.
	allowed time.Time
	// pending is closed at the end of the fetch that a token has requested, nil for none.
	pending chan struct{}
}

// keySet is the keys of an issuer. It is immutable. While the responses of the issuer are
// equal, the same keySet stays in use.
type keySet struct {
	text []byte
	keys []jose.JSONWebKey
}

type fetchedKeys struct {
	*keySet
	at time.Time
}

// KeysError is the failure to fetch the keys or the discovery document of an issuer from
// one address.
type KeysError struct {
	// URL has no user information.
	URL string
	// Status is the HTTP status of a response, if it is not 200. Otherwise it is 0.
	Status int
	// Content is true if the status of the response is 200 and its content is not usable.
	Content bool
	Err     error
}

// Error implements error.
func (e *KeysError) Error() string {
	switch {
	case e.Status != 0:
		return fmt.Sprintf("fetch keys: GET %s: status %d", e.URL, e.Status)
	case e.Content:
		return fmt.Sprintf("read keys: GET %s: %v", e.URL, e.Err)
	default:
		return fmt.Sprintf("fetch keys: GET %s: %v", e.URL, e.Err)
	}
}

// Unwrap returns the cause.
func (e *KeysError) Unwrap() error { return e.Err }

// unreadable returns the error for an answer with unusable content.
func unreadable(source string, err error) error {
	return &KeysError{URL: redacted(source), Content: true, Err: err}
}

// redacted returns a URL without user information.
func redacted(source string) string {
	u, err := url.Parse(source)
	if err != nil {
		return source
	}
	u.User = nil
	return u.String()
}

// NewIssuerKeys returns an empty IssuerKeys.
func NewIssuerKeys(c IssuerKeysConfig) *IssuerKeys {
	return &IssuerKeys{
		config: c,
		client: &http.Client{
			Transport: c.Transport,
			Timeout:   keysTimeout,
			// A redirect is refused, so that keys come from the configured address only.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		requested: make(chan struct{}, 1),
	}
}

// Source returns the configured place of the keys.
func (k *IssuerKeys) Source() KeySource { return k.config.Source }

// Known reports whether there are keys that are younger than maxKeysAge.
func (k *IssuerKeys) Known() bool { return k.current(k.config.Now()) != nil }

// current returns the keys. It returns nil if there are none or if they are older than
// maxKeysAge.
func (k *IssuerKeys) current(now time.Time) *keySet {
	state := k.state.Load()
	if state == nil || now.Sub(state.at) > maxKeysAge {
		return nil
	}
	return state.keySet
}

// requestFetch makes Run fetch the keys soon, but at least keysPause after the last fetch that was requested.
// It does not block. It returns a channel that is closed at the end of the fetch, and nil if Run does not begin the fetch at once. It requests
// nothing if a fetch has replaced the former keys meanwhile.
func (k *IssuerKeys) requestFetch(former *keySet) <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if current := k.current(k.config.Now()); current != nil && current != former {
		return nil
	}
	if k.running && k.pending == nil && !k.config.Now().Before(k.allowed) {
		k.pending = make(chan struct{})
	}
	select {
	case k.requested <- struct{}{}:
	default:
	}
	return k.pending
}

// newer requests a fetch because of a token with an unknown key, and waits for its end, at most keysWait. An issuer may sign with a key at
// the moment at which it publishes the key. newer returns the fetched keys, and nil if they are the former ones or if there was no fetch. The
// fetch may also have ended since the caller has read the former keys.
func (k *IssuerKeys) newer(ctx context.Context, former *keySet) *keySet {
	if fetched := k.requestFetch(former); fetched != nil {
		late := time.NewTimer(keysWait)
		defer late.Stop()
		select {
		case <-fetched:
		case <-late.C:
		case <-ctx.Done():
		}
	}
	if current := k.current(k.config.Now()); current != former {
		return current
	}
	return nil
}

// begin returns the requested fetch that begins now, nil for none. asked is true if a token has requested it.
func (k *IssuerKeys) begin(asked bool) (pending chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running = true
	if asked && k.pending == nil {
		k.pending = make(chan struct{})
	}
	if k.pending != nil {
		select {
		case <-k.requested:
		default:
		}
	}
	return k.pending
}

// untilAllowed returns the time until Run may fetch the keys because a token requests it.
func (k *IssuerKeys) untilAllowed() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.allowed.Sub(k.config.Now())
}

// end wakes the tokens that wait for a fetch.
func (k *IssuerKeys) end(pending chan struct{}) {
	if pending == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pending = nil
	k.allowed = k.config.Now().Add(keysPause)
	close(pending)
}

// stop wakes the tokens that wait at the end of Run.
func (k *IssuerKeys) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running = false
	if k.pending != nil {
		close(k.pending)
		k.pending = nil
	}
}

// Run fetches the keys periodically until ctx ends. It blocks until then.
func (k *IssuerKeys) Run(ctx context.Context) {
	defer k.stop()
	retry := keysRetry
	asked := false
	for {
		next := keysInterval
		pending := k.begin(asked)
		err := k.fetch(ctx)
		k.end(pending)
		if ctx.Err() != nil {
			return
		}
		k.config.Observe(err)
		if err == nil {
			retry = keysRetry
		} else {
			next = retry
			retry = min(2*retry, keysBackoff)
			k.config.Log.WarnContext(ctx, "fetching the keys of an issuer failed", "issuer", k.config.Source.Issuer, "retryIn", next, "error", err)
		}
		asked = k.pause(ctx, next)
		if ctx.Err() != nil {
			return
		}
	}
}

// pause waits until the next fetch is due, for the duration next, or until ctx ends. If a token requests the fetch, it is due earlier: at
// once, or keysPause after the last one that was requested. pause reports whether it ends because of a token.
func (k *IssuerKeys) pause(ctx context.Context, next time.Duration) (asked bool) {
	due := time.NewTimer(next)
	defer due.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-due.C:
		return false
	case <-k.requested:
	}
	soon := time.NewTimer(k.untilAllowed())
	defer soon.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-due.C:
		return false // this fetch answers the request, too
	case <-soon.C:
		return true
	}
}

func (k *IssuerKeys) fetch(ctx context.Context) error {
	source := k.config.Source.URL
	if source == "" {
		var err error
		if source, err = k.discover(ctx); err != nil {
			return err
		}
	}
	text, err := k.get(ctx, source)
	if err != nil {
		return err
	}
	now := k.config.Now()
	if former := k.state.Load(); former != nil && bytes.Equal(former.text, text) {
		k.state.Store(&fetchedKeys{former.keySet, now})
		return nil
	}
	keys, err := parseKeys(text)
	if err != nil {
		return unreadable(source, err)
	}
	k.state.Store(&fetchedKeys{&keySet{text, keys}, now})
	k.config.Log.InfoContext(ctx, "keys of an issuer changed", "issuer", k.config.Source.Issuer, "keys", len(keys))
	return nil
}

// discover returns the URL of the keys from the discovery document of the issuer.
func (k *IssuerKeys) discover(ctx context.Context) (string, error) {
	issuer := k.config.Source.Issuer
	source := strings.TrimSuffix(issuer, "/") + discoveryPath
	text, err := k.get(ctx, source)
	if err != nil {
		return "", err
	}
	var document struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return "", unreadable(source, errNotJSON)
	}
	if document.Issuer != issuer {
		return "", unreadable(source, fmt.Errorf("the document is of issuer %.200q", document.Issuer))
	}
	keys, err := url.Parse(document.JWKSURI)
	if err != nil || keys.Host == "" || keys.Scheme != "https" && (keys.Scheme != "http" || strings.HasPrefix(issuer, "https:")) {
		return "", unreadable(source, errors.New("jwks_uri must be an https URL, or an http URL if the issuer has one"))
	}
	return document.JWKSURI, nil
}

func (k *IssuerKeys) get(ctx context.Context, source string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, &KeysError{URL: redacted(source), Err: err}
	}
	request.Header.Set("Accept", "application/json, application/jwk-set+json")
	response, err := k.client.Do(request)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // without url.Error, whose URL may contain user information
		}
		return nil, &KeysError{URL: redacted(source), Err: err}
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, &KeysError{URL: redacted(source), Status: response.StatusCode}
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxKeysBytes+1))
	if err != nil {
		return nil, &KeysError{URL: redacted(source), Err: err}
	}
	if len(text) > maxKeysBytes {
		return nil, unreadable(source, fmt.Errorf("the content has more than %d bytes", maxKeysBytes))
	}
	return text, nil
}

// errNotJSON is the error for content that is not JSON, such as a web page.
var errNotJSON = errors.New("the content is not a JSON object of the expected form")

// parseKeys returns the keys in a JWK set with which tokens may be verified. It skips
// keys of unknown kinds, secret keys and weak keys. It returns an error if no key
// remains, or if more than maxKeys remain.
func parseKeys(text []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, errNotJSON
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		var uses struct {
			Operations []string `json:"key_ops"`
		}
		if json.Unmarshal(raw, &key) != nil || json.Unmarshal(raw, &uses) != nil {
			continue
		}
		if key.Use != "enc" && (uses.Operations == nil || slices.Contains(uses.Operations, "verify")) && usableKey(key.Key) {
			keys = append(keys, key)
		}
	}
	switch {
	case len(keys) == 0:
		return nil, errors.New("no member of keys is a public key that may verify signatures")
	case len(keys) > maxKeys:
		return nil, fmt.Errorf("it has %d keys, and at most %d are allowed", len(keys), maxKeys)
	}
	return keys, nil
}
