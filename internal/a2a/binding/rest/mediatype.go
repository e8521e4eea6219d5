// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"mime"
	"net/http"
	"strings"
)

const plainJSON = "application/json"

// answersIn returns the media type of an answer. A client must ask for that of
// A2A, since there are some that know plain JSON only.
func (d *dialect) answersIn(h http.Header) string {
	if asked, _ := asksFor(h, d.mediaType); asked {
		return d.mediaType
	}
	return plainJSON
}

// refusesIn is answersIn for errors: a client that can read either way gets
// plain JSON, because some read no other errors.
func (d *dialect) refusesIn(h http.Header) string {
	if asked, others := asksFor(h, d.mediaType); asked && !others {
		return d.mediaType
	}
	return plainJSON
}

// asksFor reports whether a client takes a media type by its name, and whether
// it takes others.
func asksFor(h http.Header, mediaType string) (asked, others bool) {
	if mediaType == "" {
		return false, true
	}
	for _, line := range h.Values("Accept") {
		for each := range strings.SplitSeq(line, ",") {
			name, params, err := mime.ParseMediaType(each)
			switch {
			case err != nil, strings.Trim(params["q"], "0.") == "" && params["q"] != "":
				// Nothing, or nothing that it takes.
			case name == mediaType:
				asked = true
			default:
				others = true
			}
		}
	}
	return asked, others
}
