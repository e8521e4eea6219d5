// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package http1

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// address is where to connect.
func (r *Request) address() string {
	if r.URL.Port() != "" {
		return r.URL.Host
	}
	return net.JoinHostPort(r.URL.Hostname(), "80")
}

// appendHead appends what is sent before the body.
func (r *Request) appendHead(head []byte) ([]byte, error) {
	head = append(head, r.Method...)
	head = append(head, ' ')
	head = append(head, r.URL.RequestURI()...)
	head = append(head, " HTTP/1.1\r\nHost: "...)
	head = append(head, strings.TrimSuffix(r.URL.Host, ":")...)
	head = append(head, "\r\n"...)
	var few [16]string
	names := few[:0]
	for name := range r.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range r.Header[name] {
			if !token(name) || !printable(value) {
				return nil, fmt.Errorf("write request: header %q cannot be sent", name)
			}
			head = append(head, name...)
			head = append(head, ": "...)
			head = append(head, value...)
			head = append(head, "\r\n"...)
		}
	}
	if r.Body != nil {
		head = append(head, "Content-Length: "...)
		head = strconv.AppendInt(head, int64(len(r.Body)), 10)
		head = append(head, "\r\n"...)
	}
	return append(head, "\r\n"...), nil
}

// token reports whether a text may name a header (RFC 9110 section 5.6.2).
func token(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return name != ""
}

// printable reports whether a text may be a header's value: a line that ends
// early would be a header of its own.
func printable(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
