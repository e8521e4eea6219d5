// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeapi reads the health and readiness for which the start of a node waits: of the
// API server, etcd, the node and Deployments. kubectl makes all other requests.
package kubeapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/pki"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

// requestTimeout bounds a request; a healthy server answers in milliseconds.
const requestTimeout = 5 * time.Second

// maxAnswer bounds the size of a response.
const maxAnswer = 4 << 20

// errNotReady is the error of an object that exists and is not ready.
var errNotReady = errors.New("not ready")

// Client is an administrator's client of the API server.
type Client struct {
	server string
	http   *http.Client
}

// New returns a client with the administrator's certificate.
func New(dir state.Dir, server string) (*Client, error) {
	return newClient(dir, server, pki.ClusterCA, pki.Admin)
}

// NewEtcd returns a client that may read the health of etcd.
func NewEtcd(dir state.Dir, server string) (*Client, error) {
	return newClient(dir, server, pki.EtcdCA, pki.EtcdClient)
}

func newClient(dir state.Dir, server, authority, certificate string) (*Client, error) {
	bundle, err := os.ReadFile(dir.PKI(authority + ".crt"))
	if err != nil {
		return nil, fmt.Errorf("read authority: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(dir.PKI(certificate+".crt"), dir.PKI(certificate+".key"))
	if err != nil {
		return nil, fmt.Errorf("load certificate %s: %w", certificate, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("read authority %s: no certificate in it", authority)
	}
	// No proxy: the server is on this machine.
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}}
	return &Client{server: server, http: &http.Client{Transport: transport, Timeout: requestTimeout}}, nil
}

// Healthy returns nil when the server answers a health path with success.
func (c *Client) Healthy(ctx context.Context, path string) error {
	_, err := c.get(ctx, path)
	return err
}

// NodeReady returns nil when the node's Ready condition is true.
func (c *Client) NodeReady(ctx context.Context, name string) error {
	return c.condition(ctx, "/api/v1/nodes/"+name, "Ready")
}

// DeploymentAvailable returns nil when the Deployment's Available condition is true.
func (c *Client) DeploymentAvailable(ctx context.Context, namespace, name string) error {
	return c.condition(ctx, "/apis/apps/v1/namespaces/"+namespace+"/deployments/"+name, "Available")
}

func (c *Client) condition(ctx context.Context, path, kind string) error {
	content, err := c.get(ctx, path)
	if err != nil {
		return err
	}
	return hasCondition(content, path, kind)
}

func hasCondition(object []byte, path, kind string) error {
	var read struct {
		Status struct {
			Conditions []struct {
				Type    string `json:"type"`
				Status  string `json:"status"`
				Reason  string `json:"reason"`
				Message string `json:"message"`
			} `json:"conditions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(object, &read); err != nil {
		return fmt.Errorf("parse %s: %w", path, err)
	}
	for _, condition := range read.Status.Conditions {
		if condition.Type != kind {
			continue
		}
		if condition.Status == "True" {
			return nil
		}
		return fmt.Errorf("%s: %w: %s: %s", path, errNotReady, condition.Reason, condition.Message)
	}
	return fmt.Errorf("%s: %w: no condition %s yet", path, errNotReady, kind)
}

func (c *Client) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server+path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read answer of %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: %s: %s", path, response.Status, strings.TrimSpace(string(content[:min(len(content), 300)])))
	}
	return content, nil
}
