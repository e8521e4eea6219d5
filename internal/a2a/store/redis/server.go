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

	"github.com/a2a-operator/a2a-operator/internal/kit/tlslimits"
)

// Server configures the connections to Redis. Files are read for every new
// connection, so that rotated credentials are used without a restart.
type Server struct {
	// Addresses are host:port: some nodes of a cluster, or one server.
	Addresses []string
	Cluster   bool
	// Database is 0 for a cluster.
	Database int
	// Username is "" for the default user. PasswordFile is "" for no password.
	Username     string
	PasswordFile string
	// TLS is nil for plaintext connections.
	TLS *TLS
}

// TLS configures TLS.
type TLS struct {
	// Dir may contain ca.crt, the authorities that replace the authorities of the
	// system, and tls.crt with tls.key, the client certificate. "" means that there
	// are no such files.
	Dir string
	// ServerName is the name in the server's certificate; "" means the host of the
	// address.
	ServerName string
}

const (
	// dialTimeout bounds the dialing of a connection, and handshakeTimeout its TLS
	// handshake.
	dialTimeout      = 2 * time.Second
	handshakeTimeout = 1500 * time.Millisecond
)

// dial returns a client. It makes no connection.
func (s *Server) dial(timeout time.Duration) (redis.UniversalClient, error) {
	if len(s.Addresses) == 0 {
		return nil, errors.New("redis needs an address")
	}
	// The log of the library is discarded: it goes to standard error, and the
	// returned errors contain the same facts.
	redis.SetLogger(&logging.VoidLogger{})
	options := &redis.UniversalOptions{
		Addrs:                      s.Addresses,
		IsClusterMode:              s.Cluster,
		DB:                         s.Database,
		CredentialsProviderContext: s.credentials,
		Dialer:                     s.connect,
		Protocol:                   2,
		// The store itself retries, because only some calls are safe to repeat.
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
	password = strings.TrimRight(string(text), "\r\n")
	if password == "" {
		// Without a password, the default user would connect.
		return "", "", fmt.Errorf("read password of redis: %w", &fs.PathError{Op: "read", Path: s.PasswordFile, Err: errors.New("file is empty")})
	}
	return s.Username, password, nil
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
		config.ServerName, _, _ = net.SplitHostPort(address) // no error, because the dialer has accepted the address
	}
	// A plaintext server does not answer a TLS handshake, but waits for the end of a
	// line. The time limit of the handshake is shorter than the time limit of the
	// call, so that the error names the cause.
	handshake, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	secure, err := tlslimits.Client(handshake, raw, config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHandshake, err)
	}
	return secure, nil
}

// ErrHandshake is the error of a failed TLS handshake with a server that accepts
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
