// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/kit/responseheader"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// The timeouts of connections to servers in the configuration.
const (
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	idleTimeout      = time.Minute
)

// EgressProxy configures an HTTP proxy. If URL is empty, there is none. CredentialDir is a directory with the username and password
// of the manager, and Secret the name of a Secret with those of the sidecars, in the namespace of each Agent.
type EgressProxy struct {
	URL                   string
	NoProxy               []string
	CredentialDir, Secret string
}

func (p EgressProxy) errors() []error {
	if p.URL == "" {
		if len(p.NoProxy) > 0 || p.CredentialDir != "" || p.Secret != "" {
			return []error{errors.New("--egress-proxy-no-proxy, --egress-proxy-credentials and --egress-proxy-secret need --egress-proxy-url: set it, or remove them")}
		}
		return nil
	}
	var errs []error
	if err := egress.CheckProxy(p.URL, p.NoProxy, false); err != nil {
		errs = append(errs, fmt.Errorf("--egress-proxy-url and --egress-proxy-no-proxy: %w", err))
	}
	if reasons := validation.IsDNS1123Subdomain(p.Secret); p.Secret != "" && len(reasons) > 0 {
		errs = append(errs, fmt.Errorf("--egress-proxy-secret is %q, must be the name of a Secret: %s", p.Secret, strings.Join(reasons, "; ")))
	}
	return errs
}

// forSidecars returns the proxy of the sidecars whose Agents name no other one, nil for none.
func (p EgressProxy) forSidecars() *a2av1alpha1.EgressProxy {
	if p.URL == "" {
		return nil
	}
	proxy := &a2av1alpha1.EgressProxy{URL: p.URL}
	for _, host := range p.NoProxy {
		proxy.NoProxy = append(proxy.NoProxy, a2av1alpha1.NoProxyHost(host))
	}
	if p.Secret != "" {
		proxy.SecretRef = &a2av1alpha1.SecretReference{Name: p.Secret}
	}
	return proxy
}

// egressProxy returns a function that returns the proxy of the manager, nil for none.
func (c Config) egressProxy() (func() *egress.Proxy, error) {
	protected, err := protectedTargets()
	if err != nil {
		return nil, err
	}
	proxy, err := egress.NewProxy(egress.ProxyOptions{
		URL: c.EgressProxy.URL, NoProxy: c.EgressProxy.NoProxy, CredentialDir: c.EgressProxy.CredentialDir, ClusterDomain: c.ClusterDomain, Protected: protected,
	})
	if err != nil {
		return nil, fmt.Errorf("--egress-proxy-url: %w", err)
	}
	return func() *egress.Proxy { return proxy }, nil
}

// protectedTargets returns the pod of the manager, its node and the API server, nil outside of a pod.
func protectedTargets() (*egress.Protected, error) {
	protected, err := egress.InPod(os.Getenv(sidecarconfig.APIServerVariable), os.Getenv(sidecarconfig.HostAddressesVariable))
	if err != nil {
		return nil, fmt.Errorf("find the addresses of %s: %w", sidecarconfig.HostAddressesVariable, err)
	}
	return protected, nil
}

// outgoing returns a transport for the server of a URL in the configuration. If the scheme is https, it uses the proxy.
func outgoing(url string, proxy func() *egress.Proxy) *http.Transport {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: handshakeTimeout,
		IdleConnTimeout:     idleTimeout,
	}
	if strings.HasPrefix(url, "https:") {
		transport.DialContext = egress.DialThrough(proxy, transport.DialContext)
	}
	return responseheader.Bound(transport)
}
