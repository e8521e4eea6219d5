// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/a2a-operator/a2a-operator/internal/operator"
	"github.com/a2a-operator/a2a-operator/test/controlplane"
)

const managerProgram = "github.com/a2a-operator/a2a-operator/cmd/manager"

// The users with which the manager calls the API server. The audit log contains the requests of the user audited, and
// not the requests of the user timed.
const (
	audited = "audited"
	timed   = "timed"
)

// auditPolicy logs the requests of the user audited. It leaves out watches, requests that name no resource, requests
// for Events, Leases and TokenReviews, and writes of the status of AgentSkills. The operator writes such a status once
// a second at most, however many Agents change.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, verbs: [watch]}
- {level: None, nonResourceURLs: ["*"]}
- {level: None, resources: [{group: events.k8s.io}, {group: coordination.k8s.io}, {group: authentication.k8s.io}]}
- {level: None, resources: [{group: a2a-operator.dev, resources: [agentskills/status]}]}
- {level: Metadata, users: [` + audited + `]}
- {level: None}
`

// plane is a control plane and the program of the manager.
type plane struct {
	environment *envtest.Environment
	// cluster is the client of the benchmark itself.
	cluster client.WithWatch
	// users holds the client configurations of audited and timed.
	users map[string]*rest.Config
	dir   string
	// program is the path of the manager.
	program string
}

// buildManager builds the manager into a directory and returns its path.
func buildManager(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "manager")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, managerProgram)
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // like the images
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("build the manager: %w", err)
	}
	return program, nil
}

// startPlane starts etcd and an API server for a manager.
func startPlane(program string) (*plane, error) {
	dir, err := os.MkdirTemp("", "a2a-bench-operator")
	if err != nil {
		return nil, err
	}
	p := &plane{environment: controlplane.New(), users: map[string]*rest.Config{}, dir: dir, program: program}
	if err := p.start(); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

func (p *plane) start() error {
	policy := filepath.Join(p.dir, "policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	p.environment.ControlPlane.GetAPIServer().Configure().
		Set("audit-policy-file", policy).
		Set("audit-log-path", p.auditLog()).
		Set("audit-log-maxsize", "4096")
	// Ten thousand Agents and their objects, each written several times, need some hundred megabytes.
	p.environment.ControlPlane.Etcd = &envtest.Etcd{}
	p.environment.ControlPlane.Etcd.Configure().Set("quota-backend-bytes", "8589934592")
	config, err := p.environment.Start()
	if err != nil {
		return fmt.Errorf("start control plane: %w", err)
	}
	config.QPS = -1
	scheme, err := operator.NewScheme()
	if err != nil {
		return err
	}
	if p.cluster, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	return errors.Join(p.admit(audited), p.admit(timed))
}

// admit adds a user with all permissions.
func (p *plane) admit(name string) error {
	user, err := p.environment.AddUser(envtest.User{Name: name, Groups: []string{"system:masters"}}, nil)
	if err != nil {
		return fmt.Errorf("add user %s: %w", name, err)
	}
	text, err := user.KubeConfig()
	if err != nil {
		return fmt.Errorf("add user %s: %w", name, err)
	}
	p.users[name] = rest.CopyConfig(user.Config())
	p.users[name].QPS = -1
	return os.WriteFile(p.kubeconfig(name), text, 0o600)
}

// stop stops the control plane and removes its files.
func (p *plane) stop() error {
	return errors.Join(p.environment.Stop(), os.RemoveAll(p.dir))
}

func (p *plane) auditLog() string              { return filepath.Join(p.dir, "audit.log") }
func (p *plane) kubeconfig(user string) string { return filepath.Join(p.dir, user+".kubeconfig") }

// namespace creates a namespace.
func (p *plane) namespace(ctx context.Context) (string, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}
	err := p.cluster.Create(ctx, namespace)
	return namespace.Name, err
}
