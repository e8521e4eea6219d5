// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"fmt"
	"net/netip"
)

// PushNotifications says where events may be posted to.
type PushNotifications struct {
	// AllowedTargets are all that can be reached.
	AllowedTargets []PushTarget `json:"allowedTargets"`
	// ClusterDomain ends the DNS names of the cluster.
	ClusterDomain string `json:"clusterDomain,omitempty"`
}

// PushTarget is a place that events may be posted to. One member is set.
type PushTarget struct {
	// Service is a Service of the cluster.
	Service *PushService `json:"service,omitempty"`
	// Namespace stands for all of its Services.
	Namespace string `json:"namespace,omitempty"`
	// Host is a DNS name, *.<name> for all below one, or * for all. It must lead
	// to public addresses.
	Host string `json:"host,omitempty"`
	// CIDR is a range of addresses, whatever name leads to them.
	CIDR string `json:"cidr,omitempty"`
}

// PushService names a Service.
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
