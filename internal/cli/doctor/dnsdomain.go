// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// domainOf returns the DNS domain of the cluster in the URL of an Agent's Service, "" if the URL has none.
func domainOf(agent *a2av1alpha1.Agent) string {
	if agent.Spec.Remote != nil {
		return ""
	}
	u, err := url.Parse(agent.Status.URL)
	if err != nil {
		return ""
	}
	_, domain, _ := strings.Cut(u.Hostname(), ".svc.")
	return domain
}

// domainsOf returns the zones of the plugin kubernetes in a Corefile, without the zones for reverse lookups.
func domainsOf(corefile string) []string {
	var domains []string
	for line := range strings.Lines(corefile) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "kubernetes" {
			continue
		}
		for _, zone := range fields[1:] {
			zone = strings.ToLower(strings.TrimSuffix(zone, "."))
			if zone == "{" || strings.HasPrefix(zone, "#") {
				break
			}
			if strings.HasSuffix(zone, ".arpa") || zone == "" || slices.Contains(domains, zone) {
				continue
			}
			domains = append(domains, zone)
		}
	}
	return domains
}

// checkDNSDomain finds agents whose URLs have another DNS domain than the cluster.
func checkDNSDomain(s *SharedFacts) []Finding {
	const check = "DNS domain"
	if len(s.DNSDomains) == 0 || len(s.AgentDomains) == 0 {
		return nil
	}
	for _, domain := range s.AgentDomains {
		if slices.Contains(s.DNSDomains, domain) {
			continue
		}
		return []Finding{{
			Level: LevelProblem, Check: check,
			Seen: []string{
				"the URLs of agents end with .svc." + domain,
				"CoreDNS serves " + strings.Join(s.DNSDomains, " and "),
			},
			Cause: "The operator knows another DNS domain than that of the cluster, so cards, the registry and gateways name hosts that do not exist.",
			Cure:  "Set clusterDomain of the chart to the domain of the cluster, or leave it empty: the manager then reads the domain from its /etc/resolv.conf.",
			Command: fmt.Sprintf("helm upgrade a2a-operator oci://ghcr.io/a2a-operator/charts/a2a-operator -n %s --reset-then-reuse-values --set clusterDomain=%s",
				s.operatorNamespace(), s.DNSDomains[0]),
		}}
	}
	return okay(check, strings.Join(s.AgentDomains, ", "))
}
