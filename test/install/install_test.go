// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install tests that an installation by one tool can be upgraded by another one. It runs kubectl, Helm 3, Helm 4 and
// Flux's library against an API server. Argo CD applies by kubectl's library, and the tests use kubectl with its options.
// `make test-install` builds the programs and runs the tests.
package install

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/a2a-operator/a2a-operator/test/controlplane"
)

const (
	root      = "../.."
	namespace = "a2a-system"
	crdName   = "agentskills.a2a-operator.dev"
	// oldColumn is the name of a column in the first version, and newColumn that in the tree.
	oldColumn = "Former"
	newColumn = "Agents"
)

// way is a tool that installs and upgrades. install and upgrade are its plain commands. takeover is the one command that
// docs/how-to/install.md documents for an installation that another tool has made.
type way struct {
	name                       string
	install, upgrade, takeover func(w *world, version string) error
}

func ways() []way {
	apply := func(arguments ...string) func(*world, string) error {
		return func(w *world, version string) error {
			return w.run("kubectl", append(append([]string{"apply"}, arguments...), "--filename", w.manifest(version))...)
		}
	}
	helm := func(program string, arguments ...string) func(*world, string) error {
		return func(w *world, version string) error {
			return w.run(program, append([]string{
				"upgrade", "--install", "a2a-operator", w.chart(version), "--namespace", namespace, "--create-namespace",
				"--set", "image.tag=" + version,
			}, arguments...)...)
		}
	}
	flux := func(w *world, version string) error { return w.run("fluxapply", w.kubeconfig, w.manifest(version)) }
	argo := []string{"--field-manager=argocd-controller", "--validate=false"}
	return []way{
		{"kubectl apply", apply(), apply(), apply()},
		{"kubectl apply --server-side", apply("--server-side"), apply("--server-side"), apply("--server-side", "--force-conflicts")},
		{"Helm 3", helm("helm3"), helm("helm3"), helm("helm3", "--take-ownership")},
		{"Helm 4", helm("helm4"), helm("helm4"), helm("helm4", "--take-ownership", "--server-side=true", "--force-conflicts")},
		{"Flux", flux, flux, flux},
		{"Argo CD", apply(argo...), apply(argo...), apply(argo...)},
		{
			"Argo CD with ServerSideApply", apply(append(argo, "--server-side", "--force-conflicts")...),
			apply(append(argo, "--server-side", "--force-conflicts")...), apply(append(argo, "--server-side", "--force-conflicts")...),
		},
	}
}

// TestEachWayUpgradesEachOther installs by each tool, makes an AgentSkill, and upgrades by each other one. The upgrade must change
// the Deployment and the CRD, and keep the AgentSkill.
func TestEachWayUpgradesEachOther(t *testing.T) {
	w := newWorld(t)
	for _, first := range ways() {
		for _, second := range ways() {
			t.Run(first.name+" to "+second.name, func(t *testing.T) {
				w.clean(t)
				if err := first.install(w, "before"); err != nil {
					t.Fatal(err)
				}
				w.check(t, "before", oldColumn)
				skill := w.makeSkill(t)
				upgrade := second.takeover
				if first.name == second.name {
					upgrade = second.upgrade
				}
				if err := upgrade(w, "after"); err != nil {
					t.Fatal(err)
				}
				w.check(t, "after", newColumn)
				kept := skill.DeepCopy()
				if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(skill), kept); err != nil || kept.GetUID() != skill.GetUID() {
					t.Errorf("the AgentSkill is not the same one after the upgrade: %v", err)
				}
			})
		}
	}
}

