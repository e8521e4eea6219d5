// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"time"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

// Names of the files, without their .crt and .key endings.
const (
	// ClusterCA signs the certificates of the API server and its clients.
	ClusterCA = "ca"
	// EtcdCA is separate, because every client of the API server could read etcd otherwise.
	EtcdCA = "etcd-ca"
	// ProxyCA is separate, because every client of the API server could impersonate its aggregator otherwise.
	ProxyCA = "front-proxy-ca"

	Etcd              = "etcd"
	EtcdClient        = "etcd-client"
	ProxyClient       = "front-proxy-client"
	APIServer         = "apiserver"
	KubeletClient     = "apiserver-kubelet-client"
	Kubelet           = "kubelet"
	Node              = "node"
	ControllerManager = "controller-manager"
	Scheduler         = "scheduler"
	KubeProxy         = "kube-proxy"
	Admin             = "admin"

	// ServiceAccounts signs the tokens of ServiceAccounts.
	ServiceAccounts = "service-accounts"
)

// serviceAccountKeyBits is the size of the RSA key, as in hosted clusters.
const serviceAccountKeyBits = 2048

// Names are the names and addresses in the certificates.
type Names struct {
	Node string
	// NodeIP is the address of the API server and the kubelet.
	NodeIP string
	// ServiceIP is the address of the kubernetes Service.
	ServiceIP string
	// Domain is the DNS domain of the cluster.
	Domain string
}

// Ensure creates certificates and keys that are missing, and replaces those that expire soon or have other
// names.
func Ensure(dir state.Dir, names Names, now time.Time) error {
	client := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	server := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	leaves := map[string][]leaf{
		EtcdCA: {
			{name: Etcd, commonName: "etcd", hosts: []string{"127.0.0.1", "localhost"}, usage: both},
			{name: EtcdClient, commonName: "kube-apiserver", usage: client},
		},
		ProxyCA: {
			{name: ProxyClient, commonName: "front-proxy-client", usage: client},
		},
		ClusterCA: {
			{name: APIServer, commonName: "kube-apiserver", usage: server, hosts: []string{
				"127.0.0.1", "localhost", names.NodeIP, names.ServiceIP, names.Node,
				"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + names.Domain,
			}},
			{name: KubeletClient, commonName: "kube-apiserver-kubelet-client", organization: "system:masters", usage: client},
			{name: Kubelet, commonName: names.Node, hosts: []string{names.Node, names.NodeIP}, usage: server},
			{name: Node, commonName: "system:node:" + names.Node, organization: "system:nodes", usage: client},
			{name: ControllerManager, commonName: "system:kube-controller-manager", usage: client},
			{name: Scheduler, commonName: "system:kube-scheduler", usage: client},
			{name: KubeProxy, commonName: "system:kube-proxy", usage: client},
			{name: Admin, commonName: "cluster-admin", organization: "system:masters", usage: client},
		},
	}
	for name, signed := range leaves {
		issuer, err := ensureAuthority(dir, name, now)
		if err != nil {
			return err
		}
		for _, l := range signed {
			if err := issuer.ensureLeaf(dir, l, now); err != nil {
				return err
			}
		}
	}
	return ensureServiceAccountKey(dir)
}

func ensureServiceAccountKey(dir state.Dir) error {
	if _, err := os.Stat(dir.PKI(ServiceAccounts + ".pub")); err == nil {
		return nil
	}
	key, err := rsa.GenerateKey(rand.Reader, serviceAccountKeyBits)
	if err != nil {
		return fmt.Errorf("generate key of %s: %w", ServiceAccounts, err)
	}
	if err := writeKey(dir, ServiceAccounts, key); err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encode public key of %s: %w", ServiceAccounts, err)
	}
	return state.WriteFile(dir.PKI(ServiceAccounts+".pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o644)
}
