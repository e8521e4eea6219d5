// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

const (
	schemeHTTP  = "http"
	schemeHTTPS = "https"
)

// defaultPorts are those that no URL names.
var defaultPorts = map[string]int32{schemeHTTP: 80, schemeHTTPS: 443}

// gatewayURLs are where a Gateway serves what is routed to it with some
// hostnames, https first, each without a path. A name that begins with "*" is
// none that could be called.
func gatewayURLs(gateway *gatewayv1.Gateway, section string, hostnames []a2av1alpha1.Hostname) []string {
	type address struct{ scheme, url string }
	var addresses []address
	for i := range gateway.Spec.Listeners {
		listener := &gateway.Spec.Listeners[i]
		scheme := listenerScheme(listener.Protocol)
		if scheme == "" || section != "" && section != string(listener.Name) || listenerBroken(gateway, listener.Name) {
			continue
		}
		for _, host := range listenerHosts(gateway, listener, hostnames) {
			if listener.Port != defaultPorts[scheme] {
				host += ":" + strconv.Itoa(int(listener.Port))
			}
			addresses = append(addresses, address{scheme, scheme + "://" + host})
		}
	}
	slices.SortStableFunc(addresses, func(a, b address) int { return -cmp.Compare(a.scheme, b.scheme) })
	var urls []string
	for _, a := range addresses {
		urls = append(urls, a.url)
	}
	return urls
}

// listenerScheme is "" for a protocol that no HTTPRoute or GRPCRoute uses.
func listenerScheme(protocol gatewayv1.ProtocolType) string {
	switch protocol {
	case gatewayv1.HTTPProtocolType:
		return schemeHTTP
	case gatewayv1.HTTPSProtocolType:
		return schemeHTTPS
	default:
		return ""
	}
}

// listenerBroken tells whether the Gateway says that a listener does not work.
func listenerBroken(gateway *gatewayv1.Gateway, name gatewayv1.SectionName) bool {
	for _, s := range gateway.Status.Listeners {
		if s.Name == name {
			return meta.IsStatusConditionFalse(s.Conditions, string(gatewayv1.ListenerConditionProgrammed))
		}
	}
	return false
}

// listenerHosts are the hosts at which a listener serves a route: the names
// that both have, or the Gateway's address when neither has one.
func listenerHosts(gateway *gatewayv1.Gateway, listener *gatewayv1.Listener, hostnames []a2av1alpha1.Hostname) []string {
	own := ""
	if listener.Hostname != nil {
		own = string(*listener.Hostname)
	}
	if len(hostnames) == 0 && own == "" {
		return gatewayHosts(gateway)
	}
	if len(hostnames) == 0 {
		hostnames = []a2av1alpha1.Hostname{a2av1alpha1.Hostname(own)}
	}
	var hosts []string
	for _, h := range hostnames {
		if host := commonHost(string(h), own); host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// commonHost is the name that two patterns have in common, "" when there is
// none or there are many.
func commonHost(route, listener string) string {
	switch {
	case !wildcard(route) && (listener == "" || matches(listener, route)):
		return route
	case listener != "" && !wildcard(listener) && matches(route, listener):
		return listener
	default:
		return ""
	}
}

func wildcard(host string) bool { return strings.HasPrefix(host, "*.") }

// matches tells whether a name without a wildcard fits a pattern.
func matches(pattern, host string) bool {
	if !wildcard(pattern) {
		return pattern == host
	}
	return strings.HasSuffix(host, strings.TrimPrefix(pattern, "*"))
}

// gatewayHosts is the first address of a Gateway, in the form of a URL.
func gatewayHosts(gateway *gatewayv1.Gateway) []string {
	for _, a := range gateway.Status.Addresses {
		if ip, err := netip.ParseAddr(a.Value); err == nil && ip.Is6() {
			return []string{"[" + a.Value + "]"}
		}
		if a.Value != "" {
			return []string{a.Value}
		}
	}
	return nil
}

// parentVerdict is what the controller of a Gateway says of a route.
type parentVerdict struct {
	accepted bool
	// refusal says why not; it is empty while there is no answer.
	refusal string
}

// verdictOf reads what is said of a route about one of its parents. When more
// than one controller answers, any that takes the route is enough.
func verdictOf(parents []gatewayv1.RouteParentStatus, namespace string, ref a2av1alpha1.GatewayRef) parentVerdict {
	var verdict parentVerdict
	for i := range parents {
		if !sameParent(parents[i].ParentRef, namespace, ref) {
			continue
		}
		conditions := parents[i].Conditions
		refused := firstFalse(conditions, string(gatewayv1.RouteConditionAccepted), string(gatewayv1.RouteConditionResolvedRefs))
		switch {
		case refused != nil:
			verdict.refusal = refused.Reason + ": " + refused.Message
		case meta.IsStatusConditionTrue(conditions, string(gatewayv1.RouteConditionAccepted)):
			return parentVerdict{accepted: true}
		}
	}
	return verdict
}

func firstFalse(conditions []metav1.Condition, types ...string) *metav1.Condition {
	for _, t := range types {
		if c := meta.FindStatusCondition(conditions, t); c != nil && c.Status == metav1.ConditionFalse {
			return c
		}
	}
	return nil
}

func sameParent(status gatewayv1.ParentReference, namespace string, ref a2av1alpha1.GatewayRef) bool {
	statusNamespace, section := namespace, ""
	if status.Namespace != nil {
		statusNamespace = string(*status.Namespace)
	}
	if status.SectionName != nil {
		section = string(*status.SectionName)
	}
	return string(status.Name) == ref.Name && section == ref.SectionName && statusNamespace == cmp.Or(ref.Namespace, namespace)
}