// world is an API server with the two versions to install.
type world struct {
	client     client.Client
	dir        string
	kubeconfig string
	programs   map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	if os.Getenv("INSTALL_TESTS") == "" {
		t.Skip("SKIPPED: make test-install builds the tools")
	}
	environment := controlplane.New()
	environment.CRDDirectoryPaths = nil
	environment.ErrorIfCRDPathMissing = false
	config, err := environment.Start()
	t.Cleanup(func() { _ = environment.Stop() })
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	user, err := environment.AddUser(envtest.User{Name: "installer", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{client: c, dir: t.TempDir(), programs: map[string]string{
		"helm3": os.Getenv("HELM3"), "helm4": os.Getenv("HELM4"), "fluxapply": os.Getenv("FLUXAPPLY"),
		"kubectl": filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"),
	}}
	w.kubeconfig = filepath.Join(w.dir, "kubeconfig")
	w.write(t, "kubeconfig", kubeconfig)
	w.makeVersions(t)
	return w
}

func (w *world) write(t *testing.T, name string, text []byte) {
	t.Helper()
	file := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// makeVersions writes the manifest and the chart of two versions. They differ in the tag of the manager's image and in the
// CRD of skills.
func (w *world) makeVersions(t *testing.T) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "tool", "-modfile=hack/tools/go.mod", "kustomize", "build", "config/default")
	command.Dir = root
	manifest, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	for version, column := range map[string]string{"before": oldColumn, "after": newColumn} {
		text := strings.ReplaceAll(string(manifest), "/manager:v0.1.0", "/manager:"+version)
		w.write(t, "install-"+version+".yaml", []byte(strings.ReplaceAll(text, "name: "+newColumn+"\n", "name: "+column+"\n")))
		chart := filepath.Join(w.dir, "chart-"+version)
		if err := os.CopyFS(chart, os.DirFS(filepath.Join(root, "charts/a2a-operator"))); err != nil {
			t.Fatal(err)
		}
		crd := filepath.Join("chart-"+version, "templates/crds/a2a-operator.dev_agentskills.yaml")
		template, err := os.ReadFile(filepath.Join(w.dir, crd))
		if err != nil {
			t.Fatal(err)
		}
		w.write(t, crd, bytes.ReplaceAll(template, []byte("name: "+newColumn+"\n"), []byte("name: "+column+"\n")))
	}
}

func (w *world) manifest(version string) string {
	return filepath.Join(w.dir, "install-"+version+".yaml")
}

func (w *world) chart(version string) string { return filepath.Join(w.dir, "chart-"+version) }

// run runs a program. Its error contains the output.
func (w *world) run(program string, arguments ...string) error {
	command := exec.CommandContext(context.Background(), w.programs[program], arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig, "HELM_DRIVER=secret", "HOME="+w.dir)
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", program, strings.Join(arguments, " "), err, out)
	}
	return nil
}

// clean deletes the objects of the last installation.
func (w *world) clean(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(w.manifest("after"))
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		if object.GetKind() == "Namespace" {
			continue // envtest has no controller that ends a deletion
		}
		if err := client.IgnoreNotFound(w.client.Delete(t.Context(), object)); err != nil {
			t.Fatal(err)
		}
	}
	// The releases of Helm.
	if err := w.client.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	for {
		crds := &apiextensionsv1.CustomResourceDefinitionList{}
		if err := w.client.List(t.Context(), crds); err != nil {
			t.Fatal(err)
		}
		if len(crds.Items) == 0 {
			return
		}
	}
}

// makeSkill makes an AgentSkill, as the object of a user that an upgrade must not delete.
func (w *world) makeSkill(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	skill := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "a2a-operator.dev/v1alpha1", "kind": "AgentSkill", "metadata": map[string]any{"name": "kept", "namespace": metav1.NamespaceDefault},
		"spec": map[string]any{"name": "Kept", "description": "Is there after an upgrade.", "tags": []any{"test"}},
	}}
	for {
		err := w.client.Create(t.Context(), skill)
		if err == nil {
			return skill
		}
		if t.Context().Err() != nil || !strings.Contains(err.Error(), "no matches for kind") && !strings.Contains(err.Error(), "could not find the requested resource") {
			t.Fatal(err)
		}
	}
}

// check checks the version of the Deployment and of the CRD.
func (w *world) check(t *testing.T, version, column string) {
	t.Helper()
	deployment := &appsv1.Deployment{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "a2a-operator-manager"}, deployment); err != nil {
		t.Fatal(err)
	}
	if image := deployment.Spec.Template.Spec.Containers[0].Image; !strings.HasSuffix(image, ":"+version) {
		t.Errorf("the image of the manager is %s, want the tag %s", image, version)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := w.client.Get(t.Context(), client.ObjectKey{Name: crdName}, crd); err != nil {
		t.Fatal(err)
	}
	for _, each := range crd.Spec.Versions[0].AdditionalPrinterColumns {
		if each.Name == column {
			return
		}
	}
	t.Errorf("the CRD has the columns %+v, want %s among them", crd.Spec.Versions[0].AdditionalPrinterColumns, column)
}
