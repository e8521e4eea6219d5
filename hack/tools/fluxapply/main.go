// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command fluxapply applies a manifest in the way of Flux's kustomize-controller: by Flux's own library, with the options and
// the cleanup of field managers that the controller sets. It is for the tests of test/install, and has its own module because
// of its dependencies.
//
// Usage: fluxapply KUBECONFIG MANIFEST
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/normalize"
	"github.com/fluxcd/pkg/ssa/utils"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal("fluxapply: ", err)
	}
}

func run(ctx context.Context, kubeconfig, manifest string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	config.QPS = -1
	c, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	file, err := os.Open(manifest)
	if err != nil {
		return fmt.Errorf("open manifest: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	objects, err := utils.ReadObjects(file)
	if err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	if err := normalize.UnstructuredList(objects); err != nil {
		return fmt.Errorf("normalize objects: %w", err)
	}
	manager := ssa.NewResourceManager(c, polling.NewStatusPoller(c, c.RESTMapper(), polling.Options{}),
		ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
	options := ssa.DefaultApplyOptions()
	options.WaitInterval = 200 * time.Millisecond
	options.Cleanup = ssa.ApplyCleanupOptions{
		Annotations: []string{corev1.LastAppliedConfigAnnotation},
		FieldManagers: []ssa.FieldManager{
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationApply},
			{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: "before-first-apply", OperationType: metav1.ManagedFieldsOperationUpdate},
			{Name: "kustomize-controller", OperationType: metav1.ManagedFieldsOperationUpdate},
		},
	}
	if _, err := manager.ApplyAllStaged(ctx, objects, options); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	return nil
}
