// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"mime"
	"net/http"
	"strings"
)

const plainJSON = "application/json"

// answersIn returns the media type of a response. It is the media type of A2A only if the
// client accepts that by name, because some clients accept application/json only.
func (d *dialect) answersIn(h http.Header) string {
	if asked, _ := asksFor(h, d.mediaType); asked {
		return d.mediaType
	}
	return plainJSON
}

// refusesIn returns the media type of an error. It is the media type of A2A only if the
// client accepts no other type, because some clients read only errors in application/json.
func (d *dialect) refusesIn(h http.Header) string {
	if asked, others := asksFor(h, d.mediaType); asked && !others {
		return d.mediaType
	}
	return plainJSON
}

// asksFor reports whether a client accepts a media type by name, and whether it accepts
// other media types.
func asksFor(h http.Header, mediaType string) (asked, others bool) {
	if mediaType == "" {
		return false, true
	}
	for _, line := range h.Values("Accept") {
		for each := range strings.SplitSeq(line, ",") {
			name, params, err := mime.ParseMediaType(each)
			switch {
			case err != nil, strings.Trim(params["q"], "0.") == "" && params["q"] != "":
				// The entry is empty, or its q=0 excludes it.
			case name == mediaType:
				asked = true
			default:
				others = true
			}
		}
	}
	return asked, others
}
