// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/fairslots"
	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
	"github.com/a2a-operator/a2a-operator/internal/operator/pagedlist"
)

const (
	// secretAge is how long the content of a Secret is used until the Secret is read again. An error
	// is used for as long.
	secretAge = 10 * time.Second
	// minCredentialAge is the age from which a credential that a remote agent has refused is replaced. It bounds the
	// requests to an authorization server for a remote agent that refuses every credential.
	minCredentialAge = 5 * time.Second
	// credentialTimeout bounds the time to get a credential: the read of the Secret, and the requests to the
	// authorization server.
	credentialTimeout = 8 * time.Second
	// clockDifference is by how much the clock of the issuer of a certificate may be ahead.
	clockDifference = time.Minute
	// maxValue and maxPEM bound the values of a Secret, in bytes: a token, a key or a password, and a chain of certificates or
	// its key.
	maxValue = 16 << 10
	maxPEM   = 64 << 10
	// concurrentSecrets bounds the Secrets that are read at a time, which may be large, and concurrentExchanges the exchanges of tokens of
	// users. One namespace has sameNamespace of each at most.
	concurrentSecrets   = 32
	concurrentExchanges = 32
	sameNamespace       = 8
	// waitingExchanges bounds the exchanges that wait for their turn, for exchangeWait at most. An authorization server that does not
	// answer then causes quick errors, and not a number of exchanges that grows.
	waitingExchanges = 256
	exchangeWait     = 2 * time.Second
)

// Credentials gets the credentials of remote agents (spec.remote.credentials), for the operator and for
// sidecars. It caches them in memory. It is safe for concurrent use.
type Credentials struct {
	secrets client.Reader
	guard   http.RoundTripper
	clock   clock.PassiveClock
	getting singleflight.Group

	reading, exchanging *fairslots.Slots[string]

	// agents has the credentials of Agents, and users those that are for users.
	agents, users cache
}

func keyOf(a *a2av1alpha1.Agent, user remotecredential.User) cacheKey {
	key := cacheKey{agent: client.ObjectKeyFromObject(a)}
	if user.Token != "" {
		sum := sha256.Sum256([]byte(user.Token))
		key.user = string(sum[:])
	}
	return key
}

// cachedCredential is the result of the last attempt to get a credential. It is immutable.
type cachedCredential struct {
	uid types.UID
	// spec is the digest of spec.remote.credentials.
	spec [sha256.Size]byte
	issued
	err error
	// made is the time just before the attempt.
	made time.Time
}

// issued is a credential with its times.
type issued struct {
	credential remotecredential.Credential
	// renew is the time from which the next credential is requested, and expires the time from which this one is
	// not used, zero for none.
	renew, expires time.Time
}

// NewCredentials returns an empty Credentials. secrets reads Secrets from the API server, and guard sends the
// requests to authorization servers.
func NewCredentials(secrets client.Reader, guard http.RoundTripper, passive clock.PassiveClock) *Credentials {
	return &Credentials{
		secrets: secrets, guard: guard, clock: passive, agents: newCache(), users: newCache(),
		reading: fairslots.New[string](fairslots.Options{Slots: concurrentSecrets, PerTenant: sameNamespace, Waiting: 1 << 20}), // their callers are bounded
		exchanging: fairslots.New[string](fairslots.Options{
			Slots: concurrentExchanges, PerTenant: sameNamespace, Waiting: waitingExchanges,
		}),
	}
}

// agentDeleted drops what is cached for a deleted Agent.
func (c *Credentials) agentDeleted(agent types.NamespacedName) {
	c.agents.dropAgent(agent)
	c.users.dropAgent(agent)
}

func (c *Credentials) cacheOf(key cacheKey) cache {
	if key.user != "" {
		return c.users
	}
	return c.agents
}

// Of returns the credential of a remote Agent for a user, and the time from which it is not valid, zero for none. The credential is
// zero if the Agent has none. refused is the digest of a credential that the remote agent has refused, "" for none: Of then
// gets the next one, unless this one is younger than minCredentialAge. Its errors wrap errCredentials, or are the error of ctx.
func (c *Credentials) Of(ctx context.Context, a *a2av1alpha1.Agent, user remotecredential.User, refused string) (credential remotecredential.Credential, expires time.Time, err error) {
	if a.Spec.Remote == nil || a.Spec.Remote.Credentials == nil {
		return remotecredential.Credential{}, time.Time{}, nil
	}
	key := keyOf(a, user)
	last := c.last(a, key)
	now := c.clock.Now()
	if !last.due(now, refused) {
		return last.credential, last.expires, last.err
	}
	attempt := fmt.Sprintf("%s/%s %s %d %s", a.Namespace, a.Name, a.UID, a.Generation, key.user)
	// The attempt continues if ctx of the first caller ends, because other callers wait for it.
	result := c.getting.DoChan(attempt, func() (any, error) { return c.get(context.WithoutCancel(ctx), a, user, refused), nil })
	// A token is used until its end. What a Secret contained before may be revoked, and the Secret is read soon.
	if last.valid(now) && !last.expires.IsZero() && (refused == "" || last.credential.Digest() != refused) {
		return last.credential, last.expires, nil
	}
	select {
	case <-ctx.Done():
		return remotecredential.Credential{}, time.Time{}, ctx.Err()
	case answer := <-result:
		next := answer.Val.(*cachedCredential) // get returns no other type
		return next.credential, next.expires, next.err
	}
}

