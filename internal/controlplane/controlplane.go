// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane starts etcd and a kube-apiserver with this project's
// CRDs, for tests and for running the manager on a laptop.
//
// Nothing that is shipped may import it.
package controlplane

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// assetsVariable is where envtest looks for its binaries first.
const assetsVariable = "KUBEBUILDER_ASSETS"

// patience is what each step of a start has.
const patience = 2 * time.Minute

// New returns a control plane that is not started yet. Its binaries are those
// of KUBEBUILDER_ASSETS, or else those that make builds into bin/k8s.
func New() *envtest.Environment {
	env := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join(root(), "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
		// Machines that run many tests at once take longer than envtest expects.
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: patience},
		ControlPlaneStartTimeout: patience,
		ControlPlaneStopTimeout:  patience,
	}
	// Each Agent has a Service, and envtest has addresses for 254.
	env.ControlPlane.GetAPIServer().Configure().Set("service-cluster-ip-range", "10.0.0.0/12")
	if os.Getenv(assetsVariable) == "" {
		env.BinaryAssetsDirectory = filepath.Join(root(), "bin", "k8s")
	}
	return env
}

// GatewayAPI lists the files of those CRDs of the Gateway API that the manager
// knows, as they stand in its module.
func GatewayAPI(ctx context.Context) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		return nil, fmt.Errorf("find module sigs.k8s.io/gateway-api: %w", err)
	}
	var files []string
	for _, resource := range []string{"gateways", "httproutes", "grpcroutes"} {
		name := "gateway.networking.k8s.io_" + resource + ".yaml"
		files = append(files, filepath.Join(strings.TrimSpace(string(out)), "config", "crd", "standard", name))
	}
	return files, nil
}

// root is the top of the source tree around the working directory, which for
// a test is its package's. It is the working directory itself when there is
// none.
func root() string {
	for dir := "."; ; dir = filepath.Join("..", dir) {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return "."
		}
		if _, err := os.Stat(filepath.Join(absolute, "go.mod")); err == nil {
			return absolute
		}
		if absolute == filepath.Dir(absolute) {
			return "."
		}
	}
}
