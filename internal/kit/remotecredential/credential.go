// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package remotecredential has the credential with which a request authenticates at a remote
// agent. The operator makes it from a Secret, and the registry passes it to sidecars.
//
// The package logs nothing, and the texts of its values and errors contain no secret.
package remotecredential

import (
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// Limits of the private key of a client certificate. The time of a signature grows with the third power of the length of an
// RSA key, and nothing interrupts a signature: a key of 82,000 bits takes minutes at each handshake.
const (
	// MaxPrivateKey is the maximum size of the PEM text of a key, in bytes. An RSA key of MaxRSABits has 6.4 KiB.
	MaxPrivateKey = 8 << 10
	// MaxRSABits is the maximum length of an RSA key, which is the one that crypto/tls accepts of other servers.
	MaxRSABits = 8192
)

// ErrKeyTooLong is the error for a private key beyond MaxPrivateKey or MaxRSABits.
var ErrKeyTooLong = errors.New("private key is longer than an RSA key of 8192 bits")

// ErrUnusable means that the Secret of a credential does not exist, may not be read, or has no valid value. The value that it had before is
// not used then, because it may be revoked.
var ErrUnusable = errors.New("the Secret has no usable credential")

// CodeUnusable is the code of the registry's error for ErrUnusable.
const CodeUnusable = "CredentialsUnusable"

// Credential is a value for a header or a query parameter, or a client certificate. The zero value is
// none of them. Its JSON is the response of the registry to a sidecar. It is immutable.
type Credential struct {
	// Header or Query is the name of the header or of the query parameter with Value.
	Header string `json:"header,omitempty"`
	Query  string `json:"query,omitempty"`
	Value  string `json:"value,omitempty"`
	// Certificate and PrivateKey are a client certificate with its chain and its key, as PEM.
	Certificate string `json:"certificate,omitempty"`
	PrivateKey  string `json:"privateKey,omitempty"`
}

// String returns the kind of the credential, so that a log cannot contain the secret.
func (c Credential) String() string {
	switch {
	case c.Header != "":
		return "credential for the header " + c.Header
	case c.Query != "":
		return "credential for the query parameter " + c.Query
	case c.Certificate != "":
		return "client certificate"
	default:
		return "no credential"
	}
}

// GoString returns String, for the verb %#v.
func (c Credential) GoString() string { return c.String() }

// IsZero reports whether the credential is none.
func (c Credential) IsZero() bool { return c == Credential{} }

// Digest returns a text that identifies the credential and does not reveal it, "" for none.
func (c Credential) Digest() string {
	if c.IsZero() {
		return ""
	}
	sum := sha256.Sum256([]byte(c.Header + "\n" + c.Query + "\n" + c.Value + "\n" + c.Certificate + "\n" + c.PrivateKey))
	return hex.EncodeToString(sum[:16])
}

// Apply returns the request with the value. It does not change r. If the request has a header of that name already,
// Apply returns r, because a caller's own credential has precedence.
func (c Credential) Apply(r *http.Request) *http.Request {
	switch {
	case c.Header != "" && r.Header.Get(c.Header) == "":
		r = r.Clone(r.Context())
		r.Header.Set(c.Header, c.Value)
	case c.Query != "":
		r = r.Clone(r.Context())
		if r.URL.RawQuery != "" {
			r.URL.RawQuery += "&"
		}
		r.URL.RawQuery += url.QueryEscape(c.Query) + "=" + url.QueryEscape(c.Value)
	}
	return r
}

// TLSCertificate returns the client certificate, and an empty certificate for another kind of
// credential. It returns ErrKeyTooLong for a key with which a signature takes long. Its error does
// not contain the key.
func (c Credential) TLSCertificate() (*tls.Certificate, error) {
	if c.Certificate == "" {
		return &tls.Certificate{}, nil
	}
	if len(c.PrivateKey) > MaxPrivateKey {
		return nil, ErrKeyTooLong
	}
	pair, err := tls.X509KeyPair([]byte(c.Certificate), []byte(c.PrivateKey))
	if err != nil {
		return nil, errors.New("certificate and private key are not a pair of PEM texts")
	}
	if public, ok := pair.Leaf.PublicKey.(*rsa.PublicKey); ok && public.N.BitLen() > MaxRSABits {
		return nil, ErrKeyTooLong
	}
	return &pair, nil
}

// User is the user for whom an agent calls a remote agent that needs a token of its users. The zero value is none.
type User struct {
	// Token is the user's token, which the registry has verified.
	Token string
	// Expires is the end of the token. No credential for which it was exchanged is used longer.
	Expires time.Time
}

// String returns no token, so that a log cannot contain it.
func (u User) String() string {
	if u.Token == "" {
		return "no user"
	}
	return "a user until " + u.Expires.String()
}

// GoString returns String, for the verb %#v.
func (u User) GoString() string { return u.String() }

// Request is the body of a sidecar's request for the credential of a remote agent.
type Request struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Origin is the origin that the sidecar calls, as client.Origin returns it. It is "" for an earlier sidecar, which calls the
	// one of the URL in the registry.
	Origin string `json:"origin,omitempty"`
	// Refused is the Digest of a credential that the agent has refused, "" for none.
	Refused string `json:"refused,omitempty"`
	// Exchanges is true for a sidecar that reads Answer.Exchanges. The registry gives others no credential of an agent
	// whose calls for users need a token of the user.
	Exchanges bool `json:"exchanges,omitempty"`
	// SubjectToken is the token of the user for whom the sidecar calls, and Client the audience of its agent. Both are ""
	// for the credential of the agent itself.
	SubjectToken string `json:"subjectToken,omitempty"`
	Client       string `json:"client,omitempty"`
}

// Answer is the body of the response. Its Credential is zero if the agent has none.
type Answer struct {
	Credential
	// ExpiresIn is how long the sidecar may use the credential, in seconds.
	ExpiresIn int `json:"expiresIn"`
	// Static is true for a credential that has no end of its own. A sidecar then uses it for longer while the
	// registry does not answer.
	Static bool `json:"static,omitempty"`
	// Exchanges is true if the credential is for calls without a user, and a call for a user needs one for which the
	// user's token was exchanged.
	Exchanges bool `json:"exchanges,omitempty"`
}
