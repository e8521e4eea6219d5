// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

const (
	// sessionCookie is the prefix of the names of the cookies of a session. Because the names begin with
	// __Host-, browsers accept these cookies only over TLS, and only from this host (RFC 6265bis, section
	// 4.1.3.2).
	sessionCookie = "__Host-a2a-session"
	// maxSession is the maximum duration of a session. If the ID token of the person expires earlier, the
	// session ends then.
	maxSession = 12 * time.Hour
	// maxCookieValue bounds the value of one cookie, in bytes, because browsers store at most 4096 bytes
	// for a cookie. maxCookies bounds the cookies of a session.
	maxCookieValue = 3800
	maxCookies     = 4
)

// errManyGroups is the error for a person whose groups need more than maxCookies cookies.
var errManyGroups = errors.New("the groups of the person are too many for a cookie")

// session is the content of the cookies of a person who has signed in.
type session struct {
	Username string    `json:"username"`
	Groups   []string  `json:"groups"`
	Expires  time.Time `json:"expires"`
}

// caller returns the person as a caller of the registry.
func (s *session) caller() (access.Caller, error) {
	return access.NewCaller(authenticationv1.UserInfo{Username: s.Username, Groups: s.Groups})
}

func cookieName(i int) string {
	if i == 0 {
		return sessionCookie
	}
	return sessionCookie + "-" + strconv.Itoa(i)
}

// setCookie sets a cookie for this host. Scripts cannot read the cookie, and browsers do not send it with
// POST requests from other sites. An empty value deletes the cookie.
func setCookie(w http.ResponseWriter, name, value string, lifetime time.Duration) {
	cookie := &http.Cookie{Name: name, Value: value, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: int(lifetime / time.Second)}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// write sets the cookies of a session, and deletes further session cookies that the browser may
// have. It returns errManyGroups if the session needs more than maxCookies.
func (s *session) write(w http.ResponseWriter, sealed *sealer, now time.Time) error {
	text, err := sealed.seal("session", s)
	if err != nil {
		return err
	}
	count := (len(text) + maxCookieValue - 1) / maxCookieValue
	if count > maxCookies {
		return errManyGroups
	}
	text = strconv.Itoa(count) + "." + text
	for i := range maxCookies {
		n := min(len(text), maxCookieValue+2)
		if i == count-1 {
			n = len(text)
		}
		setCookie(w, cookieName(i), text[:n], s.Expires.Sub(now))
		text = text[n:]
	}
	return nil
}

// endSession deletes the cookies of a session.
func endSession(w http.ResponseWriter) {
	for i := range maxCookies {
		setCookie(w, cookieName(i), "", 0)
	}
}

// readSession returns the session of a request, or nil if there is no valid session. It returns an error
// if it cannot read the key of cookies.
func readSession(r *http.Request, sealed *sealer, now time.Time) (*session, error) {
	first, err := r.Cookie(cookieName(0))
	if err != nil {
		return nil, nil //nolint:nilerr // no session is a result
	}
	number, text, _ := strings.Cut(first.Value, ".")
	count, err := strconv.Atoi(number)
	if err != nil || count < 1 || count > maxCookies {
		return nil, nil //nolint:nilerr // a foreign cookie is no session
	}
	for i := 1; i < count; i++ {
		next, err := r.Cookie(cookieName(i))
		if err != nil {
			return nil, nil //nolint:nilerr // an incomplete cookie is no session
		}
		text += next.Value
	}
	out := &session{}
	err = sealed.open("session", text, out)
	switch {
	case errors.Is(err, errSealed):
		return nil, nil // nil: the cookie was sealed with another key
	case err != nil:
		return nil, err
	case !now.Before(out.Expires):
		return nil, nil // nil: the session has expired
	}
	return out, nil
}

// The files in Options.SecretDir.
const (
	// cookieKeyFile contains the secret from which the keys of cookies are derived.
	cookieKeyFile = "cookieKey"
	// clientSecretFile contains the client secret. The file is absent for a public client.
	clientSecretFile = "clientSecret"
)

// minCookieKey is the minimum length of the secret in cookieKeyFile, in bytes.
const minCookieKey = 32

var errCookieKey = fmt.Errorf("file %s of the Secret has fewer than %d bytes: create it by openssl rand -base64 48", cookieKeyFile, minCookieKey)

// errSealed is the error for a value that was not sealed with this key for this purpose.
var errSealed = errors.New("value is not sealed by this server")

// sealer encrypts and authenticates values (AES-256-GCM). It reads the key from the Secret each
// time, so that a new key takes effect without a restart. A new key ends all sessions.
type sealer struct{ directory string }

// cipherFor returns the cipher for a purpose. Each purpose has its own key, so that a value that
// was sealed for one purpose is invalid for all others.
func (s *sealer) cipherFor(purpose string) (cipher.AEAD, error) {
	secret, err := os.ReadFile(filepath.Join(s.directory, cookieKeyFile))
	if err != nil {
		return nil, fmt.Errorf("read the key of cookies: %w", err)
	}
	if secret = []byte(strings.TrimSpace(string(secret))); len(secret) < minCookieKey {
		return nil, errCookieKey
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "a2a-operator ui "+purpose, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	return aead, nil
}

// seal returns an encrypted value as a text that a cookie can contain.
func (s *sealer) seal(purpose string, value any) (string, error) {
	aead, err := s.cipherFor(purpose)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(aead.Seal(nil, nil, text, nil)), nil //nolint:gosec // NewGCMWithRandomNonce makes the nonce
}

// open decrypts a result of seal into a value. It returns errSealed for any other text.
func (s *sealer) open(purpose, sealed string, into any) error {
	aead, err := s.cipherFor(purpose)
	if err != nil {
		return err
	}
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return errSealed
	}
	text, err := aead.Open(nil, nil, raw, nil)
	if err != nil || json.Unmarshal(text, into) != nil {
		return errSealed
	}
	return nil
}
