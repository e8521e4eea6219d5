// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// checkService finds a Service that is missing, selects other pods, targets another port, or has no ready endpoint
// although pods are ready.
func checkService(_ *SharedFacts, f *AgentFacts) []Finding {
	const check = "Service"
	if isUnread(f.Unread, partServices) {
		return nil
	}
	name := names.Service(f.Agent.Name)
	problem := func(seen, cause, cure, command string) []Finding {
		return []Finding{{Level: LevelProblem, Check: check, Seen: []string{seen}, Cause: cause, Cure: cure, Command: command}}
	}
	object := "-n " + f.Agent.Namespace + " " + name
	s := f.Service
	if s == nil {
		return problem("there is no Service "+name, "The DNS name of the agent does not resolve, because the operator has not created the Service, or another program deleted it.",
			"Correct the cause that the condition Programmed names. If every condition is as expected, check that the manager runs: it creates the Service again.",
			"kubectl describe agent -n "+f.Agent.Namespace+" "+f.Agent.Name)
	}
	if !maps.Equal(s.Spec.Selector, names.Selector(f.Agent.Name)) {
		return problem(fmt.Sprintf("the Service selects the pods with %s", labelText(s.Spec.Selector)),
			"Another program changed the selector of the Service, so calls reach other pods or none.",
			"Remove the change at its source. The operator restores the selector while its manager runs.", "kubectl get service "+object+" -o yaml --show-managed-fields")
	}
	if !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.TargetPort.IntValue() == sidecarconfig.AgentPort }) {
		return problem(fmt.Sprintf("no port of the Service leads to port %d of the pods", sidecarconfig.AgentPort),
			"Another program changed the ports of the Service, so calls do not reach the sidecar.",
			"Remove the change at its source. The operator restores the ports while its manager runs.", "kubectl get service "+object+" -o yaml --show-managed-fields")
	}
	if isUnread(f.Unread, partEndpoints) || isUnread(f.Unread, partPods) {
		return nil
	}
	ready := readyEndpoints(f.Endpoints)
	if ready == 0 && slices.ContainsFunc(f.Pods, func(p corev1.Pod) bool { return p.DeletionTimestamp == nil && isReady(&p) }) {
		return problem("a pod is ready, and the Service has no ready endpoint",
			"The EndpointSlice controller has not added the pod, or its address family is not that of the Service.",
			"Wait a few seconds. If it persists, compare the addresses of the pods with ipFamilies of the Service, and check the kube-controller-manager.",
			"kubectl get endpointslices -n "+f.Agent.Namespace+" -l "+discoveryv1.LabelServiceName+"="+name)
	}
	return okay(check, name+"."+f.Agent.Namespace+".svc has "+quantity(ready, "ready endpoint"))
}

func readyEndpoints(all []discoveryv1.EndpointSlice) int {
	addresses := map[string]bool{}
	for i := range all {
		for _, e := range all[i].Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				for _, address := range e.Addresses {
					addresses[address] = true
				}
			}
		}
	}
	return len(addresses)
}

// labelText returns labels as a selector.
func labelText(labels map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, key+"="+labels[key])
	}
	if len(all) == 0 {
		return "no labels"
	}
	return strings.Join(all, ",")
}

// selectorOf returns the flags of kubectl that select the pods of an agent.
func selectorOf(agent *a2av1alpha1.Agent) string {
	return "-n " + agent.Namespace + " -l " + a2av1alpha1.LabelAgent + "=" + agent.Name
}

// registryPort is the port of the registry in the pods of the manager.
const registryPort = 8444

// target is a port of a pod.
type target struct {
	protocol corev1.Protocol
	number   int32
	name     string
}

var (
	agentTarget    = target{corev1.ProtocolTCP, sidecarconfig.AgentPort, a2av1alpha1.PortAgent}
	registryTarget = target{corev1.ProtocolTCP, registryPort, "registry"}
)

