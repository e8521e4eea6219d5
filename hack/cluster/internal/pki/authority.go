// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki creates the certificate authorities, certificates and keys of the cluster. Private keys stay in
// the directory that they are written to.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

const (
	authorityLife   = 10 * 365 * 24 * time.Hour
	certificateLife = 365 * 24 * time.Hour
	// renewBefore is the remaining validity at which a certificate is replaced.
	renewBefore = 30 * 24 * time.Hour
	// clockSkew moves the start of the validity back, for machines with different clocks.
	clockSkew = time.Hour
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// leaf describes a certificate.
type leaf struct {
	name         string
	commonName   string
	organization string
	hosts        []string
	usage        []x509.ExtKeyUsage
}

// ensureAuthority reads an authority, or creates it.
func ensureAuthority(dir state.Dir, name string, now time.Time) (*authority, error) {
	if existing, err := loadAuthority(dir, name); err == nil && now.Add(renewBefore).Before(existing.certificate.NotAfter) {
		return existing, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key of %s: %w", name, err)
	}
	serial, err := serialNumber()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "a2a-operator-cluster " + name},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create certificate of %s: %w", name, err)
	}
	if err := writePair(dir, name, der, key); err != nil {
		return nil, err
	}
	return loadAuthority(dir, name)
}

// ensureLeaf creates the certificate that l describes, unless a valid one exists.
func (a *authority) ensureLeaf(dir state.Dir, l leaf, now time.Time) error {
	if a.isGood(dir, l, now) {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generate key of %s: %w", l.name, err)
	}
	serial, err := serialNumber()
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: l.commonName},
		NotBefore:    now.Add(-clockSkew),
		NotAfter:     now.Add(certificateLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  l.usage,
	}
	if l.organization != "" {
		template.Subject.Organization = []string{l.organization}
	}
	for _, host := range l.hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("create certificate of %s: %w", l.name, err)
	}
	return writePair(dir, l.name, der, key)
}

// isGood reports whether the certificate on disk is signed by this authority, valid for long enough, and for the
// same names.
func (a *authority) isGood(dir state.Dir, l leaf, now time.Time) bool {
	certificate, err := readCertificate(dir.PKI(l.name + ".crt"))
	if err != nil || certificate.CheckSignatureFrom(a.certificate) != nil {
		return false
	}
	if _, err := os.Stat(dir.PKI(l.name + ".key")); err != nil {
		return false
	}
	for _, host := range l.hosts {
		if certificate.VerifyHostname(host) != nil {
			return false
		}
	}
	return certificate.Subject.CommonName == l.commonName && now.Add(renewBefore).Before(certificate.NotAfter)
}

func loadAuthority(dir state.Dir, name string) (*authority, error) {
	certificate, err := readCertificate(dir.PKI(name + ".crt"))
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(dir.PKI(name + ".key"))
	if err != nil {
		return nil, fmt.Errorf("read key of %s: %w", name, err)
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("read key of %s: not PEM", name)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse key of %s: %w", name, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("parse key of %s: it cannot sign", name)
	}
	return &authority{certificate: certificate, key: signer}, nil
}

func readCertificate(path string) (*x509.Certificate, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("read certificate %s: not PEM", path)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse certificate %s: %w", path, err)
	}
	return certificate, nil
}

// writePair writes the key first, so that a certificate on disk always has its key.
func writePair(dir state.Dir, name string, certificate []byte, key crypto.Signer) error {
	if err := writeKey(dir, name, key); err != nil {
		return err
	}
	content := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	return state.WriteFile(dir.PKI(name+".crt"), content, 0o644)
}

func writeKey(dir state.Dir, name string, key crypto.Signer) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode key of %s: %w", name, err)
	}
	return state.WriteFile(dir.PKI(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
}

func serialNumber() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("generate serial number: %w", err)
	}
	return serial, nil
}
