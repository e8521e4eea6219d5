// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"fmt"
	"net/netip"
)

// PushNotifications configures the addresses to which push notifications may be posted.
type PushNotifications struct {
	// AllowedTargets lists all allowed targets. No other address can be reached.
	AllowedTargets []PushTarget `json:"allowedTargets"`
	// ClusterDomain is the DNS domain of the cluster, the end of the names of Services.
	ClusterDomain string `json:"clusterDomain,omitempty"`
}

// PushTarget is an allowed target of push notifications. Exactly one member is set.
type PushTarget struct {
	// Service is a Service of the cluster.
	Service *PushService `json:"service,omitempty"`
	// Namespace allows all Services of this namespace.
	Namespace string `json:"namespace,omitempty"`
	// Host is a DNS name, *.<name> for all names below a name, or * for all names. The name
	// must resolve to public addresses, or to addresses in a CIDR of AllowedTargets.
	Host string `json:"host,omitempty"`
	// CIDR is a range of addresses. A host name of any form is allowed if it resolves to
	// addresses in the range.
	CIDR string `json:"cidr,omitempty"`
}

// PushService is the name of a Service with its namespace.
type PushService struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

func (p *PushNotifications) validate(refuse func(field, format string, args ...any)) {
	for i, t := range p.AllowedTargets {
		field := fmt.Sprintf("pushNotifications.allowedTargets[%d]", i)
		set := 0
		for _, is := range []bool{t.Service != nil, t.Namespace != "", t.Host != "", t.CIDR != ""} {
			if is {
				set++
			}
		}
		if set != 1 {
			refuse(field, "needs one of service, namespace, host and cidr")
		}
		if s := t.Service; s != nil && (s.Name == "" || s.Namespace == "") {
			refuse(field+".service", "needs name and namespace")
		}
		if t.CIDR != "" {
			if _, err := netip.ParsePrefix(t.CIDR); err != nil {
				refuse(field+".cidr", "is %q, must be a range such as 203.0.113.0/24", t.CIDR)
			}
		}
	}
}
