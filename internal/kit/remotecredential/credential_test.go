// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remotecredential

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"math/big"
	"testing"
	"time"
)

// pkcs1Key is an RSAPrivateKey of PKCS #1. Package rsa writes no key whose factors are not prime.
type pkcs1Key struct {
	Version                      int
	N                            *big.Int
	E                            int
	D, P, Q, DP, DQ, Coefficient *big.Int
}

// rsaPair returns an RSA key of some length, and a certificate of it, which another key has signed. The factors of the
// key are not prime: this is no matter for the time of a signature, and primes of this length take long to find.
func rsaPair(t *testing.T, bits int) Credential {
	t.Helper()
	factor := func() *big.Int {
		text := make([]byte, bits/16)
		_, _ = rand.Read(text)
		text[0] |= 0xc0
		text[len(text)-1] |= 1
		return new(big.Int).SetBytes(text)
	}
	one := big.NewInt(1)
	var key pkcs1Key
	for key.D == nil || key.Coefficient == nil {
		key = pkcs1Key{E: 65537, P: factor(), Q: factor()}
		less := func(n *big.Int) *big.Int { return new(big.Int).Sub(n, one) }
		key.N = new(big.Int).Mul(key.P, key.Q)
		key.Coefficient = new(big.Int).ModInverse(key.Q, key.P)
		key.D = new(big.Int).ModInverse(big.NewInt(int64(key.E)), new(big.Int).Mul(less(key.P), less(key.Q)))
		if key.D != nil {
			key.DP = new(big.Int).Mod(key.D, less(key.P))
			key.DQ = new(big.Int).Mod(key.D, less(key.Q))
		}
	}
	encoded, err := asn1.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: one, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &rsa.PublicKey{N: key.N, E: key.E}, signer)
	if err != nil {
		t.Fatal(err)
	}
	return Credential{
		Certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})),
		PrivateKey:  string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: encoded})),
	}
}

func TestKeysWithWhichASignatureTakesLongAreRefused(t *testing.T) {
	for bits, want := range map[int]error{8192: nil, 9216: ErrKeyTooLong, 24576: ErrKeyTooLong} {
		pair := rsaPair(t, bits)
		certificate, err := pair.TLSCertificate()
		if !errors.Is(err, want) || (certificate == nil) != (want != nil) {
			t.Errorf("TLSCertificate() with an RSA key of %d bits (%d bytes) = %v, error %v, want %v", bits, len(pair.PrivateKey), certificate != nil, err, want)
		}
	}
}
