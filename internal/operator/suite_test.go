// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"net/http"
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

	"github.com/a2a-operator/a2a-operator/internal/controlplane"
	"github.com/a2a-operator/a2a-operator/test/freeport"
)

// leaseNamespace stands for the one that the manager is installed in.
const leaseNamespace = "default"

var (
	environment *envtest.Environment
	// cluster is the tests' own way to the API server.
	cluster client.Client
	// registryAddress is where the manager serves the registry.
	registryAddress string
	// sent are the requests of the manager that write.
	sent *writes
	// start runs the manager, and stop stops the one that runs.
	start func() (stop func())
	// startLogging runs it with a log of its own.
	startLogging func(log logr.Logger) (stop func())
	stop         func()
)

func TestOperator(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(20 * time.Second)
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	RunSpecs(t, "Operator")
}

var _ = BeforeSuite(func() {
	environment = controlplane.New()
	audited(environment)
	config, err := environment.Start()
	Expect(err).NotTo(HaveOccurred())
	scheme, err := NewScheme()
	Expect(err).NotTo(HaveOccurred())
	cluster, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())

	registryAddress = freeport.Address(GinkgoT())
	sent = &writes{}
	manager := sent.watch(asManager())
	startLogging = func(log logr.Logger) func() { return startManager(manager, log) }
	start = func() func() { return startLogging(GinkgoLogr) }
	stop = start()
	// Its right to make the Lease is one that it needs, and that no spec may use up.
	Eventually(func() error {
		return cluster.Get(context.Background(), client.ObjectKey{Namespace: leaseNamespace, Name: leaderElectionID}, &coordinationv1.Lease{})
	}).WithTimeout(time.Minute).Should(Succeed())
})

var _ = AfterSuite(func() {
	if stop != nil {
		stop()
	}
	Expect(environment.Stop()).To(Succeed())
})

// What these users ask of the API server is in its audit log.
const (
	managerUser = "manager"
	// namespacedUser is a manager that was installed for one namespace.
	namespacedUser = "namespaced-manager"
	// strangerUser is one without any rights.
	strangerUser = "stranger"
)

// asManager is a user with the rights of the installed manager and no other.
func asManager() *rest.Config {
	GinkgoHelper()
	user, err := environment.AddUser(envtest.User{Name: managerUser}, nil)
	Expect(err).NotTo(HaveOccurred())
	grant(managerUser, managerRole())
	leader := leaderRole()
	leader.Namespace = leaseNamespace
	grant(managerUser, leader)
	return user.Config()
}

// asNamespacedManager is a user with the rights of a manager that was installed
// for some namespaces, but for those in these.
func asNamespacedManager(name string) *rest.Config {
	GinkgoHelper()
	user, err := environment.AddUser(envtest.User{Name: name}, nil)
	Expect(err).NotTo(HaveOccurred())
	grant(name, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: chartRules("a2a-operator.clusterRules")})
	leader := leaderRole()
	leader.Namespace, leader.Name = leaseNamespace, "leader-of-"+name
	grant(name, leader)
	return user.Config()
}

// roleIn is what such a manager may do in one of its namespaces.
func roleIn(namespace, user string) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user}, Rules: chartRules("a2a-operator.namespacedRules")}
}

// grant creates a role and gives it to a user.
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

// startManager runs the manager as it runs in a cluster, but for its ports.
func startManager(config *rest.Config, log logr.Logger, namespaces ...string) (stop func()) {
	GinkgoHelper()
	settings := managerSettings(namespaces...)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, config, settings, log) }()
	return func() {
		cancel()
		Expect(<-done).To(Succeed())
	}
}

func managerSettings(namespaces ...string) Config {
	settings := Defaults()
	settings.SidecarImage = "example/sidecar:1"
	settings.RegistryBindAddress = registryAddress
	settings.MetricsBindAddress = off
	settings.HealthProbeBindAddress = off
	settings.LeaderElect = true
	settings.WatchNamespaces = namespaces
	settings.LeaderElectionNamespace = leaseNamespace
	return settings
}

// writes counts the requests of a manager that write something about Agents.
type writes struct {
	mutex sync.Mutex
	all   []string
}

// watch returns a configuration whose requests are counted.
func (w *writes) watch(config *rest.Config) *rest.Config {
	watched := rest.CopyConfig(config)
	watched.WrapTransport = transport.Wrappers(watched.WrapTransport, func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			w.note(r)
			return next.RoundTrip(r)
		})
	})
	return watched
}

func (w *writes) note(r *http.Request) {
	if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/leases") || strings.Contains(r.URL.Path, "/events") {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.all = append(w.all, r.Method+" "+r.URL.Path)
}

// of lists the requests about the objects of a namespace.
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
