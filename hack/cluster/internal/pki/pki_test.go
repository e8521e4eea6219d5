// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

var testNames = Names{Node: "node", NodeIP: "10.231.0.1", ServiceIP: "10.232.0.1", Domain: "cluster.local"}

func read(t *testing.T, dir state.Dir, name string) *x509.Certificate {
	t.Helper()
	certificate, err := readCertificate(dir.PKI(name + ".crt"))
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func TestEnsure(t *testing.T) {
	dir := state.Dir(t.TempDir())
	now := time.Now()
	if err := Ensure(dir, testNames, now); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(read(t, dir, ClusterCA))
	server := read(t, dir, APIServer)
	for _, host := range []string{"10.231.0.1", "10.232.0.1", "127.0.0.1", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"} {
		if _, err := server.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Errorf("the API server's certificate is not for %s: %v", host, err)
		}
	}
	client := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := read(t, dir, Node).Verify(client); err != nil {
		t.Errorf("the node's certificate: %v", err)
	}
	if _, err := read(t, dir, EtcdClient).Verify(client); err == nil {
		t.Error("the authority of the API server's clients also vouches for those of etcd")
	}
	if got := read(t, dir, Node).Subject; got.CommonName != "system:node:node" || got.Organization[0] != "system:nodes" {
		t.Errorf("node = %v", got)
	}
	for _, name := range []string{ClusterCA, Admin, ServiceAccounts} {
		if info, err := os.Stat(dir.PKI(name + ".key")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("key of %s: %v, %v", name, info, err)
		}
	}
}

func TestEnsureRenewsOnlyInvalidCertificates(t *testing.T) {
	dir := state.Dir(t.TempDir())
	now := time.Now()
	if err := Ensure(dir, testNames, now); err != nil {
		t.Fatal(err)
	}
	authority, server, admin := read(t, dir, ClusterCA), read(t, dir, APIServer), read(t, dir, Admin)

	if err := Ensure(dir, testNames, now); err != nil {
		t.Fatal(err)
	}
	if !read(t, dir, APIServer).Equal(server) {
		t.Error("a good certificate was replaced")
	}

	moved := testNames
	moved.NodeIP = "10.99.0.1"
	if err := Ensure(dir, moved, now); err != nil {
		t.Fatal(err)
	}
	if read(t, dir, APIServer).VerifyHostname("10.99.0.1") != nil || !read(t, dir, Admin).Equal(admin) {
		t.Error("a new address must replace the certificates that name it, and no other")
	}

	if err := Ensure(dir, moved, now.Add(certificateLife-renewBefore+time.Hour)); err != nil {
		t.Fatal(err)
	}
	if read(t, dir, Admin).Equal(admin) || !read(t, dir, ClusterCA).Equal(authority) {
		t.Error("a certificate about to end must be replaced, under the same authority")
	}
}

func TestWriteKubeconfig(t *testing.T) {
	dir := state.Dir(t.TempDir())
	if err := Ensure(dir, testNames, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := WriteKubeconfig(dir, dir.Kubeconfig(), "https://10.231.0.1:6443", Admin); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(dir.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := json.Unmarshal(content, &config); err != nil {
		t.Fatal(err)
	}
	if config["current-context"] != contextName {
		t.Errorf("current-context = %v", config["current-context"])
	}
	if info, err := os.Stat(dir.Kubeconfig()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v, %v", info, err)
	}
}
