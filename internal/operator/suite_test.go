// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"maps"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/a2a-operator/a2a-operator/internal/operator/operatorclaim"
	"github.com/a2a-operator/a2a-operator/test/controlplane"
	"github.com/a2a-operator/a2a-operator/test/freeport"
)

// leaseNamespace is the namespace in which the manager is installed.
const leaseNamespace = "default"

var (
	environment *envtest.Environment
	// cluster is the client of the tests, with all rights and without a cache.
	cluster client.Client
	// registryAddress is the address of the manager's registry.
	registryAddress string
	// sent records the writes of the manager.
	sent *writes
	// start starts the manager. stop stops the running manager.
	start func() (stop func())
	// startLogging starts the manager with another logger.
	startLogging func(log logr.Logger) (stop func())
	stop         func()
)

func TestOperator(t *testing.T) {
	RegisterFailHandler(Fail)
	// The long timeout allows for a busy machine: the packages of the tree are tested at the
	// same time.
	SetDefaultEventuallyTimeout(time.Minute)
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	RunSpecs(t, "Operator")
}

var _ = BeforeSuite(func() {
	environment = controlplane.New()
	enableAuditLog(environment)
	config, err := environment.Start()
	Expect(err).NotTo(HaveOccurred())
	scheme, err := NewScheme()
	Expect(err).NotTo(HaveOccurred())
	cluster, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())

	registryAddress = freeport.Address(GinkgoT())
	sent = &writes{}
	manager := sent.recording(asManager())
	startLogging = func(log logr.Logger) func() { return startManager(manager, log) }
	start = func() func() { return startLogging(GinkgoLogr) }
	stop = start()
	// The audit log must show that the manager creates the Lease, so no test spec may create
	// it.
	Eventually(func() error {
		return cluster.Get(context.Background(), client.ObjectKey{Namespace: leaseNamespace, Name: operatorclaim.LeaseName(Defaults().Name)}, &coordinationv1.Lease{})
	}).WithTimeout(time.Minute).Should(Succeed())
})

var _ = AfterSuite(func() {
	if stop != nil {
		stop()
	}
	Expect(environment.Stop()).To(Succeed())
})

// The audit log of the API server contains the requests of these users.
const (
	managerUser = "manager"
	// namespacedUser is a manager that is installed for one namespace.
	namespacedUser = "namespaced-manager"
	// userWithoutRights is a manager without any rights.
	userWithoutRights = "without-rights"
)

// asManager returns the configuration of a user with the rights of the installed manager only.
func asManager() *rest.Config {
	GinkgoHelper()
	user, err := environment.AddUser(envtest.User{Name: managerUser}, nil)
	Expect(err).NotTo(HaveOccurred())
	grant(managerUser, managerRole())
	grantNamespaced(managerUser)
	return user.Config()
}

// asNamespacedManager returns the configuration of a user with the rights of a manager that is
// installed for some namespaces, without the rights in these namespaces.
func asNamespacedManager(name string) *rest.Config {
	GinkgoHelper()
	user, err := environment.AddUser(envtest.User{Name: name}, nil)
	Expect(err).NotTo(HaveOccurred())
	grant(name, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: chartRules("a2a-operator.clusterRules")})
	grantNamespaced(name)
	return user.Config()
}

// roleIn returns the rights of a namespaced manager in one of its namespaces.
func roleIn(namespace, user string) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user}, Rules: chartRules("a2a-operator.namespacedRules")}
}

// grantNamespaced grants the rights that a namespaced manager has in its own namespace.
func grantNamespaced(user string) {
	GinkgoHelper()
	for _, role := range []*rbacv1.Role{leaderRole(), tokenKeysRole()} {
		role.Namespace, role.Name = leaseNamespace, role.Name+"-of-"+user
		grant(user, role)
	}
}

// grant creates a role and binds it to a user.
func grant(user string, role client.Object) {
	GinkgoHelper()
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
	var binding client.Object
	switch role.(type) {
	case *rbacv1.ClusterRole:
		binding = &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.GetName()}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.GetName()},
		}
	case *rbacv1.Role:
		binding = &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: role.GetNamespace(), Name: role.GetName()}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.GetName()},
		}
	}
	Expect(cluster.Create(context.Background(), role)).To(Succeed())
	Expect(cluster.Create(context.Background(), binding)).To(Succeed())
}

// startManager starts a manager as in a cluster, except for its ports.
func startManager(restConfig *rest.Config, log logr.Logger, namespaces ...string) (stop func()) {
	GinkgoHelper()
	config := managerConfig(namespaces...)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, restConfig, config, log) }()
	return func() {
		cancel()
		Expect(<-done).To(Succeed())
	}
}

func managerConfig(namespaces ...string) Config {
	config := Defaults()
	config.SidecarImage = "example/sidecar:1"
	config.RegistryBindAddress = registryAddress
	config.MetricsBindAddress = off
	config.HealthProbeBindAddress = off
	config.LeaderElect = true
	config.WatchNamespaces = namespaces
	config.Namespace = leaseNamespace
	config.ExposureAllowedFile = filepath.Join("testdata", "exposure.yaml")
	return config
}

// writes records the writes of a manager, except those of Leases and events.
type writes struct {
	mutex sync.Mutex
	all   []string
	// watched has the resources that the manager watches.
	watched map[string]bool
}

// watchedResources returns the resources that the manager watches, sorted.
func (w *writes) watchedResources() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.Sorted(maps.Keys(w.watched))
}

// recording returns a configuration whose requests are recorded.
func (w *writes) recording(config *rest.Config) *rest.Config {
	recording := rest.CopyConfig(config)
	recording.WrapTransport = transport.Wrappers(recording.WrapTransport, func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			w.record(r)
			return next.RoundTrip(r)
		})
	})
	return recording
}

func (w *writes) record(r *http.Request) {
	if r.URL.Query().Get("watch") == "true" {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if w.watched == nil {
			w.watched = map[string]bool{}
		}
		w.watched[path.Base(r.URL.Path)] = true
		return
	}
	if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/leases") || strings.Contains(r.URL.Path, "/events") {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.all = append(w.all, r.Method+" "+r.URL.Path)
}

// of returns the writes of the objects of a namespace.
func (w *writes) of(namespace string) []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var of []string
	for _, request := range w.all {
		if strings.Contains(request, "/namespaces/"+namespace+"/") {
			of = append(of, request)
		}
	}
	return of
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
