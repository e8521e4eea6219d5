// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"net/url"
	"sync"
	"time"

	"github.com/spf13/cobra"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/clusteraccess"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/registryclient"
)

// registryFlags are the flags of commands that call the registry.
type registryFlags struct {
	url, namespace, token, serviceAccount string
	transport                             a2aclient.TransportOptions
	// asSelf lists the Agents with the rights of the user, without the registry.
	asSelf bool
}

func (f *registryFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.namespace, "registry-namespace", clusteraccess.OperatorNamespace, "`NAMESPACE` of the operator, which has the registry's Service.")
	flags.StringVar(&f.url, "registry", "", "Call the registry at this `URL`, without a cluster.")
	flags.StringVar(&f.token, "registry-token", "", "`TOKEN` for the registry. Other users of the machine see flags: prefer A2ACLI_REGISTRY_TOKEN.")
	flags.StringVar(&f.serviceAccount, "service-account", "default", "`NAME` of the ServiceAccount whose token is sent to the registry, in your namespace.")
	flags.StringVar(&f.transport.CAFile, "ca-file", "", "PEM `FILE` of certificate authorities that may sign the registry's certificate; those of its Secret by default.")
	flags.BoolVar(&f.asSelf, "as-self", false, "List the agents that you may list yourself, without the registry.")
	flags.BoolVar(&f.transport.Insecure, "insecure", false, "Do not verify the certificate of the registry. For development only.")
}

// registry returns a client of the registry, and a function that closes its connections. If the user lacks a right that
// the way to the registry needs, it returns a client of the Agents of a namespace (all namespaces if it is "") that the user may list.
func (a *app) registry(ctx context.Context, f *registryFlags, namespace string) (client *registryclient.Client, closeConnection func(), err error) {
	if f.asSelf {
		return a.ownRegistry(ctx, namespace)
	}
	client, closeConnection, err = a.sharedRegistry(ctx, f)
	if err == nil || f.url != "" || f.token != "" || !failure.Of(err).MissingRight {
		return client, closeConnection, err
	}
	client, closeConnection, ownErr := a.ownRegistry(ctx, namespace)
	if ownErr != nil {
		return nil, nil, err
	}
	a.warnf("Listed with your own rights, without the registry: %v. --as-self omits this line.", err)
	return client, closeConnection, nil
}

// sharedRegistry returns a client of the registry of the cluster or of --registry, and a function that closes its connections.
func (a *app) sharedRegistry(ctx context.Context, f *registryFlags) (client *registryclient.Client, closeConnection func(), err error) {
	if f.transport.Insecure {
		a.warnf("Warning: --insecure: the certificate of the registry is not verified. Anyone on the network path can read the token and change the response.")
	}
	client = &registryclient.Client{Caller: "the owner of --registry-token", Token: func(context.Context) (string, error) { return f.token, nil }}
	closeConnection = func() {}
	if f.url != "" {
		client.URL, err = url.Parse(f.url)
		if err != nil || client.URL.Host == "" || client.URL.Scheme != "http" && client.URL.Scheme != "https" || client.URL.User != nil {
			return nil, nil, failure.New(failure.Usage, "--registry %q is no URL with http:// or https:// and without a user name", f.url)
		}
	} else if closeConnection, err = a.forwardToRegistry(ctx, f, client); err != nil {
		return nil, nil, err
	}
	if client.HTTP, err = a2aclient.NewHTTPClient(f.transport, a.debugf()); err != nil {
		closeConnection()
		return nil, nil, err
	}
	return client, closeConnection, nil
}

// forwardToRegistry configures a client to call the registry of the cluster by port forwarding.
func (a *app) forwardToRegistry(ctx context.Context, f *registryFlags, client *registryclient.Client) (closeConnection func(), err error) {
	service, err := a.cluster.FindRegistry(ctx, f.namespace)
	if err != nil {
		return nil, err
	}
	if service.TLSSecret != "" && f.transport.CAFile == "" && !f.transport.Insecure {
		if f.transport.Authorities, err = a.cluster.RegistryAuthorities(ctx, service); err != nil {
			return nil, err
		}
	}
	client.URL = &url.URL{Scheme: service.Port, Host: service.Host}
	if f.token == "" {
		namespace, err := a.cluster.Namespace()
		if err != nil {
			return nil, err
		}
		client.Caller = "ServiceAccount " + namespace + "/" + f.serviceAccount
		client.Token = a.registryTokens(namespace, f.serviceAccount)
	}
	// A missing right is found here, before the first request.
	if _, err := client.Token(ctx); err != nil {
		return nil, err
	}
	forward := a.cluster.Forward(service.Namespace, service.Name, service.Port)
	if err := forward.Open(ctx); err != nil {
		return nil, err
	}
	f.transport.DialContext = forward.DialContext
	return forward.Close, nil
}

// registryTokens returns a function that returns tokens of a ServiceAccount for the registry. The function requests a new
// token in the last minute of the previous one's lifetime. It is safe for concurrent use.
func (a *app) registryTokens(namespace, serviceAccount string) func(context.Context) (string, error) {
	var (
		mu    sync.Mutex
		token *clusteraccess.Token
	)
	return func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if token == nil || time.Until(token.Expires) < time.Minute {
			var err error
			if token, err = a.cluster.Token(ctx, namespace, serviceAccount, a2av1alpha1.Audience, tokenLifetime); err != nil {
				return "", err
			}
		}
		return token.Value, nil
	}
}
