// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"net/netip"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/internal/usererror"
)

// unreachable are the address ranges to which sidecars never send push notifications:
// their addresses belong to the pod itself or its node, or do not identify a single host.
var unreachable = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("255.255.255.255/32"),
	netip.MustParsePrefix("::/128"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("ff00::/8"),
}

// pushProblems returns a problem for each target that is within an unreachable range.
func pushProblems(agent *a2av1alpha1.Agent) []usererror.Problem {
	if agent.Spec.PushNotifications == nil {
		return nil
	}
	var problems []usererror.Problem
	for i, target := range agent.Spec.PushNotifications.AllowedTargets {
		allowed, err := netip.ParsePrefix(target.CIDR)
		if err != nil {
			continue // the target has no cidr; the API server has validated every cidr
		}
		for _, never := range unreachable {
			if never.Bits() <= allowed.Bits() && never.Contains(allowed.Addr()) {
				problems = append(problems, usererror.Problem{
					Condition: a2av1alpha1.ConditionAccepted,
					Reason:    a2av1alpha1.ReasonInvalidPushTarget,
					Message: fmt.Sprintf("spec.pushNotifications.allowedTargets[%d].cidr is %s, which is in %s: "+
						"loopback, link-local, multicast and unspecified addresses are never allowed; remove it", i, allowed, never),
				})
			}
		}
	}
	return problems
}

// configPush returns the allowed targets of push notifications, or nil if push
// notifications are off.
func configPush(agent *a2av1alpha1.Agent, platform Platform) *sidecarconfig.PushNotifications {
	if agent.Spec.PushNotifications == nil {
		return nil
	}
	push := &sidecarconfig.PushNotifications{ClusterDomain: platform.ClusterDomain}
	for _, target := range agent.Spec.PushNotifications.AllowedTargets {
		allowed := sidecarconfig.PushTarget{Namespace: target.Namespace, Host: target.Host, CIDR: target.CIDR}
		if s := target.Service; s != nil {
			allowed.Service = &sidecarconfig.PushService{Name: s.Name, Namespace: s.Namespace}
			if s.Namespace == "" {
				allowed.Service.Namespace = agent.Namespace
			}
		}
		push.AllowedTargets = append(push.AllowedTargets, allowed)
	}
	return push
}