// checkNetworkPolicies finds NetworkPolicies that block calls to the agent (with --from, calls from the pod in --from),
// and NetworkPolicies that block the agent from DNS and from the registry. Test connections through the API server would
// not find them, because port forwarding bypasses NetworkPolicies.
func checkNetworkPolicies(_ *SharedFacts, f *AgentFacts) []Finding {
	const check = "NetworkPolicies"
	if isUnread(f.Unread, partPolicies) {
		return nil
	}
	agent := Peer{Namespace: f.Agent.Namespace, Name: f.Agent.Name, Labels: names.Selector(f.Agent.Name)}
	if len(f.Pods) > 0 {
		agent.Labels = f.Pods[0].Labels
		agent.IP = f.Pods[0].Status.PodIP
	}
	ingress := isolating(f.Policies, agent, networkingv1.PolicyTypeIngress)
	egress := isolating(f.Policies, agent, networkingv1.PolicyTypeEgress)
	show := "kubectl describe networkpolicies -n " + f.Agent.Namespace
	findings := ingressFindings(f, agent, ingress, show)
	if f.Caller != nil {
		findings = append(findings, callerFindings(f, agent)...)
	}
	egressCure := "Add the rule to spec.networkPolicy.egress of the Agent, or to "
	if len(egress) > 0 && !admitsDNS(egress) {
		findings = append(findings, Finding{
			Level: LevelProblem, Check: check, Seen: []string{policyNames(egress) + ": no rule admits egress to UDP port 53"},
			Cause: "The pods of the agent cannot resolve names, so the agent finds neither the registry nor other agents nor servers outside.",
			Cure:  egressCure + "another policy that selects the pods: egress to UDP and TCP port 53 (5353 on OpenShift).", Command: show,
		})
	}
	if f.RegistryPeer.Namespace != "" && len(egress) > 0 && !admits(egress, f.Agent.Namespace, f.RegistryPeer, registryTarget, networkingv1.PolicyTypeEgress) {
		findings = append(findings, Finding{
			Level: LevelProblem, Check: check, Seen: []string{fmt.Sprintf("%s: no rule admits egress to port %d of the registry in namespace %s", policyNames(egress), registryPort, f.RegistryPeer.Namespace)},
			Cause: "The sidecar cannot reach the registry: the agent finds no other agents, and the sidecar does not report failed dependencies.",
			Cure:  fmt.Sprintf("%sanother policy that selects the pods: egress to TCP port %d of namespace %s.", egressCure, registryPort, f.RegistryPeer.Namespace), Command: show,
		})
	}
	return orOkay(findings, check, "no policy blocks the agent")
}

// ingressFindings finds policies that admit no caller, or only some callers, to the port of the agent.
func ingressFindings(f *AgentFacts, agent Peer, ingress []networkingv1.NetworkPolicy, show string) []Finding {
	const check = "NetworkPolicies"
	rules := rulesFor(ingress, agentTarget, networkingv1.PolicyTypeIngress)
	switch {
	case len(ingress) == 0 || slices.ContainsFunc(rules, func(r rule) bool { return len(r.peers) == 0 }): // a rule admits everyone
		return nil
	case f.Caller != nil:
		if admits(ingress, agent.Namespace, *f.Caller, agentTarget, networkingv1.PolicyTypeIngress) {
			return nil
		}
		return []Finding{{
			Level: LevelProblem, Check: check,
			Seen:    []string{fmt.Sprintf("%s: no rule admits ingress from pod %s/%s to port %d", policyNames(ingress), f.Caller.Namespace, f.Caller.Name, sidecarconfig.AgentPort)},
			Cause:   "Calls of that pod to the agent time out.",
			Cure:    fmt.Sprintf("Add an ingress rule for TCP port %d with the labels of the pod or of its namespace, or set spec.networkPolicy.management of the Agent to Managed.", sidecarconfig.AgentPort),
			Command: show,
		}}
	case len(rules) == 0:
		return []Finding{{
			Level: LevelProblem, Check: check, Seen: []string{fmt.Sprintf("%s: no rule admits ingress to port %d", policyNames(ingress), sidecarconfig.AgentPort)},
			Cause: "No pod can call the agent: calls time out.",
			Cure: fmt.Sprintf("Add an ingress rule for TCP port %d to a policy that selects the pods, or set spec.networkPolicy.management of the Agent to Managed.",
				sidecarconfig.AgentPort),
			Command: show,
		}}
	default:
		return []Finding{{
			Level: LevelWarning, Check: check, Seen: []string{fmt.Sprintf("%s: the rules admit some callers only to port %d", policyNames(ingress), sidecarconfig.AgentPort)},
			Cause:   "Calls of other pods time out.",
			Cure:    "If a pod cannot call the agent, check that pod with --from.",
			Command: fmt.Sprintf("kubectl a2a doctor %s/%s --from NAMESPACE/POD", agent.Namespace, agent.Name),
		}}
	}
}

// callerFindings finds policies of the caller's namespace that block calls of the caller.
func callerFindings(f *AgentFacts, agent Peer) []Finding {
	caller := *f.Caller
	egress := isolating(f.CallerPolicies, caller, networkingv1.PolicyTypeEgress)
	agent.NamespaceLabels = f.NamespaceLabels
	if len(egress) == 0 || admits(egress, caller.Namespace, agent, agentTarget, networkingv1.PolicyTypeEgress) {
		return nil
	}
	return []Finding{{
		Level: LevelProblem, Check: "NetworkPolicies",
		Seen:    []string{fmt.Sprintf("%s in namespace %s: no rule admits egress from pod %s to port %d of the agent", policyNames(egress), caller.Namespace, caller.Name, sidecarconfig.AgentPort)},
		Cause:   "Calls of that pod to the agent time out. A policy applies to the port of the pod, not to that of the Service.",
		Cure:    fmt.Sprintf("Add an egress rule for TCP port %d of the pods with %s=%s in namespace %s.", sidecarconfig.AgentPort, a2av1alpha1.LabelAgent, agent.Name, agent.Namespace),
		Command: "kubectl describe networkpolicies -n " + caller.Namespace,
	}}
}

