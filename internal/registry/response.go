// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
)

const mediaJSON = "application/json"

// typeJSON is the value of Content-Type that responses share. net/http copies it before it sends it.
var typeJSON = []string{mediaJSON}

// unchanged sets the header ETag. If the client has a response with the same ETag (RFC 9110,
// section 13.1.2), it responds 304 and returns true.
func unchanged(w http.ResponseWriter, r *http.Request, etag string) bool {
	w.Header()["Etag"] = []string{etag}
	for _, header := range r.Header["If-None-Match"] {
		for candidate := range strings.SplitSeq(header, ",") {
			candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
			if candidate == strings.TrimPrefix(etag, "W/") || candidate == "*" {
				w.WriteHeader(http.StatusNotModified)
				return true
			}
		}
	}
	return false
}

// write sends a body. It ignores the error of a client that has left.
func write(w http.ResponseWriter, body []byte) {
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	_, _ = w.Write(body)
}

// weakETag returns a weak validator for a body.
func weakETag(body []byte) string {
	sum := sha256.Sum256(body)
	return `W/"` + hex.EncodeToString(sum[:8]) + `"`
}
