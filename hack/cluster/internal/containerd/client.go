// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package containerd controls the containerd of the node through ctr, its command-line client.
package containerd

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/packages"
)

// namespace is the containerd namespace of Kubernetes.
const namespace = "k8s.io"

// Client is a containerd at a socket.
type Client struct {
	Socket string
}

// Ping returns nil if containerd answers.
func (c Client) Ping(ctx context.Context) error {
	_, err := c.run(ctx, "version")
	return err
}

// run runs ctr and returns its output.
func (c Client) run(ctx context.Context, arguments ...string) (string, error) {
	path, err := packages.Program("ctr")
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, path, append([]string{"--address", c.Socket, "--namespace", namespace}, arguments...)...)
	var printed, complaint strings.Builder
	command.Stdout, command.Stderr = &printed, &complaint
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("run ctr %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(complaint.String()))
	}
	return printed.String(), nil
}

// rows splits a table of ctr into fields, without the heading.
func rows(table string) [][]string {
	var found [][]string
	for i, line := range strings.Split(strings.TrimSpace(table), "\n") {
		if fields := strings.Fields(line); i > 0 && len(fields) > 0 {
			found = append(found, fields)
		}
	}
	return found
}