// last returns the cached result for the Agent as it is now, nil for none.
func (c *Credentials) last(a *a2av1alpha1.Agent, key cacheKey) *cachedCredential {
	last := c.cacheOf(key).get(key)
	if last == nil || last.uid != a.UID || last.spec != specOf(a) {
		return nil
	}
	return last
}

func specOf(a *a2av1alpha1.Agent) [sha256.Size]byte {
	text, _ := json.Marshal(a.Spec.Remote.Credentials) // texts have a JSON form
	return sha256.Sum256(text)
}

func (l *cachedCredential) valid(now time.Time) bool {
	return l != nil && l.err == nil && (l.expires.IsZero() || now.Before(l.expires))
}

// due reports whether the credential must be got again.
func (l *cachedCredential) due(now time.Time, refused string) bool {
	if l == nil || !now.Before(l.renew) {
		return true
	}
	return refused != "" && l.credential.Digest() == refused && now.Sub(l.made) >= minCredentialAge
}

// get gets a credential and caches the result.
func (c *Credentials) get(ctx context.Context, a *a2av1alpha1.Agent, user remotecredential.User, refused string) *cachedCredential {
	now := c.clock.Now()
	key := keyOf(a, user)
	last := c.last(a, key)
	if !last.due(now, refused) {
		return last // another call has got it a moment ago
	}
	if user.Token != "" {
		waiting, cancel := context.WithTimeout(ctx, exchangeWait)
		defer cancel()
		release, err := c.exchanging.Acquire(waiting, a.Namespace)
		if err != nil {
			return &cachedCredential{err: fmt.Errorf("%w: %w", errCredentials, errBusy)} // it is not cached, because the next attempt can succeed
		}
		defer release()
	}
	ctx, cancel := context.WithTimeout(ctx, credentialTimeout)
	defer cancel()
	next := &cachedCredential{uid: a.UID, spec: specOf(a), made: now}
	next.issued, next.err = c.issue(ctx, a, user, now)
	if isUnusable(next.err) {
		next.err = fmt.Errorf("%w: %w", remotecredential.ErrUnusable, next.err)
	}
	if next.err != nil {
		next.err = fmt.Errorf("%w: %w", errCredentials, next.err)
		next.renew = c.clock.Now().Add(secretAge)
		if last.valid(now) && !last.expires.IsZero() && last.credential.Digest() != refused {
			kept := *last
			kept.renew = next.renew
			next = &kept
		}
	}
	c.cacheOf(key).put(key, next)
	return next
}

// isUnusable reports whether an error means that the Secret has no usable value for the operator, and not that it could not be read now.
func isUnusable(err error) bool {
	var value *secretError
	return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || errors.As(err, &value)
}

func (c *Credentials) issue(ctx context.Context, a *a2av1alpha1.Agent, user remotecredential.User, now time.Time) (issued, error) {
	spec := a.Spec.Remote.Credentials
	if spec.Type == a2av1alpha1.RemoteCredentialsOAuth2 {
		found := c.client(ctx, a)
		if found.err != nil {
			return issued{}, found.err
		}
		return requestToken(ctx, c.guard, spec.OAuth2, found.credential.Value, user, now)
	}
	secret, err := c.read(ctx, a)
	if err != nil {
		return issued{}, err
	}
	credential, err := fromSecret(spec, secret, now)
	return issued{credential: credential, renew: now.Add(secretAge)}, err
}

// client returns the client secret of an Agent. However many users call the Agent, the Secret is read once in secretAge.
func (c *Credentials) client(ctx context.Context, a *a2av1alpha1.Agent) *cachedCredential {
	key := cacheKey{agent: client.ObjectKeyFromObject(a), client: true}
	found, _, _ := c.getting.Do(fmt.Sprintf("client of %s %s %x", key.agent, a.UID, specOf(a)), func() (any, error) {
		now := c.clock.Now()
		if last := c.last(a, key); !last.due(now, "") {
			return last, nil
		}
		next := &cachedCredential{uid: a.UID, spec: specOf(a), made: now, issued: issued{renew: now.Add(secretAge)}}
		secret, err := c.read(ctx, a)
		if err == nil {
			next.credential.Value, err = valueOf(secret, secretKey(a.Spec.Remote.Credentials))
		}
		next.err = err
		c.agents.put(key, next)
		return next, nil
	})
	return found.(*cachedCredential) // the function returns no other type
}

