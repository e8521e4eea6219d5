// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// dryRun serves a registry on loopback, publishes to it, verifies every signature, and runs a command while the registry is
// available. Environment variables of the command describe the release and, if there is one, the former version: the chart and
// the manifests from which the command can upgrade.
func (r *release) dryRun(ctx context.Context, address string, former *release, command []string) error {
	scratch, err := os.MkdirTemp("", "a2a-operator-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	_, stop, err := serveRegistry(ctx, address, scratch)
	if err != nil {
		return err
	}
	defer stop()
	if err := r.signer.newKey(ctx, scratch); err != nil {
		return err
	}
	pushed, err := r.publish(ctx)
	if err != nil {
		return err
	}
	if err := r.verify(ctx, pushed); err != nil {
		return err
	}
	if former != nil {
		if err := former.publishInstallation(ctx); err != nil {
			return fmt.Errorf("publish %s, from which the upgrade starts: %w", former.version, err)
		}
	}
	if len(command) == 0 {
		return nil
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(),
		"RELEASE_CHART=oci://"+pushed.chart.repository,
		"RELEASE_CHART_VERSION="+strings.TrimPrefix(r.version, "v"),
		"RELEASE_FILES="+r.output,
	)
	if former != nil {
		cmd.Env = append(cmd.Env,
			"RELEASE_FORMER_CHART_VERSION="+strings.TrimPrefix(former.version, "v"),
			"RELEASE_FORMER_FILES="+former.output,
		)
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run %s: %w", strings.Join(command, " "), err)
	}
	return nil
}

// serveRegistry serves an empty registry, which stores its blobs in a directory, until stop is called. With the port 0 it chooses a
// port; served is the address with the port. It returns an error for an address that is not loopback, because the registry has
// neither TLS nor authentication.
func serveRegistry(ctx context.Context, address, dir string) (served string, stop func(), err error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", nil, fmt.Errorf("read the address of the registry: %w", err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return "", nil, fmt.Errorf("address %s is not a loopback address: use one such as 127.0.0.1:5005", address)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return "", nil, fmt.Errorf("serve the registry: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: registry.New(
		registry.WithBlobHandler(registry.NewDiskBlobHandler(dir)),
		registry.WithReferrersSupport(true),
		registry.Logger(log.New(io.Discard, "", 0)),
	)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "release: serve the registry:", err)
		}
	}()
	return listener.Addr().String(), func() { _ = server.Close(); <-ended }, nil
}
