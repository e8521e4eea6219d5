// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/serverconn"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// The files of a Secret of type kubernetes.io/tls. The last is that of the
// certificate's issuer, which cert-manager adds.
const (
	certificateFile = "tls.crt"
	keyFile         = "tls.key"
	issuerFile      = "ca.crt"
)

// mountCredentials reads everything that is mounted, once, and has it read
// again whenever it changes.
func (s *Sidecar) mountCredentials() error {
	o := s.options
	if o.APIKeys != "" {
		m := s.newAPIKeys(o.APIKeys)
		if err := s.startAPIKeys(m); err != nil {
			return err
		}
		s.mounts = append(s.mounts, m)
	}
	for _, each := range []struct {
		flag   string
		make   func(value string) *mounted
		reason error
	}{
		{o.TLS, s.newServerCertificate, ErrTLS},
		{o.ClientCA, s.newClientCA, ErrClientCA},
		{o.TrustCA, s.newTrust, ErrTrust},
		{o.ChatAPIKeyFile, s.newChatKey, ErrChatKey},
	} {
		if each.flag == "" {
			continue
		}
		m := each.make(each.flag)
		if err := m.start(); err != nil {
			return fmt.Errorf("%w: %w", each.reason, err)
		}
		s.mounts = append(s.mounts, m)
	}
	return nil
}

// newServerCertificate serves with the certificate of a directory. One that is
// expired, or not valid yet, is refused: at the start the sidecar does not
// serve, and later the former certificate stays.
func (s *Sidecar) newServerCertificate(dir string) *mounted {
	s.tls = serverconn.NewTLS(s.asksForCertificates)
	s.served = s.trackCertificate()
	m := s.mounted(mountTLS, dir)
	m.report = s.served.report
	m.read = func() (map[string][]byte, error) {
		return readFiles(dir, []string{certificateFile, keyFile}, issuerFile)
	}
	m.take = func(files map[string][]byte) error {
		pair, err := tls.X509KeyPair(files[certificateFile], files[keyFile])
		if err != nil {
			return fmt.Errorf("%s and %s of %s: %w", certificateFile, keyFile, dir, err)
		}
		if err := currentCertificate(pair.Leaf, s.now()); err != nil {
			return fmt.Errorf("%w (%s)", err, dir)
		}
		if issuer := files[issuerFile]; len(issuer) > 0 {
			if err := s.trust.own(issuer); err != nil {
				return fmt.Errorf("%s of %s %w", issuerFile, dir, err)
			}
		}
		s.metrics.certificate.Set(float64(pair.Leaf.NotAfter.Unix()))
		s.tls.Swap(&pair)
		s.served.serve(pair.Leaf)
		return nil
	}
	return m
}

// newClientCA verifies clients by the authorities of a file.
func (s *Sidecar) newClientCA(file string) *mounted {
	m := s.mounted("client-ca", filepath.Dir(file))
	s.trackMounted(m, sidecarconfig.DependencyClientCA, "the former authorities of clients stay in use")
	m.read = func() (map[string][]byte, error) { return readFiles(filepath.Dir(file), []string{filepath.Base(file)}) }
	m.take = func(files map[string][]byte) error {
		pool, err := egress.ParseAuthorities(files[filepath.Base(file)])
		if err != nil {
			return fmt.Errorf("%s %w", file, err)
		}
		s.clientCA.Swap(pool)
		return nil
	}
	return m
}

// asksForCertificates reports whether a client's certificate is of any use.
func (s *Sidecar) asksForCertificates() bool {
	for _, each := range s.current().Access.Authentication {
		if each.Type == sidecarconfig.AuthenticationMTLS {
			return true
		}
	}
	return false
}

// readFiles reads files that must be there, and others that may be.
func readFiles(dir string, required []string, optional ...string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for i, name := range append(required, optional...) {
		text, err := readMounted(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) && i >= len(required) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	return files, nil
}
