// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package http1

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Request is one request. The client does not modify it.
type Request struct {
	Method string
	URL    *url.URL
	// Header has the fields of the request, except the framing fields. URL and Body determine
	// these; as in net/http, values in Header are ignored.
	Header http.Header
	// Body is the body. If it is nil, the request has no Content-Length.
	Body []byte
}

// address returns the host and port to connect to.
func (r *Request) address() string {
	if r.URL.Port() != "" {
		return r.URL.Host
	}
	return net.JoinHostPort(r.URL.Hostname(), "80")
}

// isFraming reports whether a field determines the receiver or the length of a request, so
// that a second value would let two receivers see different requests.
func isFraming(name string) bool {
	return strings.EqualFold(name, "Host") || strings.EqualFold(name, "Content-Length") ||
		strings.EqualFold(name, "Transfer-Encoding") || strings.EqualFold(name, "Trailer")
}

// appendHeader appends the request line and the header fields, in alphabetical order of
// their names. It fails for a field that would break the framing of the request.
func (r *Request) appendHeader(dst []byte) ([]byte, error) {
	dst = append(dst, r.Method...)
	dst = append(dst, ' ')
	dst = append(dst, r.URL.RequestURI()...)
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, strings.TrimSuffix(r.URL.Host, ":")...)
	dst = append(dst, "\r\n"...)
	var array [16]string
	names := array[:0]
	for name := range r.Header {
		if !isFraming(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range r.Header[name] {
			if !isToken(name) || !isFieldValue(value) {
				return nil, fmt.Errorf("write request: header %q has a character that HTTP does not allow", name)
			}
			dst = append(dst, name...)
			dst = append(dst, ": "...)
			dst = append(dst, value...)
			dst = append(dst, "\r\n"...)
		}
	}
	if r.Body != nil {
		dst = append(dst, "Content-Length: "...)
		dst = strconv.AppendInt(dst, int64(len(r.Body)), 10)
		dst = append(dst, "\r\n"...)
	}
	return append(dst, "\r\n"...), nil
}

// isToken reports whether a text is a field name (RFC 9110 section 5.6.2).
func isToken(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return name != ""
}

// isFieldValue reports whether a text is a field value (RFC 9110 section 5.5): a line
// break in it would begin another field.
func isFieldValue(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
