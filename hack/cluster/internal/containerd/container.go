// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrNotFound is returned when no running container matches.
var ErrNotFound = errors.New("no such running container")

// Container identifies a container as Kubernetes does.
type Container struct {
	Namespace string
	Pod       string
	Name      string
}

// Kill kills the container with SIGKILL, as the kernel does when memory runs out, and returns its id.
func (c Client) Kill(ctx context.Context, container Container) (string, error) {
	listed, err := c.run(ctx, "containers", "list", "--quiet", container.filter())
	if err != nil {
		return "", err
	}
	tasks, err := c.run(ctx, "tasks", "list")
	if err != nil {
		return "", err
	}
	// A restarted container is listed once for each start; only one of them runs.
	for id := range strings.FieldsSeq(listed) {
		if !isRunning(tasks, id) {
			continue
		}
		if _, err := c.run(ctx, "tasks", "kill", "--signal", "SIGKILL", id); err != nil {
			return "", err
		}
		return id, nil
	}
	return "", fmt.Errorf("kill container %s of pod %s/%s: %w", container.Name, container.Namespace, container.Pod, ErrNotFound)
}

// filter selects the container by the labels that the kubelet gives it.
func (c Container) filter() string {
	var terms []string
	for _, label := range [][2]string{
		{"io.kubernetes.pod.namespace", c.Namespace},
		{"io.kubernetes.pod.name", c.Pod},
		{"io.kubernetes.container.name", c.Name},
	} {
		terms = append(terms, fmt.Sprintf("labels.%q==%q", label[0], label[1]))
	}
	return strings.Join(terms, ",")
}

// isRunning reports whether a table of ctr, with the columns id, process id and status, has a running task of the id.
func isRunning(table, id string) bool {
	for _, fields := range rows(table) {
		if len(fields) == 3 && fields[0] == id {
			return fields[2] == "RUNNING"
		}
	}
	return false
}
