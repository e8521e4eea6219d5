// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
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
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
)

// readTimeout bounds each read and each call.
const readTimeout = 10 * time.Second

var errSlowRead = failure.New(failure.Timeout, "no answer within %s", readTimeout)

// reader reads objects from the API server.
type reader struct {
	client kubernetes.Interface
	// openAPI reads the OpenAPI document of the operator's API group.
	openAPI func(context.Context) ([]byte, error)
}

// read runs a request for at most readTimeout. Its error is a failure for the user.
func read[T any](ctx context.Context, access clusteraccess.Access, request func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readTimeout, errSlowRead)
	defer cancel()
	out, err := request(ctx)
	if err != nil {
		var none T
		return none, clusteraccess.Explain(ctx, err, access)
	}
	return out, nil
}

// reads is a group of concurrent requests. It collects the parts of the facts that could not be read.
type reads struct {
	running sync.WaitGroup

	mu     sync.Mutex
	unread []Unread
}

// startList calls list on a goroutine of all, and stores the result in into. If the call fails, into is unchanged, and
// all.unread gets an entry for part.
func startList[T any](ctx context.Context, all *reads, part string, access clusteraccess.Access, options metav1.ListOptions,
	list func(context.Context, metav1.ListOptions) (*T, error), into *T,
) {
	all.running.Go(func() {
		out, err := read(ctx, access, func(ctx context.Context) (*T, error) { return list(ctx, options) })
		if err != nil {
			all.fail(part, err)
			return
		}
		*into = *out
	})
}

func (r *reads) fail(part string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unread = append(r.unread, Unread{part, failure.Of(err)})
}

// wait waits for the reads, and returns the parts that could not be read, sorted by name.
func (r *reads) wait() []Unread {
	r.running.Wait()
	slices.SortFunc(r.unread, func(a, b Unread) int { return strings.Compare(a.Part, b.Part) })
	return r.unread
}

// objects are lists of the objects of Agents. A list that could not be read is empty.
type objects struct {
	deployments appsv1.DeploymentList
	pods        corev1.PodList
	services    corev1.ServiceList
	configMaps  corev1.ConfigMapList
	endpoints   discoveryv1.EndpointSliceList
	policies    networkingv1.NetworkPolicyList
	failedHooks []corev1.Event
}

// agents reads the objects of Agents, with one request for each kind.
func (r *reader) agents(ctx context.Context, namespace string, agents []*a2av1alpha1.Agent) []*AgentFacts {
	o := &objects{}
	all := &reads{}
	byLabel := metav1.ListOptions{LabelSelector: a2av1alpha1.LabelAgent}
	byService := metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName}
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
	access := func(group, resource string) clusteraccess.Access {
		return clusteraccess.Access{Verb: "list", Group: group, Resource: resource, Namespace: namespace}
	}
	core := r.client.CoreV1()
	startList(ctx, all, partDeployments, access(appsv1.GroupName, "deployments"), named(names.Deployment), r.client.AppsV1().Deployments(namespace).List, &o.deployments)
	startList(ctx, all, partPods, access("", "pods"), byLabel, core.Pods(namespace).List, &o.pods)
	startList(ctx, all, partServices, access("", "services"), named(names.Service), core.Services(namespace).List, &o.services)
	startList(ctx, all, partConfigMaps, access("", "configmaps"), named(names.ConfigMap), core.ConfigMaps(namespace).List, &o.configMaps)
	startList(ctx, all, partEndpoints, access(discoveryv1.GroupName, "endpointslices"), byService, r.client.DiscoveryV1().EndpointSlices(namespace).List, &o.endpoints)
	startList(ctx, all, partPolicies, access(networkingv1.GroupName, "networkpolicies"), metav1.ListOptions{}, r.client.NetworkingV1().NetworkPolicies(namespace).List, &o.policies)
	all.running.Go(func() { o.failedHooks = r.failedHooks(ctx, namespace) })
	return o.facts(agents, all.wait())
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
		return &AgentFacts{} // receives the objects of Agents that are not checked, and is dropped
	}
	// The Deployment and the Service have the name of the Agent.
	for _, each := range o.deployments.Items {
		of(each.Namespace, each.Name).Deployment = &each
	}
	for _, each := range o.services.Items {
		of(each.Namespace, each.Name).Service = &each
	}
	for _, each := range o.configMaps.Items {
		of(each.Namespace, names.AgentOfConfigMap(each.Name)).ConfigMap = &each
	}
	for _, each := range o.pods.Items {
		f := of(each.Namespace, each.Labels[a2av1alpha1.LabelAgent])
		f.Pods = append(f.Pods, each)
	}
	for _, each := range o.endpoints.Items {
		f := of(each.Namespace, each.Labels[discoveryv1.LabelServiceName])
		f.Endpoints = append(f.Endpoints, each)
	}
	policies := map[string][]networkingv1.NetworkPolicy{}
	for _, each := range o.policies.Items {
		policies[each.Namespace] = append(policies[each.Namespace], each)
	}
	for _, f := range facts {
		for i := range o.failedHooks {
			if isOfAgent(&o.failedHooks[i], f.Agent) {
				f.FailedHooks = append(f.FailedHooks, o.failedHooks[i])
			}
		}
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

// registryService returns the namespace and the name of the Service in the host of a registry's URL, such as
// a2a-operator-registry.a2a-system.svc.cluster.local. It returns "" for a host that is no Service.
func registryService(host string) (namespace, name string) {
	parts := strings.Split(host, ".")
	if len(parts) < 3 || parts[2] != "svc" {
		return "", ""
	}
	return parts[1], parts[0]
}

// shared reads the Deployment of the manager and the endpoints of the cluster DNS.
func (r *reader) shared(ctx context.Context, shared *SharedFacts, facts []*AgentFacts) {
	const dnsNamespace, dnsService = "kube-system", "kube-dns"
	namespace := "" // the namespace of the registry, which runs in the pods of the manager
	for _, f := range facts {
		namespace = cmp.Or(namespace, f.RegistryPeer.Namespace)
	}
	var all reads
	var managers appsv1.DeploymentList
	access := clusteraccess.Access{Verb: "list", Group: appsv1.GroupName, Resource: "deployments", Namespace: namespace}
	startList(ctx, &all, partManager, access, metav1.ListOptions{LabelSelector: managerSelector}, r.client.AppsV1().Deployments(namespace).List, &managers)
	var endpoints discoveryv1.EndpointSliceList
	access = clusteraccess.Access{Verb: "list", Group: discoveryv1.GroupName, Resource: "endpointslices", Namespace: dnsNamespace}
	byService := metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + dnsService}
	startList(ctx, &all, partDNS, access, byService, r.client.DiscoveryV1().EndpointSlices(dnsNamespace).List, &endpoints)
	for _, f := range facts {
		if domain := domainOf(f.Agent); domain != "" && !slices.Contains(shared.AgentDomains, domain) {
			shared.AgentDomains = append(shared.AgentDomains, domain)
		}
	}
	slices.Sort(shared.AgentDomains)
	all.running.Go(func() { shared.DNSDomains = r.dnsDomains(ctx) })
	all.running.Go(func() {
		document, err := read(ctx, clusteraccess.Access{}, r.openAPI)
		if err == nil {
			shared.CRDs, err = crdFields(document)
		}
		if err != nil {
			all.fail(partCRDs, err)
		}
	})
	shared.Unread = all.wait()
	if len(managers.Items) > 0 {
		shared.Manager = &managers.Items[0]
	}
	shared.DNSServices = len(endpoints.Items)
	shared.DNSReady = readyEndpoints(endpoints.Items)
}

