// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/ui"
	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
)

// uiOptions are the flags of `kubectl a2a ui`.
type uiOptions struct {
	registryFlags
	port           int
	noBrowser, all bool
}

func (a *app) uiCommand() *cobra.Command {
	o := &uiOptions{}
	cmd := &cobra.Command{
		Use:   "ui [-A]",
		Short: "Show the agents on a web page of this machine",
		Long: `Show the agents on a web page of this machine: their health, as it changes, their skills and their cards. On the page of
an agent, you can send messages to it, and read your tasks at the agent.

The command serves the page on the loopback interface until you press Ctrl-C. The browser receives no token of the cluster. The page lists the agents
that the registry shows to the ServiceAccount of --service-account in your namespace.`,
		Example: `  kubectl a2a ui
  kubectl a2a ui -A --no-browser`,
		Args: exactArgs(),
	}
	flags := cmd.Flags()
	flags.IntVar(&o.port, "port", 0, "Port of the page; 0 selects a free port.")
	flags.BoolVar(&o.noBrowser, "no-browser", false, "Print the address only, and open no browser.")
	flags.BoolVarP(&o.all, "all-namespaces", "A", false, "List the agents of all namespaces.")
	o.addTo(cmd)
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
	listed := namespace
	if o.all {
		listed = ""
	}
	registry, end, err := a.registry(ctx, &o.registryFlags, listed)
	if err != nil {
		return err
	}
	defer end()
	// Search once before the start, so that a missing right is an error of the command and not of the page.
	if _, err := registry.Search(ctx, registryapi.Query{Limit: 1, Namespace: namespace}); err != nil {
		return err
	}
	options := ui.Options{
		Registry: registry, Namespace: listed, Caller: registry.Caller, CallsAs: "ServiceAccount " + pageAccount,
		Object: a.cluster.Agent, Connect: a.connectPage, Now: time.Now,
	}
	server, err := ui.Listen(ctx, strconv.Itoa(o.port), options)
	if err != nil {
		return err
	}
	if err := a.printText([]byte(server.Address() + "\n")); err != nil {
		return err
	}
	a.warnf("The address works once. Press Ctrl-C to stop the page.")
	if !o.noBrowser && a.interactive {
		a.openBrowser(ctx, server.Address())
	}
	return server.Serve(ctx)
}

// pageAccount is the ServiceAccount of an agent's namespace as which the page calls the agent.
const pageAccount = "default"

// connectPage returns a client for an agent of the page. If the agent needs a token, the client sends one that only this
// agent accepts.
func (a *app) connectPage(ctx context.Context, namespace, name string) (*client.Client, func(), error) {
	agent, err := a.connect(ctx, &agentFlags{serviceAccount: pageAccount}, namespace+"/"+name)
	if err != nil {
		return nil, nil, err
	}
	return agent.Client, agent.close, nil
}

// openBrowser opens an address in the browser of the user. The caller also prints the address.
func (a *app) openBrowser(ctx context.Context, address string) {
	program := "xdg-open"
	args := []string{address}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program = "rundll32"
		args = []string{"url.dll,FileProtocolHandler", address}
	}
	command := exec.CommandContext(context.WithoutCancel(ctx), program, args...) //nolint:gosec // the address is our own
	if err := command.Start(); err != nil {
		a.warnf("No browser could be opened: %v", err)
		return
	}
	go func() { _ = command.Wait() }()
}
