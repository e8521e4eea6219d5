// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hosturl parses the URLs of servers, with the same result in the operator and in the sidecar: what one
// of them accepts, the other one can use. It is pure, and does not resolve names.
package hosturl

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Parse parses an absolute http or https URL of a server, without credentials and fragment, whose host is a DNS name or
// a plain IP address. Its errors say what the URL must be, without the URL.
func Parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.Hostname() == "" {
		return nil, errors.New("must be an absolute http or https URL")
	}
	if u.User != nil || u.Fragment != "" || strings.Contains(text, "#") {
		return nil, errors.New("must not contain credentials or a fragment")
	}
	if _, err := Host(u); err != nil {
		return nil, err
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, errors.New("must name a port between 1 and 65535")
		}
	}
	return u, nil
}

// Host returns the host of a URL in its normal form: a DNS name in lower case without a dot at its end, or an IP
// address in its canonical form.
func Host(u *url.URL) (string, error) {
	host, ok := Normal(u.Hostname())
	if !ok {
		return "", errors.New("must name a host by its DNS name or by a plain IP address")
	}
	return host, nil
}

// Normal returns the normal form of a host, as Host does, and false for any other text. It refuses
// names that a resolver may parse as a number: 127.1, 0x7f000001, 017700000001 or 2130706433.
func Normal(host string) (string, bool) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if literal, err := netip.ParseAddr(host); err == nil {
		return literal.String(), literal.Zone() == "" && !literal.Is4In6()
	}
	if len(host) > 253 {
		return "", false
	}
	labels := strings.Split(host, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' ||
			strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", false
		}
	}
	return host, !numeric(labels[len(labels)-1])
}

// numeric reports whether a resolver may parse a name that ends in the label as an IPv4
// address ("ends in a number" of the URL standard).
func numeric(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	hex, found := strings.CutPrefix(label, "0x")
	return found && strings.Trim(hex, "0123456789abcdef") == ""
}
