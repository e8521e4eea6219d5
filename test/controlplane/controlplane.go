// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane starts etcd and a kube-apiserver with this project's CRDs, for tests and
// for running the manager on a laptop.
//
// Shipped programs must not import it.
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

// assetsVariable is the environment variable with the directory of the binaries of envtest.
const assetsVariable = "KUBEBUILDER_ASSETS"

// stepTimeout is the timeout of each step of a start. Machines that run many tests at once are
// slower than envtest expects.
const stepTimeout = 2 * time.Minute

// New returns a control plane that does not run yet. It uses the binaries in the directory
// KUBEBUILDER_ASSETS, by default bin/k8s, where make builds them.
func New() *envtest.Environment {
	env := &envtest.Environment{
		CRDDirectoryPaths:        []string{filepath.Join(root(), "config", "crd", "bases")},
		ErrorIfCRDPathMissing:    true,
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: stepTimeout},
		ControlPlaneStartTimeout: stepTimeout,
		ControlPlaneStopTimeout:  stepTimeout,
	}
	// Each Agent has a Service. The default range of envtest has only 254 addresses.
	env.ControlPlane.GetAPIServer().Configure().Set("service-cluster-ip-range", "10.0.0.0/12")
	if os.Getenv(assetsVariable) == "" {
		env.BinaryAssetsDirectory = filepath.Join(root(), "bin", "k8s")
	}
	return env
}

// GatewayAPI returns the paths of the CRDs of the Gateway API that the manager uses, in the
// module sigs.k8s.io/gateway-api. It runs the go command to find the module.
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

// root returns the root directory of the module that contains the working directory, or the
// working directory if there is no module. The working directory of a test is the directory of
// its package.
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
