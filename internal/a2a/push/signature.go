// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// signatureLifetime is how long a signature is valid. A retry has a new one.
const signatureLifetime = 5 * time.Minute

// signature has the claims of the JWT over a request. The official samples of A2A name the claim of the body.
type signature struct {
	Audience string `json:"aud"`
	Issued   int64  `json:"iat"`
	Expires  int64  `json:"exp"`
	// ID is the id of the notification, which a repeated one has, too.
	ID string `json:"jti"`
	// Body is the SHA-256 of the body in hexadecimal digits.
	Body string `json:"request_body_sha256"`
}

// sign adds a JWT over the body, if the agent has a key. The header Authorization has it, too, if the client asked for a bearer token and
// gave none.
func (p *Pushes) sign(r *http.Request, c *a2a.PushConfig, body []byte) error {
	if p.options.Sign == nil {
		return nil
	}
	digest := sha256.Sum256(body)
	now := p.options.Now()
	token, err := p.options.Sign(signature{
		Audience: r.URL.Scheme + "://" + r.URL.Host, Issued: now.Unix(), Expires: now.Add(signatureLifetime).Unix(),
		ID: r.Header.Get(headerEvent), Body: hex.EncodeToString(digest[:]),
	})
	if err != nil || token == "" {
		return err
	}
	r.Header.Set("X-A2A-Notification-Signature", token)
	if strings.EqualFold(c.Scheme, "bearer") && c.Credentials == "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}
