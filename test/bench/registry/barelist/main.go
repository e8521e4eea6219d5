// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command barelist is a lower bound for the start of a registry: it lists and decodes the Agents and the ConfigMaps
// of a cluster, and then listens.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator"
	"github.com/a2a-operator/a2a-operator/test/bench/process"
)

func main() {
	process.Serve(func() http.Handler {
		if err := list(); err != nil {
			log.Fatal(err)
		}
		return http.NotFoundHandler()
	})
}

func list() error {
	if flag.Lookup("kubeconfig") == nil { // the import of controller-runtime adds this flag
		log.Fatal("no flag --kubeconfig")
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	scheme, err := operator.NewScheme()
	if err != nil {
		return err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	for _, list := range []client.ObjectList{&a2av1alpha1.AgentList{}, &corev1.ConfigMapList{}} {
		if err := c.List(context.Background(), list); err != nil {
			return err
		}
	}
	return nil
}
