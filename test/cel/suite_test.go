// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cel tests the validation rules of the CRDs. Each rule has a manifest that violates it, and the message
// that the author gets.
package cel

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/controlplane"
)

// crdTimeout is how long the API server may take to serve a changed CRD.
const crdTimeout = 30 * time.Second

var (
	environment *envtest.Environment
	cluster     client.Client
)

func TestCEL(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "CRD validation")
}

var _ = BeforeSuite(func() {
	environment = controlplane.New()
	config, err := environment.Start()
	Expect(err).NotTo(HaveOccurred())
	scheme := runtime.NewScheme()
	Expect(a2av1alpha1.AddToScheme(scheme)).To(Succeed())
	Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	cluster, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
})

var _ = AfterSuite(func() {
	Expect(environment.Stop()).To(Succeed())
})
