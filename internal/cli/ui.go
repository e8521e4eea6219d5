// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/clusteraccess"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/registryclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/ui"
)

// uiOptions are the flags of the page.
type uiOptions struct {
	port           int
	noBrowser, all bool
	serviceAccount string
	registry       string
	caFile         string
}

func (a *app) uiCommand() *cobra.Command {
	o := &uiOptions{}
	cmd := &cobra.Command{
		Use:   "ui [-A]",
		Short: "Show the agents on a web page of this machine",
		Long: `Show the agents on a web page of this machine: their health, as it changes, their skills and their cards. On the page of
an agent, you can send messages to it.

The page is served on the loopback interface until Ctrl-C. The browser gets no token of the cluster. The page lists the agents
that the ServiceAccount --service-account of your namespace sees in the registry.`,
		Example: `  kubectl a2a ui
  kubectl a2a ui -A --no-browser`,
		Args: exactArgs(),
	}
	flags := cmd.Flags()
	flags.IntVar(&o.port, "port", 0, "Port of the page; 0 takes a free one.")
	flags.BoolVar(&o.noBrowser, "no-browser", false, "Print the address only, and open no browser.")
	flags.BoolVarP(&o.all, "all-namespaces", "A", false, "List the agents of all namespaces.")
	flags.StringVar(&o.serviceAccount, "service-account", "default", "`NAME` of the ServiceAccount, in your namespace, whose agents the page lists.")
	flags.StringVar(&o.registry, "registry-service", "a2a-system/a2a-operator-registry", "`NAMESPACE/NAME` of the Service of the registry.")
	flags.StringVar(&o.caFile, "registry-ca-file", "", "PEM `FILE` of the authority that signed the certificate of a registry with TLS.")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.serveUI(cmd.Context(), o) }
	return cmd
}

// serveUI serves the page until ctx ends.
func (a *app) serveUI(ctx context.Context, o *uiOptions) error {
	if o.port < 0 || o.port > 65535 {
		return failure.New(failure.Usage, "--port %d is not between 0 and 65535", o.port)
	}
	namespace, err := a.cluster.Namespace()
	if err != nil {
		return err
	}
	registry, end, err := a.connectRegistry(ctx, o, namespace)
	if err != nil {
		return err
	}
	defer end()
	options := ui.Options{
		Registry: registry, Namespace: namespace, Caller: "ServiceAccount " + namespace + "/" + o.serviceAccount,
		Object: a.cluster.Agent, Connect: a.connectPage, Now: time.Now, //nolint:forbidigo // the ages of objects are for people
	}
	if o.all {
		options.Namespace = ""
	}
	server, err := ui.Listen(ctx, strconv.Itoa(o.port), options)
	if err != nil {
		return err
	}
	if err := a.printText([]byte(server.Address() + "\n")); err != nil {
		return err
	}
	a.warnf("The address works once. Ctrl-C ends the page.")
	if !o.noBrowser && a.interactive {
		a.openBrowser(ctx, server.Address())
	}
	return server.Serve(ctx) //nolint:wrapcheck // it is a failure
}

// connectRegistry returns a client of the registry, with tokens of a ServiceAccount. It fails if a
// right is missing.
func (a *app) connectRegistry(ctx context.Context, o *uiOptions, namespace string) (client *registryclient.Client, end func(), err error) {
	registryNamespace, service, ok := strings.Cut(o.registry, "/")
	if !ok || registryNamespace == "" || service == "" {
		return nil, nil, failure.New(failure.Usage, "--registry-service %q is not NAMESPACE/NAME of a Service", o.registry)
	}
	tokens := &tokenSource{request: func(ctx context.Context) (*clusteraccess.Token, error) {
		return a.cluster.Token(ctx, namespace, o.serviceAccount, a2av1alpha1.Audience, tokenLifetime)
	}}
	if _, err := tokens.token(ctx); err != nil {
		return nil, nil, err
	}
	forward, scheme, err := a.cluster.Registry(ctx, registryNamespace, service)
	if err != nil {
		return nil, nil, err
	}
	transport, err := a2aclient.NewHTTPClient(a2aclient.TransportOptions{DialContext: forward.DialContext, CAFile: o.caFile}, a.debugf())
	if err != nil {
		return nil, nil, err
	}
	// The port of the address is unused: the connection leads to the Service.
	address := &url.URL{Scheme: scheme, Host: service + "." + registryNamespace + ".svc"}
	client = &registryclient.Client{HTTP: transport, URL: address, Token: tokens.token}
	if _, err := client.Search(ctx, registryclient.Query{Limit: 1, Namespace: namespace}); err != nil {
		forward.Close()
		return nil, nil, err
	}
	return client, func() { closeIdle(transport); forward.Close() }, nil
}

// connectPage returns a client for an agent of the page, with a token for just that agent.
func (a *app) connectPage(ctx context.Context, namespace, name string) (*a2aclient.Client, func(), error) {
	agent, err := a.connect(ctx, &agentFlags{serviceAccount: "default"}, namespace+"/"+name)
	if err != nil {
		return nil, nil, err
	}
	return agent.Client, agent.close, nil
}

func closeIdle(client *http.Client) { client.CloseIdleConnections() }

// tokenSource returns a token until shortly before it expires, and then a new one. It is safe for
// concurrent use.
type tokenSource struct {
	request func(ctx context.Context) (*clusteraccess.Token, error)

	mu   sync.Mutex
	last *clusteraccess.Token
}

func (s *tokenSource) token(ctx context.Context) (string, error) {
	const margin = 2 * time.Minute
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil || time.Until(s.last.Expires) < margin {
		fresh, err := s.request(ctx)
		if err != nil {
			return "", err
		}
		s.last = fresh
	}
	return s.last.Value, nil
}

// openBrowser opens an address in the browser of the user. The address is printed in any case.
func (a *app) openBrowser(ctx context.Context, address string) {
	program, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	command := exec.CommandContext(context.WithoutCancel(ctx), program, args...) //nolint:gosec // the address is our own
	if err := command.Start(); err != nil {
		a.warnf("No browser could be opened: %v", err)
		return
	}
	go func() { _ = command.Wait() }()
}
