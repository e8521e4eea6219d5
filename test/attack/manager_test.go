// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator"
	"github.com/a2a-operator/a2a-operator/test/controlplane"
)

// home is the namespace of the manager.
const home = "default"

// cluster is the control plane of the tests. The first test that needs it starts it.
type cluster struct {
	client.Client
	environment *envtest.Environment
	// kubeconfig is a file for the manager, which has all rights.
	kubeconfig []byte
}

var shared struct {
	once    sync.Once
	cluster *cluster
	err     error
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	shared.once.Do(func() { shared.cluster, shared.err = newCluster() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

func stopCluster() {
	if shared.cluster != nil {
		_ = shared.cluster.environment.Stop()
	}
}

func newCluster() (*cluster, error) {
	ctrl.SetLogger(logr.Discard())
	environment := controlplane.New()
	gateways, err := controlplane.GatewayAPI(context.Background())
	if err != nil {
		return nil, err
	}
	environment.CRDDirectoryPaths = append(environment.CRDDirectoryPaths, gateways...)
	// 2,000 fat objects need 500 MB, and each version of them again until etcd is compacted.
	environment.ControlPlane.Etcd = &envtest.Etcd{}
	environment.ControlPlane.Etcd.Configure().Set("quota-backend-bytes", strconv.Itoa(8<<30))
	environment.ControlPlane.GetAPIServer().Configure().Set("etcd-compaction-interval", "10s")
	config, err := environment.Start()
	if err == nil {
		config.QPS = -1
		var c *cluster
		if c, err = connect(environment, config); err == nil {
			return c, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("start control plane: %w", err), environment.Stop())
}

// connect connects to a control plane that runs.
func connect(environment *envtest.Environment, config *rest.Config) (*cluster, error) {
	scheme, err := operator.NewScheme()
	if err != nil {
		return nil, err
	}
	c := &cluster{environment: environment}
	if c.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	if err := c.addFlowSchema(); err != nil {
		return nil, err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "manager"}, RoleRef: administrator,
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "a2a-system", Name: "a2a-operator-manager"}},
	}
	if err := c.Create(context.Background(), binding); err != nil {
		return nil, err
	}
	user, err := environment.AddUser(envtest.User{Name: "system:serviceaccount:a2a-system:a2a-operator-manager", Groups: []string{"system:serviceaccounts"}}, nil)
	if err != nil {
		return nil, err
	}
	c.kubeconfig, err = user.KubeConfig()
	return c, err
}

var administrator = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}

// addFlowSchema adds the FlowSchema of the installation.
func (c *cluster) addFlowSchema() error {
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "default", "operator.yaml"))
	if err != nil {
		return err
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		if !strings.Contains(document, "\nkind: FlowSchema\n") {
			continue
		}
		flow := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &flow.Object); err != nil {
			return err
		}
		return c.Create(context.Background(), flow)
	}
	return errors.New("operator.yaml has no FlowSchema")
}

// tenant returns the cluster for a user with all rights in a new namespace, and no others.
func (c *cluster) tenant(t *testing.T, prefix string) (of *cluster, namespace string) {
	t.Helper()
	namespace = c.namespace(t, prefix)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tenant"}, RoleRef: administrator,
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: namespace}},
	}
	if err := c.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	user, err := c.environment.AddUser(envtest.User{Name: namespace}, nil)
	if err != nil {
		t.Fatal(err)
	}
	config := user.Config()
	config.QPS = -1
	own, err := client.New(config, client.Options{Scheme: c.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{Client: own, environment: c.environment, kubeconfig: c.kubeconfig}, namespace
}

// namespace creates a namespace with a new name.
func (c *cluster) namespace(t *testing.T, prefix string) string {
	t.Helper()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	if err := c.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	return n.Name
}

// token returns a token of a ServiceAccount of the manager's namespace that may read everything.
func (c *cluster) token(t *testing.T, audiences ...string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "reader"}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: home, Name: "reader"}},
	}
	for _, object := range []client.Object{account, binding} {
		if err := c.Create(t.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
	if err := c.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// startManager starts a manager with all its listeners, and measures the quiet values of its well-behaved client.
func startManager(t *testing.T, c *cluster, kubeconfig []byte) *subject {
	t.Helper()
	return startManagerWithin(t, c, kubeconfig, ManagerLimit, "")
}

// startManagerOverTLS does the same with a certificate for the registry and the page.
func startManagerOverTLS(t *testing.T, c *cluster, kubeconfig []byte) *subject {
	t.Helper()
	s := startManagerWithin(t, c, kubeconfig, ManagerLimit, certificate(t))
	s.name = "manager, TLS"
	return s
}

// startManagerWithin does the same with a memory limit, and with a certificate in a directory, "" for none.
func startManagerWithin(t *testing.T, c *cluster, kubeconfig []byte, limit int64, certificates string) *subject {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kubeconfig"), kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	health, metrics, registry := newListener(t, "health"), newListener(t, "metrics"), newListener(t, "registry")
	outside, page, pprof := newListener(t, "catalog outside"), newListener(t, "page"), newListener(t, "pprof")
	pprof.V4 = true
	metrics.TLS = true
	page.HTTP2 = true
	page.Names = "page.example.com"
	scheme := "http"
	flags := []string{}
	if certificates != "" {
		scheme = "https"
		flags = append(flags, "--registry-cert-dir", certificates, "--ui-cert-dir", certificates)
		registry.TLS = true
		page.TLS = true
	}
	p := Start(t, limit, "cmd/manager", append(flags,
		"--kubeconfig", filepath.Join(dir, "kubeconfig"), "--sidecar-image", "example/sidecar:1", "--leader-elect", "--namespace", home,
		"--health-probe-bind-address", health.bind(), "--metrics-bind-address", metrics.bind(), "--pprof-bind-address", pprof.bind(),
		"--registry-bind-address", registry.bind(), "--registry-url", scheme+"://registry."+home+".svc", "--registry-publisher", "agents.example.com",
		"--registry-outside-bind-address", outside.bind(), "--registry-outside-url", "https://agents.example.com",
		"--registry-oidc-issuer", "https://127.0.0.1:1", "--registry-oidc-audience", "registry",
		"--ui-bind-address", page.bind(), "--ui-url", "https://"+page.Names)...)
	t.Cleanup(func() {
		if p.Failure() == "" {
			p.Terminate(t, endWithin) // it releases its Lease, so that the next manager need not wait
		}
	})
	health.get("/readyz")
	metrics.get("/metrics", "Authorization", "Bearer "+c.token(t))
	registry.get("/v1/agents", "Authorization", "Bearer "+c.token(t, a2av1alpha1.Audience))
	outside.get("/healthz")
	page.get("/static/ui.css")
	pprof.get("/debug/pprof/cmdline")
	return newSubject(t, "manager", limit, p, []listener{health, metrics, registry, outside, page, pprof})
}
