// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/clusteraccess"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/names"
)

// objects are lists of the objects of Agents.
type objects struct {
	deployments *appsv1.DeploymentList
	pods        *corev1.PodList
	services    *corev1.ServiceList
	configMaps  *corev1.ConfigMapList
	endpoints   *discoveryv1.EndpointSliceList
	policies    *networkingv1.NetworkPolicyList
}

// agents reads the objects of Agents, with one request for each kind.
func (r *reader) agents(ctx context.Context, namespace string, agents []*a2av1alpha1.Agent) []*AgentFacts {
	o := &objects{}
	failed := &unread{}
	byLabel, byService := metav1.ListOptions{LabelSelector: a2av1alpha1.LabelAgent}, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName}
	named := func(func(string) string) metav1.ListOptions { return byLabel }
	if len(agents) == 1 {
		name := agents[0].Name
		byLabel.LabelSelector += "=" + name
		byService.LabelSelector += "=" + names.Service(name)
		// Select by name, to find an object that has lost its labels, too.
		named = func(of func(string) string) metav1.ListOptions {
			return metav1.ListOptions{FieldSelector: "metadata.name=" + of(name)}
		}
	}
	var all sync.WaitGroup
	start := func(part string, run func() error) {
		all.Go(func() {
			if err := run(); err != nil {
				failed.add(part, err)
			}
		})
	}
	access := func(group, resource string) clusteraccess.Access {
		return clusteraccess.Access{Verb: "list", Group: group, Resource: resource, Namespace: namespace}
	}
	start(partDeployments, func() (err error) {
		o.deployments, err = read(ctx, access(appsv1.GroupName, "deployments"), named(names.Deployment), r.client.AppsV1().Deployments(namespace).List)
		return err
	})
	start(partPods, func() (err error) {
		o.pods, err = read(ctx, access("", "pods"), byLabel, r.client.CoreV1().Pods(namespace).List)
		return err
	})
	start(partServices, func() (err error) {
		o.services, err = read(ctx, access("", "services"), named(names.Service), r.client.CoreV1().Services(namespace).List)
		return err
	})
	start(partConfigMaps, func() (err error) {
		o.configMaps, err = read(ctx, access("", "configmaps"), named(names.ConfigMap), r.client.CoreV1().ConfigMaps(namespace).List)
		return err
	})
	start(partEndpoints, func() (err error) {
		o.endpoints, err = read(ctx, access(discoveryv1.GroupName, "endpointslices"), byService, r.client.DiscoveryV1().EndpointSlices(namespace).List)
		return err
	})
	start(partPolicies, func() (err error) {
		o.policies, err = read(ctx, access(networkingv1.GroupName, "networkpolicies"), metav1.ListOptions{}, r.client.NetworkingV1().NetworkPolicies(namespace).List)
		return err
	})
	all.Wait()
	return o.facts(agents, failed.sorted())
}

// facts returns the facts about each Agent.
func (o *objects) facts(agents []*a2av1alpha1.Agent, failed []Unread) []*AgentFacts {
	byAgent := map[string]*AgentFacts{}
	facts := make([]*AgentFacts, 0, len(agents))
	for _, agent := range agents {
		f := &AgentFacts{Agent: agent, Unread: failed, NamespaceLabels: map[string]string{corev1.LabelMetadataName: agent.Namespace}}
		facts = append(facts, f)
		byAgent[agent.Namespace+"/"+agent.Name] = f
	}
	of := func(namespace, agent string) *AgentFacts {
		if f, ok := byAgent[namespace+"/"+agent]; ok {
			return f
		}
		return &AgentFacts{} // the object of an Agent that is not checked
	}
	// The Deployment and the Service have the name of the Agent.
	for _, each := range itemsOf(o.deployments, func(l *appsv1.DeploymentList) []appsv1.Deployment { return l.Items }) {
		of(each.Namespace, each.Name).Deployment = &each
	}
	for _, each := range itemsOf(o.services, func(l *corev1.ServiceList) []corev1.Service { return l.Items }) {
		of(each.Namespace, each.Name).Service = &each
	}
	for _, each := range itemsOf(o.configMaps, func(l *corev1.ConfigMapList) []corev1.ConfigMap { return l.Items }) {
		of(each.Namespace, names.AgentOfConfigMap(each.Name)).ConfigMap = &each
	}
	for _, each := range itemsOf(o.pods, func(l *corev1.PodList) []corev1.Pod { return l.Items }) {
		f := of(each.Namespace, each.Labels[a2av1alpha1.LabelAgent])
		f.Pods = append(f.Pods, each)
	}
	for _, each := range itemsOf(o.endpoints, func(l *discoveryv1.EndpointSliceList) []discoveryv1.EndpointSlice { return l.Items }) {
		f := of(each.Namespace, each.Labels[discoveryv1.LabelServiceName])
		f.Endpoints = append(f.Endpoints, each)
	}
	policies := map[string][]networkingv1.NetworkPolicy{}
	for _, each := range itemsOf(o.policies, func(l *networkingv1.NetworkPolicyList) []networkingv1.NetworkPolicy { return l.Items }) {
		policies[each.Namespace] = append(policies[each.Namespace], each)
	}
	for _, f := range facts {
		f.Policies = policies[f.Agent.Namespace]
		if namespace, _, _ := registryOf(f); namespace != "" {
			f.RegistryPeer = Peer{
				Namespace: namespace, Name: "the registry", NamespaceLabels: map[string]string{corev1.LabelMetadataName: namespace},
				Labels: map[string]string{a2av1alpha1.LabelName: a2av1alpha1.ManagedBy, a2av1alpha1.LabelComponent: "manager"},
			}
		}
	}
	return facts
}

