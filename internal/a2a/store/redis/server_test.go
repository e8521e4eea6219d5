// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// A password that was rotated is used by the next connection.
func TestPasswordIsRotated(t *testing.T) {
	server := start(t, "--requirepass", "first")
	file := filepath.Join(t.TempDir(), "password")
	write := func(password string) {
		if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("wrong")
	o := server.options()
	o.Server.PasswordFile = file
	s := open(t, o)
	if _, err := s.Create(t.Context(), store.NewTask{Key: key, Origin: origin, Events: storetest.Begin()}); err == nil {
		t.Fatal("Create() with a wrong password: no error")
	}
	write("first")
	log := create(t, s)
	add(t, log, 2)
	c := client.NewClient(&client.Options{Addr: server.Address(), Password: "first"})
	defer func() { _ = c.Close() }()
	if err := c.ConfigSet(t.Context(), "requirepass", "second").Err(); err != nil {
		t.Fatal(err)
	}
	write("second")
	if err := c.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
		t.Fatal(err)
	}
	add(t, log, 3)
	wantChunks(t, log, 4)
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	certificate(t, dir)
	address := freeport.Address(t)
	_, port, _ := net.SplitHostPort(address)
	server := start(t, "--tls-port", port,
		"--tls-cert-file", dir+"/tls.crt", "--tls-key-file", dir+"/tls.key", "--tls-ca-cert-file", dir+"/tls.crt")
	o := server.options()
	o.Server.Addresses = []string{address}
	o.Server.TLS = &redis.TLS{ServerName: "redis.example.com", Dir: dir}
	if _, err := open(t, o).Create(t.Context(), store.NewTask{Key: key, Origin: origin, Events: storetest.Begin()}); err == nil {
		t.Error("a server that nobody vouches for is trusted")
	}
	public, err := os.ReadFile(dir + "/tls.crt")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/ca.crt", public, 0o600); err != nil {
		t.Fatal(err)
	}
	add(t, create(t, open(t, o)), 2)
	o.Server.TLS = &redis.TLS{ServerName: "other.example.com", Dir: dir}
	if _, err := open(t, o).Open(t.Context(), key); err == nil {
		t.Error("a server of another name is trusted")
	}
}

// certificate writes a self-signed certificate.
func certificate(t *testing.T, dir string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{"redis.example.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: public}, "tls.key": {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The keys of an agent have one slot: its scripts run on one node of a cluster.
func TestCluster(t *testing.T) {
	_, bus, _ := net.SplitHostPort(freeport.Address(t)) // the default is 10,000 above the port of the server, and may be in use
	server := start(t, "--cluster-enabled", "yes", "--cluster-port", bus)
	c := client.NewClient(&client.Options{Addr: server.Address()})
	defer func() { _ = c.Close() }()
	if err := c.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) { // until the cluster knows that it has all slots
		if c.Set(t.Context(), "x", "", 0).Err() == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the cluster does not serve")
		}
	}
	storetest.RunShared(t, func(t *testing.T) storetest.Shared {
		o := server.options()
		o.Server.Cluster = true
		return storetest.Shared{Shared: replicas{open(t, o), t, o}, Pass: time.Sleep}
	})
	storetest.RunPushes(t, func(t *testing.T) store.PushStore {
		o := server.options()
		o.Server.Cluster = true
		return open(t, o).Pushes()
	})
}
