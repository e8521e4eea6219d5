// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/kit/publicaddress"
)

// Limits of the configuration.
const (
	maxPeers = 32
	// maxHops is 2. More hops would find nothing: the second registry after this one receives
	// the query without a token, and a registry does not forward a query without a token.
	maxHops        = 2
	defaultHops    = 1
	defaultTimeout = 2 * time.Second
	minTimeout     = 100 * time.Millisecond
	maxTimeout     = 10 * time.Second
)

// Mode determines how searches of this registry use a peer.
type Mode string

// Modes of a peer.
const (
	// Referral means that responses name the peer, and that clients search the peer themselves.
	Referral Mode = "Referral"
	// Forward means that this registry also sends its searches to the peer.
	Forward Mode = "Forward"
)

// Peer is the configuration of a peer, which is the registry of another cluster.
type Peer struct {
	// Name identifies the peer in responses, logs and metrics. It is a DNS label that
	// begins with a letter.
	Name string `json:"name"`
	// URL is the base URL of the peer's API of ARD, such as https://registry.example/ard.
	URL string `json:"url"`
	// Publisher is the domain that anchors the identifiers of the peer's agents.
	Publisher string `json:"publisher"`
	Mode      Mode   `json:"mode"`
	// CABundle has the PEM certificates of the authorities that verify the peer, instead of
	// those of the system. If it is empty, the authorities of the system verify the peer.
	CABundle string `json:"caBundle,omitempty"`
	// TokenFile is the path of a file with the bearer token for the peer. If it is empty, the
	// registry sends no token.
	TokenFile string `json:"tokenFile,omitempty"`
	// Insecure allows the scheme http, and loopback addresses, for the peer and in its results.
	Insecure bool `json:"insecure,omitempty"`
	// Timeout bounds one request to the peer, 2 s by default. Before the request, a search
	// waits for a slot, for at most half of this time.
	Timeout metav1.Duration `json:"timeout,omitzero"`
}

// configuration is the content of the peers file.
type configuration struct {
	// MaxHops is the number of registries, after this one, that a search of a client may pass,
	// 1 by default.
	MaxHops *int   `json:"maxHops,omitempty"`
	Peers   []Peer `json:"peers"`
}

// parse decodes the peers file, in YAML or JSON, and sets the defaults. Its error names the
// field of each mistake.
func parse(text []byte) (*configuration, error) {
	c := &configuration{}
	if err := yaml.UnmarshalStrict(text, c); err != nil {
		return nil, fmt.Errorf("must have the fields maxHops and peers: %w", err)
	}
	if c.MaxHops == nil {
		c.MaxHops = new(defaultHops)
	}
	var errs []error
	if *c.MaxHops < 1 || *c.MaxHops > maxHops {
		errs = append(errs, fmt.Errorf("maxHops is %d, must be a number from 1 to %d", *c.MaxHops, maxHops))
	}
	if len(c.Peers) > maxPeers {
		errs = append(errs, fmt.Errorf("peers has %d items, must have at most %d", len(c.Peers), maxPeers))
	}
	names := map[string]int{}
	publishers := map[string]int{}
	for i := range c.Peers {
		p := &c.Peers[i]
		p.setDefaults()
		for _, err := range p.validate() {
			errs = append(errs, fmt.Errorf("peers[%d].%w", i, err))
		}
		if first, twice := names[p.Name]; twice {
			errs = append(errs, fmt.Errorf("peers[%d].name is also the name of peers[%d]; give each peer another name", i, first))
		} else {
			names[p.Name] = i
		}
		if first, twice := publishers[p.Publisher]; twice {
			errs = append(errs, fmt.Errorf("peers[%d].publisher is also the publisher of peers[%d]; each registry must have another domain (registry.publisher of its chart)", i, first))
		} else {
			publishers[p.Publisher] = i
		}
	}
	return c, errors.Join(errs...)
}

