// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package execute runs the shell blocks of the pages, and sends their YAML blocks to an
// API server. No operator and no node run: a block that needs one is run by test/e2e.
package execute

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/a2a-operator/a2a-operator/test/controlplane"
	"github.com/a2a-operator/a2a-operator/test/docs/blocks"
	"github.com/a2a-operator/a2a-operator/test/programs"
)

const root = "../../.."

func TestMain(m *testing.M) { os.Exit(programs.Built(m, "cmd/sidecar").Run()) }

// cluster is an API server with the CRDs of this project and of the Gateway API.
type cluster struct {
	client.Client
	environment *envtest.Environment
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	environment := controlplane.New()
	gateways, err := controlplane.GatewayAPI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	environment.CRDDirectoryPaths = append(environment.CRDDirectoryPaths, gateways...)
	config, err := environment.Start()
	t.Cleanup(func() { _ = environment.Stop() })
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{environment: environment}
	if c.Client, err = client.New(config, client.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a2a-system", "library", "demo", "search", "shop", "team", "models", "monitoring"} {
		c.createNamespace(t, name)
	}
	return c
}

// createNamespace creates a namespace with the ServiceAccount `default`, which the
// controllers of a complete cluster create.
func (c *cluster) createNamespace(t *testing.T, name string) {
	t.Helper()
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "default"}},
	} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// kubeconfig writes the configuration of kubectl for an administrator, whose namespace is
// a new one, and returns the file.
func (c *cluster) kubeconfig(t *testing.T, namespace string) string {
	t.Helper()
	c.createNamespace(t, namespace)
	user, err := c.environment.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, ctx := range config.Contexts {
		ctx.Namespace = namespace
	}
	return write(t, config)
}

func write(t *testing.T, config *clientcmdapi.Config) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// dryRun lets the API server validate an object completely without storing it. Unknown
// fields are errors.
func (c *cluster) dryRun(ctx context.Context, object client.Object) error {
	err := c.Create(ctx, object, client.DryRunAll, client.FieldValidation("Strict"))
	if err != nil {
		return fmt.Errorf("the API server rejects %s %s: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
	}
	return nil
}

// byPage returns the blocks of each page in a language.
func byPage(t *testing.T, language string) map[string][]blocks.Block {
	t.Helper()
	pages, err := blocks.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]blocks.Block{}
	for _, page := range pages {
		all, err := blocks.Read(root, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range all {
			if b.Language == language {
				found[page] = append(found[page], b)
			}
		}
	}
	return found
}