// read reads the keys of an Agent's Secret that have values of a credential.
func (c *Credentials) read(ctx context.Context, a *a2av1alpha1.Agent) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: a.Namespace, Name: a.Spec.Remote.Credentials.SecretRef.Name}
	release, err := c.reading.Acquire(ctx, a.Namespace)
	kept := &corev1.Secret{Data: map[string][]byte{}}
	if err == nil {
		defer release()
		err = pagedlist.Get(ctx, c.secrets, key, secret, func() {
			for _, name := range []string{
				secretKey(a.Spec.Remote.Credentials), corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey, corev1.TLSCertKey, corev1.TLSPrivateKeyKey,
			} {
				kept.Data[name] = secret.Data[name]
			}
		})
	}
	if err != nil {
		return nil, fmt.Errorf("get Secret %s: %w", key, err)
	}
	return kept, nil
}

// fromSecret returns the credential that a Secret contains.
func fromSecret(spec *a2av1alpha1.RemoteCredentials, secret *corev1.Secret, now time.Time) (remotecredential.Credential, error) {
	none := remotecredential.Credential{}
	switch spec.Type { //nolint:exhaustive // the other types have one value
	case a2av1alpha1.RemoteCredentialsBasic:
		user, err := valueOf(secret, corev1.BasicAuthUsernameKey)
		if err != nil {
			return none, err
		}
		password, err := valueOf(secret, corev1.BasicAuthPasswordKey)
		if err != nil {
			return none, err
		}
		return remotecredential.Credential{Header: "Authorization", Value: "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}, nil
	case a2av1alpha1.RemoteCredentialsClientCertificate:
		for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
			switch n := len(secret.Data[key]); {
			case n == 0:
				return none, &secretError{key: key, cause: errNoKey}
			case n > maxPEM:
				return none, &secretError{key: key, cause: tooLargeError(maxPEM)}
			}
		}
		certificate := remotecredential.Credential{
			Certificate: string(secret.Data[corev1.TLSCertKey]), PrivateKey: string(secret.Data[corev1.TLSPrivateKeyKey]),
		}
		pair, err := certificate.TLSCertificate()
		switch {
		case errors.Is(err, remotecredential.ErrKeyTooLong):
			return none, &secretError{key: corev1.TLSPrivateKeyKey, cause: err}
		case err != nil:
			return none, &secretError{key: corev1.TLSCertKey, cause: errNoPair}
		case now.Add(clockDifference).Before(pair.Leaf.NotBefore) || now.After(pair.Leaf.NotAfter):
			return none, &secretError{key: corev1.TLSCertKey, cause: errNotValidNow}
		}
		return certificate, nil
	}
	value, err := valueOf(secret, secretKey(spec))
	switch {
	case err != nil:
		return none, err
	case spec.Type != a2av1alpha1.RemoteCredentialsAPIKey:
		return remotecredential.Credential{Header: "Authorization", Value: "Bearer " + value}, nil
	default:
		return remotecredential.Credential{Header: spec.APIKey.Header, Query: spec.APIKey.Query, Value: value}, nil
	}
}

// secretKey returns the key of the value in the Secret.
func secretKey(spec *a2av1alpha1.RemoteCredentials) string {
	standard := "token"
	if spec.Type == a2av1alpha1.RemoteCredentialsOAuth2 {
		standard = "client-secret"
	}
	return cmp.Or(spec.SecretRef.Key, standard)
}

var (
	// errNoKey is the error for a Secret that lacks a key, or whose value is empty.
	errNoKey = errors.New("no such key in the Secret")
	// errNoHeader is the error for a value that an HTTP header cannot contain.
	errNoHeader = errors.New("value has characters that a header cannot carry")
	// errNoPair is the error for a certificate that does not belong to its key.
	errNoPair = errors.New("certificate and key are not a pair of PEM texts")
	// errNotValidNow is the error for a certificate that has expired, or is not valid yet.
	errNotValidNow = errors.New("certificate is not valid at this time")
)

// errBusy is the error for an exchange that had no turn in time.
var errBusy = errors.New("too many tokens of users are being exchanged")

// tooLargeError is the error for a value of more bytes than it says.
type tooLargeError int

func (e tooLargeError) Error() string { return fmt.Sprintf("value has more than %d KiB", int(e)>>10) }

// secretError is an error about the value of a key of a Secret. It does not contain the value.
type secretError struct {
	key   string
	cause error
}

func (e *secretError) Error() string { return fmt.Sprintf("key %q: %v", e.key, e.cause) }

func (e *secretError) Unwrap() error { return e.cause }

// valueOf returns the value of a key without the white space around it, because a stored token often ends with a
// line break.
func valueOf(secret *corev1.Secret, key string) (string, error) {
	if len(secret.Data[key]) > maxValue {
		return "", &secretError{key: key, cause: tooLargeError(maxValue)}
	}
	value := strings.TrimSpace(string(secret.Data[key]))
	switch {
	case value == "":
		return "", &secretError{key: key, cause: errNoKey}
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return "", &secretError{key: key, cause: errNoHeader}
	}
	return value, nil
}
