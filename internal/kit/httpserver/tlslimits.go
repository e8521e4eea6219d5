// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"crypto/tls"
	"crypto/x509"
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/kit/tlslimits"
)

// crypto/tls would keep a message of 256 KiB for each connection, and for certificates of that size several MiB, until the connection ends.
const (
	// maxHandshakeBytes is how much a client may send until its handshake ends. A chain of eight certificates with RSA keys of 4,096 bits
	// has half of it.
	maxHandshakeBytes = 32 << 10
	// maxHelloBytes is how much of it may be the ClientHello, of which those with keys against quantum computers have 4 KiB. maxProtocols is
	// the maximum number of its protocols (ALPN), each of which needs many times its length.
	maxHelloBytes = 8 << 10
	maxProtocols  = 64
	// maxRecordBytes is how much is read of a client, after the handshake, for the application data of one record of up to 16 KiB.
	maxRecordBytes = 20 << 10
	// maxChain is the maximum number of certificates of a client, and maxChainBytes that of what they cost.
	maxChain      = 8
	maxChainBytes = 256 << 10
)

var (
	errTLSTooLong = errors.New("the client has sent too much for a TLS handshake or record")
	errHello      = errors.New("the client has sent a ClientHello of more than 8 KiB or 64 protocols")
	errChain      = errors.New("the client has sent more than 8 certificates, or certificates with too many parts")
	errNoChain    = errors.New("no memory for the certificates of the client")
)

// boundTLS returns a configuration for the connections of the server that refuses what clients send above the limits, and counts their
// certificates for the connection.
func boundTLS(config *tls.Config) *tls.Config {
	config = config.Clone()
	unbound := config.Clone()
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		from, ok := hello.Conn.(*wire)
		if ok && from.of.received > maxHelloBytes || len(hello.SupportedProtos) > maxProtocols {
			return nil, errHello
		}
		chosen := unbound
		if unbound.GetConfigForClient != nil {
			other, err := unbound.GetConfigForClient(hello)
			if err != nil {
				return nil, err
			}
			if other != nil {
				chosen = other
			}
		}
		if !ok || chosen.ClientAuth == tls.NoClientCert {
			return chosen, nil
		}
		own := chosen.Clone()
		own.VerifyConnection = func(state tls.ConnectionState) error {
			if err := from.of.chargeChain(state.PeerCertificates); err != nil || chosen.VerifyConnection == nil {
				return err
			}
			return chosen.VerifyConnection(state)
		}
		return own, nil
	}
	return config
}

// chargeChain counts the certificates of the client for as long as the connection is open.
func (c *Conn) chargeChain(chain []*x509.Certificate) error {
	if len(chain) == 0 {
		return nil
	}
	bytes := tlslimits.Cost(chain)
	if len(chain) > maxChain || bytes > maxChainBytes {
		return errChain
	}
	c.rests() // the wait for room is no computation
	if !c.server.table.charge(c, bytes, false) {
		return errNoChain
	}
	return c.computes()
}
