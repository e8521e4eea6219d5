// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sourceaddress

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxHops is the maximum number of proxies between a client and this process. It bounds the work for
// a header.
const maxHops = 16

// Proxies are the addresses of the proxies whose headers name their clients. Nil trusts no header.
type Proxies []netip.Prefix

// ParseProxy returns the addresses of proxies in a text: a range (CIDR) or a single address. It refuses
// the range of all addresses, because then every client could write the header.
func ParseProxy(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		address, addressErr := netip.ParseAddr(text)
		if addressErr != nil || address.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("%q is neither a range of addresses, such as 10.0.0.0/8, nor an address", text)
		}
		prefix = netip.PrefixFrom(address, address.BitLen())
	}
	if mapped := prefix.Addr(); mapped.Is4In6() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(mapped.Unmap(), prefix.Bits()-96)
	}
	if prefix.Bits() == 0 {
		return netip.Prefix{}, fmt.Errorf("%s has all addresses, so each client could choose the address as which it counts; name those of the proxies", text)
	}
	return prefix.Masked(), nil
}

func (p Proxies) contain(address netip.Addr) bool {
	return slices.ContainsFunc(p, func(each netip.Prefix) bool { return each.Contains(address) })
}

// Handler returns a handler that calls next with the request of Forwarded.
func (p Proxies) Handler(next http.Handler) http.Handler {
	if len(p) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, p.Forwarded(r)) })
}

// Forwarded returns a request whose RemoteAddr is the address of the client, without a port, if a trusted
// proxy sent r. Otherwise it returns r.
func (p Proxies) Forwarded(r *http.Request) *http.Request {
	client, ok := p.client(r)
	if !ok {
		return r
	}
	forwarded := *r // a shallow copy, because a handler must not change the request of its caller
	forwarded.RemoteAddr = client.String()
	return &forwarded
}

// client returns the address of the client of a request that a trusted proxy has forwarded. It returns
// false if no trusted proxy sent the request, or if the header names no address.
//
// A client can write any header. A proxy appends the address from which it received the request. Read
// from the right, each address is therefore correct as long as the one before it is that of a trusted
// proxy. The client is the first address from the right that is not trusted.
//
// Most proxies write only one of the two headers, and forward the other as the client wrote it. If a
// request has both, and they name different clients, none of them counts.
func (p Proxies) client(r *http.Request) (netip.Addr, bool) {
	if len(p) == 0 {
		return netip.Addr{}, false
	}
	forwarded := r.Header["Forwarded"]
	forwardedFor := r.Header["X-Forwarded-For"]
	if len(forwarded) == 0 && len(forwardedFor) == 0 {
		return netip.Addr{}, false
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	proxy := peer.Addr().Unmap().WithZone("")
	if err != nil || !p.contain(proxy) {
		return netip.Addr{}, false
	}
	client := netip.Addr{}
	ok := true
	if len(forwardedFor) > 0 {
		client, ok = p.last(proxy, forwardedFor, parseAddress)
	}
	if len(forwarded) > 0 && ok {
		named, valid := p.last(proxy, forwarded, parseForwarded)
		ok = valid && (named == client || len(forwardedFor) == 0)
		client = named
	}
	return client, ok
}

// last returns the last address in the values of a header that is not the one of a trusted proxy. If
// all are, it returns the first. It returns false if it finds an element without an address before.
func (p Proxies) last(proxy netip.Addr, values []string, parse func(string) (netip.Addr, bool)) (netip.Addr, bool) {
	client := proxy
	hops := 0
	for _, value := range slices.Backward(values) {
		for rest, more := value, true; more; {
			comma := strings.LastIndexByte(rest, ',')
			element := strings.Trim(rest[comma+1:], " \t")
			rest = rest[:max(comma, 0)]
			more = comma >= 0
			var ok bool
			client, ok = parse(element)
			if !ok {
				return netip.Addr{}, false
			}
			hops++
			if !p.contain(client) {
				return client, true
			}
			if hops == maxHops {
				return netip.Addr{}, false
			}
		}
	}
	return client, true
}

// parseAddress returns the address in an element of X-Forwarded-For, with or without a port.
func parseAddress(text string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		withPort, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		address = withPort.Addr()
	}
	return address.Unmap(), address.Zone() == ""
}

// parseForwarded returns the address in an element of Forwarded (RFC 7239). The element is what follows
// the last comma. If this comma is inside of a quoted string, the element is not valid, because a quote
// is missing.
func parseForwarded(element string) (address netip.Addr, ok bool) {
	found := false
	for pair := range strings.SplitSeq(element, ";") {
		name, value, hasValue := strings.Cut(strings.Trim(pair, " \t"), "=")
		if !hasValue || name == "" {
			return netip.Addr{}, false
		}
		if unquoted, quoted := strings.CutPrefix(value, `"`); quoted {
			value, quoted = strings.CutSuffix(unquoted, `"`)
			if !quoted {
				return netip.Addr{}, false
			}
		}
		if strings.ContainsAny(name+value, `"\`) {
			return netip.Addr{}, false
		}
		if strings.EqualFold(name, "for") {
			if found {
				return netip.Addr{}, false
			}
			found = true
			address, ok = parseAddress(value)
			if !ok {
				return netip.Addr{}, false
			}
		}
	}
	return address, found
}
