// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/desired"
	"github.com/a2a-operator/a2a-operator/internal/operator/exposure"
	"github.com/a2a-operator/a2a-operator/internal/operator/gather"
	"github.com/a2a-operator/a2a-operator/internal/operator/informercache"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/test/controlplane"
)

var (
	environment *envtest.Environment
	config      *rest.Config
	scheme      *runtime.Scheme
	// cluster is the client of the tests, with all rights and without a cache.
	cluster client.WithWatch
)

func TestControllers(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Controllers")
}

var _ = BeforeSuite(func() {
	environment = controlplane.New()
	gatewayAPI, err := controlplane.GatewayAPI(context.Background())
	Expect(err).NotTo(HaveOccurred())
	environment.CRDDirectoryPaths = append(environment.CRDDirectoryPaths, gatewayAPI...)
	config, err = environment.Start()
	Expect(err).NotTo(HaveOccurred())
	scheme = runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(a2av1alpha1.AddToScheme(scheme)).To(Succeed())
	Expect(gatewayv1.Install(scheme)).To(Succeed())
	cluster, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
})

var _ = AfterSuite(func() {
	Expect(environment.Stop()).To(Succeed())
})

// cards is a fake source of the cards of remote agents. A test sets the result for all
// agents.
type cards struct {
	known *state.Remote
	// deleted has the deleted Agents that the reconciler reported.
	deleted []types.NamespacedName
}

func (c *cards) LastRead(*a2av1alpha1.Agent) *state.Remote { return c.known }

func (c *cards) LastResult(types.NamespacedName) *state.Remote { return c.known }

func (c *cards) AgentDeleted(key types.NamespacedName) { c.deleted = append(c.deleted, key) }

// keys is a fake source of a token issuer, which a test sets.
type keys struct{ issuer *state.Issuer }

func (k *keys) Current() *state.Issuer { return k.issuer }

// exposureRules is a fake source of the rules of exposure, which a test sets.
type exposureRules struct{ rules *exposure.Rules }

func (e *exposureRules) Current() *exposure.Rules { return e.rules }

// expectAllowed sets the hostnames that all namespaces may have.
func (e *exposureRules) expectAllowed(hostnames string) {
	GinkgoHelper()
	var err error
	e.rules, err = exposure.Parse([]byte("allowed: [{namespaceSelector: {}, hostnames: " + hostnames + "}]"))
	Expect(err).NotTo(HaveOccurred())
}

// optionalKinds contains the optional kinds that the cluster has. A test adds and removes
// kinds.
type optionalKinds map[schema.GroupResource]client.Reader

func (o optionalKinds) Reader(kind schema.GroupResource) client.Reader { return o[kind] }

func (o optionalKinds) Unreadable(schema.GroupResource) string { return "" }

var testPlatform = desired.Platform{
	SidecarImage:  "example/sidecar:1",
	ClusterDomain: "cluster.local",
	RegistryURL:   "http://registry.a2a.svc.cluster.local",
	RemoteAllow:   []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16")},
}

// fixture is a namespace with a reconciler that a test calls directly.
type fixture struct {
	namespace  string
	reconciler *AgentReconciler
	clock      *testingclock.FakePassiveClock
	keys       *keys
	cards      *cards
	// exposure has the rules of exposure, which allow all hostnames at first.
	exposure *exposureRules
	events   *recorder
	// optional has the optional kinds that the cluster has.
	optional optionalKinds
	// requests lists the writes and the live reads of the reconciler in their order.
	requests []string
	// fail has, by kind, the errors with which the writes of the reconciler fail.
	fail map[string]error
	// forbidden makes the live reads of Secrets fail.
	forbidden bool
	// notCached is an object that the reconciler's cache does not show; nil for none.
	notCached client.Object
}

