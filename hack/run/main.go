// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command run runs the manager and an API server on this machine, for developers of the operator. The cluster has no
// node: the operator makes its objects, but no pod runs. Ctrl-C stops both and removes all their files.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/a2a-operator/a2a-operator/internal/operator"
	"github.com/a2a-operator/a2a-operator/test/controlplane"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	config := operator.Defaults()
	config.MetricsBindAddress = "127.0.0.1:8443"
	config.MetricsInsecure = true
	config.HealthProbeBindAddress = "127.0.0.1:8081"
	config.RegistryBindAddress = "127.0.0.1:8444"
	flag.StringVar(&config.SidecarImage, "sidecar-image", "a2a-operator/sidecar:dev", "The `image` of the sidecar in the Deployments.")
	flag.StringVar(&config.RegistryURL, "registry-url", "http://127.0.0.1:8444", "The `URL` of the registry in the sidecar configurations.")
	flag.Parse()

	log := zap.New(zap.UseDevMode(true))
	ctrl.SetLogger(log)
	ctx := ctrl.SetupSignalHandler()

	fmt.Println("starting etcd and kube-apiserver")
	environment := controlplane.New()
	cluster, err := environment.Start()
	if err != nil {
		return errors.Join(fmt.Errorf("start control plane: %w", err), environment.Stop())
	}
	defer func() {
		fmt.Println("stopping etcd and kube-apiserver")
		err = errors.Join(err, environment.Stop())
	}()
	remove, err := announce(environment.KubeConfig, environment.ControlPlane.KubectlPath)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	return operator.Run(ctx, cluster, config, log)
}

// announce writes a kubeconfig, and prints how to use it with the kubectl at the given path. remove deletes the kubeconfig.
func announce(kubeconfig []byte, kubectl string) (remove func() error, err error) {
	dir, err := os.MkdirTemp("", "a2a-operator-run-")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		return nil, err
	}
	fmt.Printf(`
In another terminal:

    export KUBECONFIG=%s PATH=%s:$PATH
    kubectl apply --server-side -k config/samples
    kubectl get agents

Ctrl-C stops everything.

`, path, filepath.Dir(kubectl))
	return func() error { return os.RemoveAll(dir) }, nil
}