func (p *Peer) setDefaults() {
	p.URL = strings.TrimRight(p.URL, "/")
	p.Publisher = strings.ToLower(p.Publisher)
	if p.Timeout.Duration == 0 {
		p.Timeout.Duration = defaultTimeout
	}
}

// validate returns an error for each field with an invalid value.
func (p *Peer) validate() []error {
	var errs []error
	if reasons := validation.IsDNS1035Label(p.Name); len(reasons) > 0 {
		errs = append(errs, fmt.Errorf("name is %q, must be a DNS label that begins with a letter, such as west", p.Name))
	}
	if reasons := validation.IsDNS1123Subdomain(p.Publisher); len(reasons) > 0 {
		errs = append(errs, fmt.Errorf("publisher is %q, must be the domain of the peer's identifiers, such as agents.example.com", p.Publisher))
	}
	if p.Mode != Referral && p.Mode != Forward {
		errs = append(errs, fmt.Errorf("mode is %q, must be %s or %s", p.Mode, Referral, Forward))
	}
	if p.CABundle != "" {
		if _, err := egress.ParseAuthorities([]byte(p.CABundle)); err != nil {
			errs = append(errs, fmt.Errorf("caBundle %w", err))
		}
	}
	if t := p.Timeout.Duration; t < minTimeout || t > maxTimeout {
		errs = append(errs, fmt.Errorf("timeout is %s, must be from %s to %s", t, minTimeout, maxTimeout))
	}
	if err := p.validateURL(); err != nil {
		errs = append(errs, err)
	}
	return errs
}

func (p *Peer) validateURL() error {
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("url is %q, must be an absolute https URL without user, query and fragment", p.URL)
	}
	host, err := egress.Host(u)
	if err != nil {
		return fmt.Errorf("url %w", err)
	}
	if u.Scheme == "http" && !p.Insecure && !isLoopback(host) {
		return errors.New("url has the scheme http, which shows the token and the results to the network; use https, or set insecure: true")
	}
	if address, err := netip.ParseAddr(host); err == nil && !p.allowsAddress(address) {
		return fmt.Errorf("url names the address %s; link-local, metadata, multicast and unspecified addresses are never allowed", host)
	}
	return nil
}

// allowsResultAt reports whether the IP address a is allowed in a result of the peer. In the network of this
// registry, a private address is another machine than in the network of the peer. It is allowed
// only if the url of the peer has a private address, too: both are then in one network.
func (p *Peer) allowsResultAt(a netip.Addr) bool {
	if !p.allowsAddress(a) || publicaddress.Is(a.Unmap()) || a.IsLoopback() {
		return p.allowsAddress(a)
	}
	u, err := url.Parse(p.URL)
	if err != nil {
		return false
	}
	own, err := netip.ParseAddr(u.Hostname())
	return err == nil && !publicaddress.Is(own.Unmap()) && !own.IsLoopback()
}

// allowsAddress reports whether the IP address a is allowed in the URL of the peer.
func (p *Peer) allowsAddress(a netip.Addr) bool {
	if a.IsLoopback() {
		return p.isLocal()
	}
	return !a.IsMulticast() && egress.OffLink("tcp", netip.AddrPortFrom(a, 1).String(), nil) == nil
}

// isLocal reports whether loopback addresses are allowed for the peer: it is insecure, or its
// URL has a loopback address.
func (p *Peer) isLocal() bool {
	u, err := url.Parse(p.URL)
	return err == nil && (p.Insecure || isLoopback(u.Hostname()))
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback() || host == "localhost"
}

// roots returns the authorities that verify the peer, nil for the authorities of the system.
func (p *Peer) roots() *x509.CertPool {
	if p.CABundle == "" {
		return nil
	}
	pool, err := egress.ParseAuthorities([]byte(p.CABundle))
	if err != nil {
		return x509.NewCertPool() // not reached, because validate refuses such a bundle; an empty pool trusts no server
	}
	return pool
}
