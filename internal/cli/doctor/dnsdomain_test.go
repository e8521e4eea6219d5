// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"
	"testing"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

func TestDomainsOfACorefile(t *testing.T) {
	for corefile, want := range map[string][]string{
		".:53 {\n    kubernetes cluster.local in-addr.arpa ip6.arpa {\n      pods insecure\n    }\n}\n": {"cluster.local"},
		"kubernetes Corp.Example. other.example {":                                                      {"corp.example", "other.example"},
		"kubernetes a.example # b.example\nkubernetes a.example":                                        {"a.example"},
		"forward . /etc/resolv.conf":                                                                    nil,
		"kubernetes {":                                                                                  nil,
		"":                                                                                              nil,
	} {
		if got := domainsOf(corefile); !slices.Equal(got, want) {
			t.Errorf("domainsOf(%q) = %v, want %v", corefile, got, want)
		}
	}
}

func TestDomainOfAnAgent(t *testing.T) {
	for url, want := range map[string]string{
		"http://echo.team.svc.corp.example/": "corp.example", "https://echo.team.svc.k8s:443/": "k8s", "http://echo.team.svc/": "", "": "", "://": "",
	} {
		agent := &a2av1alpha1.Agent{Status: a2av1alpha1.AgentStatus{URL: url}}
		if got := domainOf(agent); got != want {
			t.Errorf("domainOf(%q) = %q, want %q", url, got, want)
		}
	}
	remote := &a2av1alpha1.Agent{Spec: a2av1alpha1.AgentSpec{Remote: &a2av1alpha1.AgentRemote{}}, Status: a2av1alpha1.AgentStatus{URL: "http://echo.team.svc.other/"}}
	if got := domainOf(remote); got != "" {
		t.Errorf("the domain of a remote agent is %q", got)
	}
}
