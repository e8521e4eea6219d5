// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"fmt"
	"net"
	"net/url"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/serving"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// overrideBases sets the base URLs of a card. They are those of the flags, of the sidecar
// configuration, or else the addresses of the endpoint. If a card file lists interfaces,
// there are no base URLs.
func (o *Options) overrideBases(c *sidecarconfig.Config, address net.Addr) error {
	listed := len(c.Card.Interfaces) > 0
	if o.CardFile != "" && listed && (len(o.BaseURLs) > 0 || len(o.Bindings) > 0 || len(c.Card.Bindings) > 0) {
		return fmt.Errorf("read card %s: interfaces are listed, which --base-url, --binding and protocol.bindings cannot change: remove either", o.CardFile)
	}
	if len(o.Bindings) > 0 {
		c.Card.Bindings = nil
		for _, name := range o.Bindings {
			c.Card.Bindings = append(c.Card.Bindings, bindingsByName[name])
		}
	}
	switch {
	case len(o.BaseURLs) > 0:
		c.Bases = nil
		for _, each := range o.BaseURLs {
			c.Bases = append(c.Bases, card.NewBase(each))
		}
	case len(c.Bases) > 0 && o.CardFile == "":
	case listed:
		c.Bases = nil
	default:
		c.Bases = o.ownBases(address)
	}
	if len(c.Bases) > 0 {
		c.Card = *c.Card.At(c.Bases[0])
	}
	return nil
}

// ownBases returns the base at the endpoint's own address. If this is a loopback address,
// it also returns the base at the name localhost.
func (o *Options) ownBases(address net.Addr) []card.Base {
	own := o.OwnBase(address)
	bases := []card.Base{card.NewBase(own)}
	if u, err := url.Parse(own); err == nil && serving.IsLoopback(u.Hostname()) && u.Hostname() != "localhost" {
		bases = append(bases, card.NewBase(u.Scheme+"://"+net.JoinHostPort("localhost", u.Port())))
	}
	return bases
}

// OwnBase returns the URL of the endpoint at an address that programs on this machine can
// dial.
func (o *Options) OwnBase(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		host, port = address.String(), "80"
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() || host == "" {
		host = "127.0.0.1"
	}
	scheme := "http://"
	if o.TLS != "" {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port)
}
