// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcall

import (
	"mime"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
)

// IsJSON reports whether the content type of a request is a JSON type. It also accepts a
// request without a content type, unless the request has an Origin: a web page could send
// such a request without a preflight.
func IsJSON(h http.Header) bool {
	text := h.Get("Content-Type")
	if text == "" {
		return h.Get("Origin") == ""
	}
	mediaType, _, err := mime.ParseMediaType(text)
	return err == nil && (mediaType == "application/json" || mediaType == "application/a2a+json")
}

// SetChallenge sets WWW-Authenticate, which every 401 must have (RFC 9110 section 11.6.1),
// unless it is set already. For a caller that was admitted without a credential, it adds a
// value for each authentication method.
func SetChallenge(h http.Header, r *http.Request) {
	if h.Get("WWW-Authenticate") != "" {
		return
	}
	if caller, ok := auth.CallerFrom(r.Context()); ok {
		for _, c := range caller.Challenges() {
			h.Add("WWW-Authenticate", c)
		}
	}
	if h.Get("WWW-Authenticate") == "" {
		h.Set("WWW-Authenticate", `Bearer realm="a2a"`)
	}
}

// SetPrivate forbids all caches to store a response for one caller. A Vary header alone
// would not suffice, because the credential may be in any header, in the query or a
// certificate.
func SetPrivate(h http.Header) {
	h.Set("Cache-Control", "private, no-store")
	h.Add("Vary", "Authorization")
}
