// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version reads the protocol version that a request names. Each binding decides in
// the negotiation which versions it serves.
package version

import (
	"net/http"
	"strconv"
	"strings"
)

// Name is the name of the header, or of the query parameter, that names a version.
const Name = "A2A-Version"

// Version is a protocol version. Patch releases do not change the protocol. The zero
// value means that the request names none.
type Version struct {
	Major, Minor int
}

// The versions that at least one binding serves.
var (
	V01 = Version{0, 1}
	V02 = Version{0, 2}
	V03 = Version{0, 3}
	V10 = Version{1, 0}
)

// String returns Major.Minor.
func (v Version) String() string {
	return strconv.Itoa(v.Major) + "." + strconv.Itoa(v.Minor)
}

// Join returns versions as a list with commas, such as 0.2,0.3. It omits the zero value.
func Join(versions []Version) string {
	var names []string
	for _, v := range versions {
		if v != (Version{}) {
			names = append(names, v.String())
		}
	}
	return strings.Join(names, ",")
}

// Of returns the version that the header of a request names, or else its query parameter.
// It returns false if the text is no version.
func Of(r *http.Request) (Version, bool) {
	text := r.Header.Get(Name)
	if text == "" && r.URL.RawQuery != "" {
		text = r.URL.Query().Get(Name)
	}
	return Parse(text)
}

// Parse parses "1", "1.0" or "1.0.3". "" is the zero version. It returns false for any
// other text, and for "0.0".
func Parse(text string) (Version, bool) {
	if text == "" {
		return Version{}, true
	}
	major, rest, _ := strings.Cut(strings.TrimSpace(text), ".")
	minor, patch, _ := strings.Cut(rest, ".")
	var v Version
	ok := number(major, &v.Major)
	if rest != "" || strings.HasSuffix(text, ".") {
		ok = number(minor, &v.Minor) && ok
	}
	if patch != "" || strings.HasSuffix(rest, ".") {
		ignored := 0
		ok = number(patch, &ignored) && ok
	}
	if !ok || v == (Version{}) {
		return Version{}, false
	}
	return v, true
}

// number parses up to three digits. It accepts no signs and no spaces.
func number(text string, n *int) bool {
	if text == "" || len(text) > 3 || strings.Trim(text, "0123456789") != "" {
		return false
	}
	var err error
	*n, err = strconv.Atoi(text)
	return err == nil
}