// crdFields returns the fields of the operator's CustomResourceDefinitions in an OpenAPI document.
func crdFields(document []byte) (map[string]crdschema.Fields, error) {
	var decoded map[string]any
	if err := json.Unmarshal(document, &decoded); err != nil {
		return nil, fmt.Errorf("decode OpenAPI document: %w", err)
	}
	all := map[string]crdschema.Fields{}
	for _, name := range []string{crdschema.Agents, crdschema.AgentSkills} {
		fields, err := crdschema.FieldsOfOpenAPI(decoded, name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		all[name] = fields
	}
	return all, nil
}

// callers reads the pod of --from, [NAMESPACE/]POD, and the NetworkPolicies of its namespace. Without NAMESPACE, it looks
// for the pod in the namespace of each agent.
func (r *reader) callers(ctx context.Context, from string, facts []*AgentFacts) {
	for _, f := range facts {
		namespace, name, ok := strings.Cut(from, "/")
		if !ok {
			namespace = f.Agent.Namespace
			name = from
		}
		f.NamespaceLabels = r.namespaceLabels(ctx, f.Agent.Namespace)
		var all reads
		var policies networkingv1.NetworkPolicyList
		access := clusteraccess.Access{Verb: "list", Group: networkingv1.GroupName, Resource: "networkpolicies", Namespace: namespace}
		startList(ctx, &all, partPolicies+" of the namespace of --from", access, metav1.ListOptions{}, r.client.NetworkingV1().NetworkPolicies(namespace).List, &policies)
		access = clusteraccess.Access{Verb: "get", Resource: "pods", Namespace: namespace, Name: name}
		pod, err := read(ctx, access, func(ctx context.Context) (*corev1.Pod, error) {
			return r.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		})
		if err != nil {
			all.fail(partCaller, err)
		} else {
			f.Caller = &Peer{Namespace: namespace, Name: name, Labels: pod.Labels, IP: pod.Status.PodIP, NamespaceLabels: r.namespaceLabels(ctx, namespace)}
		}
		f.Unread = append(slices.Clip(f.Unread), all.wait()...)
		f.CallerPolicies = policies.Items
	}
}

// namespaceLabels returns the labels of a namespace. If it cannot read the namespace, it returns only the label that the
// API server sets on every namespace.
func (r *reader) namespaceLabels(ctx context.Context, namespace string) map[string]string {
	access := clusteraccess.Access{Verb: "get", Resource: "namespaces", Namespace: namespace, Name: namespace}
	object, err := read(ctx, access, func(ctx context.Context) (*corev1.Namespace, error) {
		return r.client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	})
	if err != nil {
		return map[string]string{corev1.LabelMetadataName: namespace}
	}
	return object.Labels
}
