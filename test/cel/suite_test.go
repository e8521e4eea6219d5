// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cel tests the validation rules of the CRDs. Each rule has a manifest that violates it, and the message
// that the author gets.
package cel

import (
	"regexp"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/test/controlplane"
)

// builtIn matches violations without a field that the API server itself reports, and that no CRD can change: that it
// evaluated no rule, because a schema refuses the object, and that an integer is too large.
var builtIn = regexp.MustCompile(`<nil>: Invalid value: (null: some validation rules were not checked|"": Checked value must be of type integer)`)

// refusal matches the error of a refused object that has a text, and that names the field of each violation. The API
// server names the field <nil> if a rule of the whole object has no fieldPath.
func refusal(text string) types.GomegaMatcher {
	named := func(err error) string { return builtIn.ReplaceAllString(err.Error(), "") }
	return And(HaveOccurred(), WithTransform(named, And(ContainSubstring(text), Not(ContainSubstring("<nil>")))))
}

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
