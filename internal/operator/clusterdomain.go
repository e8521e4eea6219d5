// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/a2a-operator/a2a-operator/internal/kit/boundedfile"
)

const (
	// resolverFile is the resolver configuration of a pod. The kubelet writes it (dnsPolicy ClusterFirst).
	resolverFile = "/etc/resolv.conf"
	// maxResolverSize bounds the resolver configuration, in bytes.
	maxResolverSize = 64 << 10
	// defaultClusterDomain is the domain of most clusters.
	defaultClusterDomain = "cluster.local"
)

// withClusterDomain returns the configuration with the DNS domain of the cluster. Without --cluster-domain, it is the
// domain in the resolver configuration in file. If the file names none, as outside of a cluster, it is
// defaultClusterDomain. A host of RegistryURL that ends with .svc gets the domain.
func (c Config) withClusterDomain(file string) (Config, error) {
	if c.ClusterDomain == "" {
		text, err := boundedfile.Read(file, maxResolverSize)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return c, fmt.Errorf("find the DNS domain of the cluster; set --cluster-domain: %w", err)
		}
		c.ClusterDomain = cmp.Or(clusterDomain(string(text)), defaultClusterDomain)
	}
	u, err := url.Parse(c.RegistryURL)
	if err == nil && strings.HasSuffix(u.Hostname(), ".svc") {
		u.Host = strings.Replace(u.Host, u.Hostname(), u.Hostname()+"."+c.ClusterDomain, 1)
		c.RegistryURL = u.String()
	}
	return c, nil
}

// clusterDomain returns the DNS domain of the cluster from the resolver configuration of a pod, "" if it names none. The
// kubelet writes the search list NAMESPACE.svc.DOMAIN svc.DOMAIN DOMAIN. The last search line counts, as for the resolver.
func clusterDomain(configuration string) string {
	domain := ""
	for line := range strings.Lines(configuration) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "search" {
			continue
		}
		domain = ""
		for _, each := range fields[1:] {
			below, found := strings.CutPrefix(strings.ToLower(strings.TrimSuffix(each, ".")), "svc.")
			if found && len(validation.IsDNS1123Subdomain(below)) == 0 {
				domain = below
				break
			}
		}
	}
	return domain
}
