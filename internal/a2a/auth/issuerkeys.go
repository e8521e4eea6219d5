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
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Times and bounds of the fetching of keys.
const (
	// keysInterval is how often keys are fetched when all is well.
	keysInterval = 5 * time.Minute
	// keysPause is the least time between two fetches, however many tokens name
	// keys that are not known; and the most between two that fail.
	keysPause = time.Minute
	// keysRetry is the time after the first fetch that fails. It doubles.
	keysRetry = time.Second
	// keysTimeout bounds one request.
	keysTimeout = 10 * time.Second
	// maxKeysAge is how long keys are used when no others can be had.
	maxKeysAge = time.Hour
	// maxKeysBytes bounds an answer, and maxKeys what is tried for one token.
	maxKeysBytes = 64 << 10
	maxKeys      = 32
)

// discoveryPath is below the issuer (OpenID Connect Discovery 1.0).
const discoveryPath = "/.well-known/openid-configuration"

// KeySource says where the keys of an issuer are.
type KeySource struct {
	Issuer string
	// URL is that of the JWK set (RFC 7517); "" is the one that the issuer's
	// discovery document names.
	URL string
}

// IssuerKeysConfig is what is needed to fetch keys.
type IssuerKeysConfig struct {
	Source KeySource
	// Transport reaches the issuer.
	Transport http.RoundTripper
	// Observe is called after each fetch, with nil or an error that is a
	// *KeysError wherever an address was asked. It must not block.
	Observe func(err error)
	Log     *slog.Logger
	Now     func() time.Time
}

// IssuerKeys are the keys of one issuer, kept fresh while Run runs.
type IssuerKeys struct {
	config IssuerKeysConfig
	client *http.Client
	state  atomic.Pointer[fetchedKeys]
	// wanted has an element when a token named a key that is not known.
	wanted chan struct{}
}

// keySet never changes. Equal answers of an issuer are one set.
type keySet struct {
	text []byte
	keys []jose.JSONWebKey
}

type fetchedKeys struct {
	*keySet
	at time.Time
}

// KeysError says which address did not serve the keys of an issuer, or the
// discovery document that names it.
type KeysError struct {
	// URL has no user information.
	URL string
	// Status is that of an answer that is not 200, and else 0.
	Status int
	// Content is true where the answer is 200, and its content is none that can be
	// used.
	Content bool
	Err     error
}

// Error implements error.
func (e *KeysError) Error() string {
	switch {
	case e.Status != 0:
		return fmt.Sprintf("fetch keys: GET %s is answered with status %d", e.URL, e.Status)
	case e.Content:
		return fmt.Sprintf("read keys: GET %s: %v", e.URL, e.Err)
	default:
		return fmt.Sprintf("fetch keys: GET %s: %v", e.URL, e.Err)
	}
}

// Unwrap returns the cause.
func (e *KeysError) Unwrap() error { return e.Err }

// unreadable is the error for an answer that cannot be used.
func unreadable(source string, err error) error {
	return &KeysError{URL: redacted(source), Content: true, Err: err}
}

// redacted is an address without user information.
func redacted(source string) string {
	u, err := url.Parse(source)
	if err != nil {
		return source
	}
	u.User = nil
	return u.String()
}

// NewIssuerKeys returns keys that are still unknown.
func NewIssuerKeys(c IssuerKeysConfig) *IssuerKeys {
	return &IssuerKeys{
		config: c,
		client: &http.Client{
			Transport: c.Transport,
			Timeout:   keysTimeout,
			// Where keys come from is what was configured.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		wanted: make(chan struct{}, 1),
	}
}

// Source returns where the keys come from.
func (k *IssuerKeys) Source() KeySource { return k.config.Source }

// Known reports whether there are keys that tokens are verified by.
func (k *IssuerKeys) Known() bool { return k.current(k.config.Now()) != nil }

// current returns the keys, and nil when there are none or only old ones.
func (k *IssuerKeys) current(now time.Time) *keySet {
	state := k.state.Load()
	if state == nil || now.Sub(state.at) > maxKeysAge {
		return nil
	}
	return state.keySet
}

// want has the keys fetched soon. It does not wait.
func (k *IssuerKeys) want() {
	select {
	case k.wanted <- struct{}{}:
	default:
	}
}

// Run fetches the keys, again and again, until ctx ends.
func (k *IssuerKeys) Run(ctx context.Context) {
	retry := keysRetry
	for {
		next := keysInterval
		err := k.fetch(ctx)
		if ctx.Err() != nil {
			return
		}
		k.config.Observe(err)
		if err == nil {
			retry = keysRetry
		} else {
			next, retry = retry, min(2*retry, keysPause)
			k.config.Log.WarnContext(ctx, "fetch keys of issuer", "issuer", k.config.Source.Issuer, "retryIn", next, "error", err)
		}
		if !k.pause(ctx, next) {
			return
		}
	}
}

// pause waits for the next fetch. It returns false when ctx has ended.
func (k *IssuerKeys) pause(ctx context.Context, next time.Duration) bool {
	due, soon := time.NewTimer(next), time.NewTimer(keysPause)
	defer due.Stop()
	defer soon.Stop()
	var wanted <-chan struct{}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-due.C:
			return true
		case <-soon.C:
			wanted = k.wanted
		case <-wanted:
			return true
		}
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
	k.config.Log.InfoContext(ctx, "took keys of issuer", "issuer", k.config.Source.Issuer, "keys", len(keys))
	return nil
}

// discover returns the address of the keys that the issuer names.
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
		return "", unreadable(source, errors.New("jwks_uri is no address that its keys may come from"))
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
			err = inner.Err // without the address, which may name a user
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
		return nil, unreadable(source, fmt.Errorf("it has more than %d bytes", maxKeysBytes))
	}
	return text, nil
}

// errNotJSON is the error for an answer such as a web page.
var errNotJSON = errors.New("the content is no JSON object of the expected form")

// parseKeys reads the keys of a set that may verify tokens. What is of an
// unknown kind, secret or weak is left out.
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
		if key.Use != "enc" && (uses.Operations == nil || slices.Contains(uses.Operations, "verify")) && usable(key.Key) {
			keys = append(keys, key)
		}
	}
	switch {
	case len(keys) == 0:
		return nil, errors.New("no member of keys is a public key that may verify signatures")
	case len(keys) > maxKeys:
		return nil, fmt.Errorf("%d keys are more than %d", len(keys), maxKeys)
	}
	return keys, nil
}
