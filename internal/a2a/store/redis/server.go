// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Server says how to reach Redis. Files are read for every connection anew, so
// that what was rotated is used without a restart.
type Server struct {
	// Addresses are host:port. A cluster is found by any of its nodes; of a
	// server that stands alone there is one.
	Addresses []string
	Cluster   bool
	// Database is 0 for a cluster.
	Database int
	// Username is "" for the default user. PasswordFile is "" for no password.
	Username     string
	PasswordFile string
	// TLS is nil for connections in the clear.
	TLS *TLS
}

// TLS says how to trust Redis, and what to show it.
type TLS struct {
	// Dir may hold ca.crt, which vouches for the server in place of what the
	// system trusts, and tls.crt with tls.key, which the server is shown. "" is
	// for none of them.
	Dir string
	// ServerName is "" for the host of the address.
	ServerName string
}

const (
	// dialTimeout bounds a connection, and handshakeTimeout its TLS handshake.
	dialTimeout      = 2 * time.Second
	handshakeTimeout = 1500 * time.Millisecond
)

// dial returns a client. It makes no connection.
func (s *Server) dial(timeout time.Duration) (redis.UniversalClient, error) {
	if len(s.Addresses) == 0 {
		return nil, errors.New("redis needs an address")
	}
	// Its words go to standard error, and say nothing that an error does not.
	redis.SetLogger(&logging.VoidLogger{})
	options := &redis.UniversalOptions{
		Addrs:                      s.Addresses,
		IsClusterMode:              s.Cluster,
		DB:                         s.Database,
		CredentialsProviderContext: s.credentials,
		Dialer:                     s.connect,
		Protocol:                   2,
		// What may be tried again is known here and not there.
		MaxRetries:            -1,
		DialTimeout:           dialTimeout,
		DialerRetries:         1,
		ReadTimeout:           timeout,
		WriteTimeout:          timeout,
		PoolTimeout:           timeout,
		ContextTimeoutEnabled: true,
		PoolSize:              16,
		MaxIdleConns:          4,
		ConnMaxIdleTime:       time.Minute,
		DisableIdentity:       true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	}
	return redis.NewUniversalClient(options), nil
}

func (s *Server) credentials(context.Context) (username, password string, err error) {
	if s.PasswordFile == "" {
		return "", "", nil
	}
	text, err := os.ReadFile(s.PasswordFile)
	if err != nil {
		return "", "", fmt.Errorf("read password of redis: %w", err)
	}
	return s.Username, strings.TrimRight(string(text), "\r\n"), nil
}

func (s *Server) connect(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}
	if s.TLS == nil {
		return dialer.DialContext(ctx, network, address)
	}
	config, err := s.TLS.config()
	if err != nil {
		return nil, err
	}
	raw, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(address) // it was dialed
	}
	secure := tls.Client(raw, config)
	// A server in the clear waits for the end of a line. The handshake ends before
	// the call that needs it, so that the error tells what went wrong.
	handshake, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := secure.HandshakeContext(handshake); err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("%w: %w", ErrHandshake, err)
	}
	return secure, nil
}

// ErrHandshake is the error of a TLS handshake with a server that takes
// connections.
var ErrHandshake = errors.New("the TLS handshake fails")

func (t *TLS) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.Dir == "" {
		return config, nil
	}
	text, err := os.ReadFile(filepath.Join(t.Dir, "ca.crt"))
	switch {
	case err == nil:
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("read authority of redis: no certificate is in %s/ca.crt", t.Dir)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read authority of redis: %w", err)
	}
	certificate, err := tls.LoadX509KeyPair(filepath.Join(t.Dir, "tls.crt"), filepath.Join(t.Dir, "tls.key"))
	switch {
	case err == nil:
		config.Certificates = []tls.Certificate{certificate}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read certificate for redis: %w", err)
	}
	return config, nil
}
