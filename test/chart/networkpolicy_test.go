// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/a2a-operator/a2a-operator/internal/operator/exposure"
)

// TestNetworkPolicyAdmitsNamedPeers checks the ingress rules of the manager. No rule admits ingress to the health port.
func TestNetworkPolicyAdmitsNamedPeers(t *testing.T) {
	rule := func(port string, from ...networkingv1.NetworkPolicyPeer) networkingv1.NetworkPolicyIngressRule {
		tcp := corev1.ProtocolTCP
		return networkingv1.NetworkPolicyIngressRule{
			Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromString(port)), Protocol: &tcp}}, From: from,
		}
	}
	labelled := func(labels map[string]string) networkingv1.NetworkPolicyPeer {
		return networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: labels}}
	}
	const everything = "registry: {publisher: a.example, outside: {enabled: true, hostnames: [a.example], parentRefs: [{name: a}]}, oidc: {issuer: 'https://a', audience: a}}\n" +
		"ui: {enabled: true, url: 'https://b.example'}\n"
	for name, test := range map[string]struct {
		values string
		want   []networkingv1.NetworkPolicyIngressRule
	}{
		"defaults":   {want: []networkingv1.NetworkPolicyIngressRule{rule("registry", labelled(nil)), rule("metrics", labelled(map[string]string{"metrics": "enabled"}))}},
		"no metrics": {values: "metrics: {enabled: false}", want: []networkingv1.NetworkPolicyIngressRule{rule("registry", labelled(nil))}},
		"every listener": {
			values: everything,
			want: []networkingv1.NetworkPolicyIngressRule{
				rule("registry", labelled(nil)), rule("metrics", labelled(map[string]string{"metrics": "enabled"})), rule("outside"), rule("ui"),
			},
		},
		"other peers": {
			values: everything + "networkPolicy: {registryFrom: [{namespaceSelector: {matchLabels: {a: b}}}], metricsFrom: [], outsideFrom: [{ipBlock: {cidr: 10.0.0.0/8}}]," +
				" uiFrom: [{namespaceSelector: {matchLabels: {c: d}}}], extraIngress: [{ports: [{port: health, protocol: TCP}], from: [{ipBlock: {cidr: 10.1.0.0/16}}]}]}",
			want: []networkingv1.NetworkPolicyIngressRule{
				rule("registry", labelled(map[string]string{"a": "b"})), rule("metrics"),
				rule("outside", networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8"}}),
				rule("ui", labelled(map[string]string{"c": "d"})),
				rule("health", networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "10.1.0.0/16"}}),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			policy := typed[*networkingv1.NetworkPolicy](t, render(t, test.values)["NetworkPolicy a2a-operator-manager"])
			if diff := cmp.Diff(test.want, policy.Spec.Ingress); diff != "" {
				t.Errorf("ingress (-want +got):\n%s", diff)
			}
		})
	}
	if policy, found := render(t, "networkPolicy: {enabled: false}")["NetworkPolicy a2a-operator-manager"]; found {
		t.Errorf("networkPolicy.enabled is false, and the chart has %v", policy)
	}
}

// TestExposureFileIsValid checks that the manager reads the rules that the chart renders.
func TestExposureFileIsValid(t *testing.T) {
	for values, want := range map[string]int{
		"": 0,
		"exposure: {allowed: [{namespaces: [team-a], hostnames: ['*.team-a.example.com'], paths: [/a], gateways: [{namespace: gateways, name: public}]}," +
			"{namespaceSelector: {matchLabels: {tier: gold}}, hostnames: ['*', '*.{namespace}.example.com', '{namespace}.example.com']}]}": 2,
	} {
		config := typed[*corev1.ConfigMap](t, render(t, values)["ConfigMap a2a-operator-exposure"])
		rules, err := exposure.Parse([]byte(config.Data["exposure.yaml"]))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(rules.For("team-a", map[string]string{"tier": "gold"})); got != want {
			t.Errorf("%s: %d rules, want %d", values, got, want)
		}
	}
}