// newFixture returns a fixture in a new namespace.
func newFixture(ctx context.Context) *fixture {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	Expect(cluster.Create(ctx, namespace)).To(Succeed())
	f := &fixture{
		namespace: namespace.Name,
		clock:     testingclock.NewFakePassiveClock(time.Now()),
		keys:      &keys{issuer: &state.Issuer{URL: "https://issuer.example", Keys: []byte(`{"keys":[{"kid":"1"}]}`)}},
		events:    &recorder{},
		cards:     &cards{},
		exposure:  &exposureRules{},
		fail:      map[string]error{},
		optional:  optionalKinds{},
	}
	for _, kind := range []schema.GroupResource{gather.Gateways, gather.HTTPRoutes, gather.GRPCRoutes} {
		f.optional[kind] = cluster
	}
	f.exposure.expectAllowed(`["*"]`)
	live := interceptor.NewClient(cluster, f.recordLiveReads())
	f.reconciler = NewAgentReconciler(AgentConfig{
		Client: interceptor.NewClient(cluster, f.recordWrites()),
		Gather: gather.Gatherer{
			Live:     live,
			Secrets:  gather.NewSecretVersions(live, f.clock),
			Issuer:   f.keys,
			Remote:   f.cards,
			Exposure: f.exposure,
			Optional: f.optional,
		},
		Events:   f.events,
		Platform: testPlatform,
		Clock:    f.clock,
	})
	return f
}

// recordLiveReads records the live reads.
func (f *fixture) recordLiveReads() interceptor.Funcs {
	return interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			f.requests = append(f.requests, "list")
			return c.List(ctx, list, o...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
			if f.forbidden {
				return apierrors.NewForbidden(corev1.Resource("secrets"), key.Name, nil)
			}
			return c.Get(ctx, key, obj, o...)
		},
	}
}

// recordWrites records the writes.
func (f *fixture) recordWrites() interceptor.Funcs {
	// The test client reads from the API server, which has no indexes, so list filters
	// the objects.
	list := func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
		var options client.ListOptions
		options.ApplyOptions(o)
		if options.FieldSelector == nil {
			return c.List(ctx, list, o...)
		}
		agent, _ := options.FieldSelector.RequiresExactMatch(names.PodsByAgent)
		return c.List(ctx, list, client.InNamespace(options.Namespace), client.MatchingLabels{a2av1alpha1.LabelAgent: agent})
	}
	record := func(verb, kind string) error {
		f.requests = append(f.requests, verb+" "+kind)
		return f.fail[kind]
	}
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
			if f.notCached != nil && reflect.TypeOf(obj) == reflect.TypeOf(f.notCached) && key == client.ObjectKeyFromObject(f.notCached) {
				return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", obj)}, key.Name)
			}
			if err := c.Get(ctx, key, obj, o...); err != nil {
				return err
			}
			return stripAsCache(obj)
		},
		List: list,
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
			_ = record("create", fmt.Sprintf("%T", obj))
			return c.Create(ctx, obj, o...)
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.UpdateOption) error {
			_ = record("update", fmt.Sprintf("%T", obj))
			return c.Update(ctx, obj, o...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
			if err := record("delete", fmt.Sprintf("%T", obj)); err != nil {
				return err
			}
			return c.Delete(ctx, obj, o...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, o ...client.PatchOption) error {
			if err := record("patch", "Pod"); err != nil {
				return err
			}
			return c.Patch(ctx, obj, p, o...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, o ...client.ApplyOption) error {
			if err := record("apply", kindOf(obj)); err != nil {
				return err
			}
			return c.Apply(ctx, obj, o...)
		},
		SubResourceApply: func(ctx context.Context, c client.Client, subresource string, obj runtime.ApplyConfiguration, o ...client.SubResourceApplyOption) error {
			if err := record("apply", kindOf(obj)+"/"+subresource); err != nil {
				return err
			}
			return c.SubResource(subresource).Apply(ctx, obj, o...)
		},
	}
}

// stripAsCache removes the parts of a ConfigMap that the manager's cache does not keep.
func stripAsCache(obj client.Object) error {
	configMap, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return nil
	}
	kept, err := informercache.StripForeign(configMap.DeepCopy())
	if err != nil {
		return fmt.Errorf("strip ConfigMap: %w", err)
	}
	*configMap = *kept.(*corev1.ConfigMap)
	return nil
}

func kindOf(obj runtime.ApplyConfiguration) string {
	GinkgoHelper()
	named, ok := obj.(interface{ GetKind() *string })
	Expect(ok).To(BeTrue())
	return *named.GetKind()
}