// itemsOf returns the items of a list, nil for a nil list.
func itemsOf[L, T any](list *L, items func(*L) []T) []T {
	if list == nil {
		return nil
	}
	return items(list)
}

// registryOf returns the Service and the URL of the registry in the sidecar configuration, "" and nil for none.
func registryOf(f *AgentFacts) (namespace, service string, address *url.URL) {
	expected, err := expectedCard(f)
	if err != nil || expected == nil {
		return "", "", nil
	}
	u, err := url.Parse(expected.Gateway.RegistryURL)
	if err != nil {
		return "", "", nil
	}
	namespace, service = registryService(u.Hostname())
	return namespace, service, u
}

// shared reads the Deployment of the manager and the endpoints of the cluster DNS.
func (r *reader) shared(ctx context.Context, shared *SharedFacts, facts []*AgentFacts) {
	const dnsNamespace, dnsService = "kube-system", "kube-dns"
	failed := &unread{}
	var all sync.WaitGroup
	all.Go(func() {
		namespace := "" // the namespace of the registry, which runs in the pods of the manager
		for _, f := range facts {
			namespace = cmp.Or(namespace, f.RegistryPeer.Namespace)
		}
		access := clusteraccess.Access{Verb: "list", Group: appsv1.GroupName, Resource: "deployments", Namespace: namespace}
		list, err := read(ctx, access, metav1.ListOptions{LabelSelector: managerSelector}, r.client.AppsV1().Deployments(namespace).List)
		if err != nil {
			failed.add(partManager, err)
			return
		}
		if len(list.Items) > 0 {
			shared.Manager = &list.Items[0]
		}
	})
	all.Go(func() {
		access := clusteraccess.Access{Verb: "list", Group: discoveryv1.GroupName, Resource: "endpointslices", Namespace: dnsNamespace}
		options := metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + dnsService}
		list, err := read(ctx, access, options, r.client.DiscoveryV1().EndpointSlices(dnsNamespace).List)
		if err != nil {
			failed.add(partDNS, err)
			return
		}
		shared.DNSServices, shared.DNSReady = len(list.Items), readyEndpoints(list.Items)
	})
	all.Wait()
	shared.Unread = failed.sorted()
}

// callers reads the pod of --from, [NAMESPACE/]POD, and the NetworkPolicies of its namespace. Without NAMESPACE, it looks
// for the pod in the namespace of each agent.
func (r *reader) callers(ctx context.Context, from string, facts []*AgentFacts) {
	for _, f := range facts {
		failed := &unread{}
		namespace, name, ok := strings.Cut(from, "/")
		if !ok {
			namespace, name = f.Agent.Namespace, from
		}
		f.NamespaceLabels = r.namespaceLabels(ctx, f.Agent.Namespace)
		access := clusteraccess.Access{Verb: "get", Resource: "pods", Namespace: namespace, Name: name}
		get := func(ctx context.Context, _ metav1.ListOptions) (*corev1.Pod, error) {
			return r.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		}
		pod, err := read(ctx, access, metav1.ListOptions{}, get)
		if err != nil {
			failed.add(partCaller, err)
		} else {
			f.Caller = &Peer{Namespace: namespace, Name: name, Labels: pod.Labels, IP: pod.Status.PodIP, NamespaceLabels: r.namespaceLabels(ctx, namespace)}
		}
		access = clusteraccess.Access{Verb: "list", Group: networkingv1.GroupName, Resource: "networkpolicies", Namespace: namespace}
		list, err := read(ctx, access, metav1.ListOptions{}, r.client.NetworkingV1().NetworkPolicies(namespace).List)
		if err != nil {
			failed.add(partPolicies+" of the namespace of --from", err)
		} else {
			f.CallerPolicies = list.Items
		}
		f.Unread = append(slices.Clip(f.Unread), failed.sorted()...)
	}
}

// namespaceLabels returns the labels of a namespace. If it cannot read the namespace, it returns only the label that the
// API server sets on every namespace.
func (r *reader) namespaceLabels(ctx context.Context, namespace string) map[string]string {
	get := func(ctx context.Context, _ metav1.ListOptions) (*corev1.Namespace, error) {
		return r.client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	}
	object, err := read(ctx, clusteraccess.Access{Verb: "get", Resource: "namespaces", Namespace: namespace, Name: namespace}, metav1.ListOptions{}, get)
	if err != nil {
		return map[string]string{corev1.LabelMetadataName: namespace}
	}
	return object.Labels
}

// readTimeout bounds each read and each call.
const readTimeout = 10 * time.Second

var errSlowRead = failure.New(failure.Timeout, "no answer within %s", readTimeout)

// reader reads objects from the API server.
type reader struct{ client kubernetes.Interface }

// unread collects the parts that could not be read. It is safe for concurrent use.
type unread struct {
	mu  sync.Mutex
	all []Unread
}

func (u *unread) add(part string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = append(u.all, Unread{part, failure.Of(err)})
}

// sorted returns the parts sorted by name.
func (u *unread) sorted() []Unread {
	slices.SortFunc(u.all, func(a, b Unread) int { return strings.Compare(a.Part, b.Part) })
	return u.all
}

// read runs a request for at most readTimeout. Its error is a failure for the user.
func read[T any](ctx context.Context, access clusteraccess.Access, options metav1.ListOptions, request func(context.Context, metav1.ListOptions) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readTimeout, errSlowRead)
	defer cancel()
	out, err := request(ctx, options)
	if err != nil {
		var none T
		return none, clusteraccess.Explain(ctx, err, access)
	}
	return out, nil
}