// isolating returns the policies that select a pod and apply to a direction, ingress or egress. If there is such a
// policy, the pod is isolated: Kubernetes admits only the connections in this direction that a policy allows.
func isolating(policies []networkingv1.NetworkPolicy, pod Peer, direction networkingv1.PolicyType) []networkingv1.NetworkPolicy {
	var out []networkingv1.NetworkPolicy
	for i := range policies {
		spec := &policies[i].Spec
		types := spec.PolicyTypes
		if len(types) == 0 { // never in a policy from the API server, which sets policyTypes
			types = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		}
		if slices.Contains(types, direction) && selects(&spec.PodSelector, pod.Labels) {
			out = append(out, policies[i])
		}
	}
	return out
}

func selects(selector *metav1.LabelSelector, set map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(set))
}

func policyNames(policies []networkingv1.NetworkPolicy) string {
	var all []string
	for i := range policies {
		all = append(all, policies[i].Name)
	}
	slices.Sort(all)
	if len(all) == 1 {
		return "NetworkPolicy " + all[0]
	}
	return "NetworkPolicies " + strings.Join(all, ", ")
}

// admitsDNS reports whether an egress rule admits DNS: port 53, or 5353 as in the DNS pods of OpenShift.
func admitsDNS(egress []networkingv1.NetworkPolicy) bool {
	return slices.ContainsFunc([]int32{53, 5353}, func(port int32) bool {
		return len(rulesFor(egress, target{corev1.ProtocolUDP, port, ""}, networkingv1.PolicyTypeEgress)) > 0
	})
}

// rule is an ingress or egress rule.
type rule struct {
	ports []networkingv1.NetworkPolicyPort
	peers []networkingv1.NetworkPolicyPeer
}

// rulesFor returns the rules of all policies for a direction that apply to a port. A connection to the port is admitted
// if one of these rules admits its peer.
func rulesFor(policies []networkingv1.NetworkPolicy, to target, direction networkingv1.PolicyType) []rule {
	var all []rule
	for i := range policies {
		if direction == networkingv1.PolicyTypeIngress {
			for _, r := range policies[i].Spec.Ingress {
				all = append(all, rule{r.Ports, r.From})
			}
			continue
		}
		for _, r := range policies[i].Spec.Egress {
			all = append(all, rule{r.Ports, r.To})
		}
	}
	return slices.DeleteFunc(all, func(r rule) bool { return !hasPort(r.ports, to) })
}

// admits reports whether a rule of the policies admits a peer to a port. namespace is the namespace of the policies.
func admits(policies []networkingv1.NetworkPolicy, namespace string, peer Peer, to target, direction networkingv1.PolicyType) bool {
	return slices.ContainsFunc(rulesFor(policies, to, direction), func(r rule) bool {
		return len(r.peers) == 0 || slices.ContainsFunc(r.peers, func(p networkingv1.NetworkPolicyPeer) bool { return matches(&p, namespace, peer) })
	})
}

func hasPort(ports []networkingv1.NetworkPolicyPort, to target) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		protocol := corev1.ProtocolTCP
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		switch {
		case protocol != to.protocol:
			return false
		case p.Port == nil:
			return true
		case p.Port.Type == intstr.String:
			return p.Port.StrVal == to.name
		case p.EndPort != nil:
			return p.Port.IntVal <= to.number && to.number <= *p.EndPort
		default:
			return p.Port.IntVal == to.number
		}
	})
}

func matches(p *networkingv1.NetworkPolicyPeer, namespace string, peer Peer) bool {
	if p.IPBlock != nil {
		address, err := netip.ParseAddr(peer.IP)
		return err == nil && inRange(p.IPBlock.CIDR, address) && !slices.ContainsFunc(p.IPBlock.Except, func(c string) bool { return inRange(c, address) })
	}
	if p.NamespaceSelector == nil {
		return peer.Namespace == namespace && selects(p.PodSelector, peer.Labels)
	}
	return selects(p.NamespaceSelector, peer.NamespaceLabels) && (p.PodSelector == nil || selects(p.PodSelector, peer.Labels))
}

func inRange(cidr string, address netip.Addr) bool {
	prefix, err := netip.ParsePrefix(cidr)
	return err == nil && prefix.Contains(address)
}
