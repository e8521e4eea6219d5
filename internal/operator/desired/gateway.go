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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/cachedlabels"
)

// defaultPorts are the default ports of the schemes. URLs omit them.
var defaultPorts = map[string]int32{schemeHTTP: 80, schemeHTTPS: 443}

// address is an address at which a Gateway serves a route, without a path.
type address struct {
	gateway types.NamespacedName
	scheme  string
	host    string
	port    int32
}

func (a address) String() string {
	if a.port == defaultPorts[a.scheme] {
		return a.scheme + "://" + a.host
	}
	return a.scheme + "://" + a.host + ":" + strconv.Itoa(int(a.port))
}

// rank returns a number by which addresses are sorted; a smaller one is better. https
// precedes http, and default ports precede other ports, because firewalls are more likely
// to allow them.
func (a address) rank() int {
	rank := 0
	if a.scheme != schemeHTTPS {
		rank += 2
	}
	if a.port != defaultPorts[a.scheme] {
		rank++
	}
	return rank
}

// gatewayAddresses returns the addresses at which a Gateway serves a route. It omits
// names with a wildcard.
func gatewayAddresses(gateway *gatewayv1.Gateway, route attachment) []address {
	var addresses []address
	for i := range gateway.Spec.Listeners {
		listener := &gateway.Spec.Listeners[i]
		if !route.fits(gateway, listener) || !listenerWorks(gateway, listener.Name, route.kind) {
			continue
		}
		for _, host := range listenerHosts(gateway, listener, route.hostnames) {
			addresses = append(addresses, address{
				gateway: types.NamespacedName{Namespace: gateway.Namespace, Name: gateway.Name},
				scheme:  listenerScheme(listener.Protocol), host: host, port: listener.Port,
			})
		}
	}
	return addresses
}

// best returns the preferred address: the one with the best rank among the addresses of
// the first Gateway.
func best(addresses []address) address {
	others := func(a address) bool { return a.gateway != addresses[0].gateway }
	return slices.MinFunc(slices.DeleteFunc(slices.Clone(addresses), others), byRank)
}

func byRank(a, b address) int { return cmp.Compare(a.rank(), b.rank()) }

// listenerHosts returns the hosts at which a listener serves a route: the names that match
// both the listener's hostname and the route's hostnames. If only the listener or only the
// route has hostnames, the hosts are these hostnames. If neither has a hostname, the host is
// the address of the Gateway. listenerHosts omits wildcard names.
func listenerHosts(gateway *gatewayv1.Gateway, listener *gatewayv1.Listener, hostnames []a2av1alpha1.Hostname) []string {
	own := string(ptr.Deref(listener.Hostname, ""))
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

// commonHost returns the name that matches both patterns, or "" if no name or several
// names match.
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

// matches reports whether a name without a wildcard matches a pattern.
func matches(pattern, host string) bool {
	if !wildcard(pattern) {
		return pattern == host
	}
	return strings.HasSuffix(host, strings.TrimPrefix(pattern, "*"))
}

// gatewayHosts returns the first address of a Gateway, in the form of the host in a URL.
// It returns nil if the Gateway has no address.
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

// attachment contains the properties of a route that a listener checks before it accepts
// the route. The status of a route does not name the listener that accepted it, so the
// operator evaluates the same rules as the Gateway.
type attachment struct {
	kind            gatewayv1.Kind
	namespace       string
	namespaceLabels map[string]string
	// section is the name of the listener to which the route refers, "" for any listener.
	section   string
	hostnames []a2av1alpha1.Hostname
}

// fits reports whether a listener accepts a route. It does not check the hostnames of the
// route.
func (a attachment) fits(gateway *gatewayv1.Gateway, listener *gatewayv1.Listener) bool {
	if listenerScheme(listener.Protocol) == "" || a.section != "" && a.section != string(listener.Name) {
		return false
	}
	var allowed gatewayv1.AllowedRoutes
	if listener.AllowedRoutes != nil {
		allowed = *listener.AllowedRoutes
	}
	return listsKind(allowed.Kinds, a.kind) && a.comesFrom(gateway, allowed.Namespaces)
}

// listsKind reports whether kinds contains a kind of route. Empty kinds contain every
// kind.
func listsKind(kinds []gatewayv1.RouteGroupKind, kind gatewayv1.Kind) bool {
	return len(kinds) == 0 || slices.ContainsFunc(kinds, func(k gatewayv1.RouteGroupKind) bool {
		return k.Kind == kind && (k.Group == nil || *k.Group == gatewayv1.GroupName)
	})
}

// comesFrom reports whether a listener accepts routes of the namespace of the route.
func (a attachment) comesFrom(gateway *gatewayv1.Gateway, namespaces *gatewayv1.RouteNamespaces) bool {
	if namespaces == nil || namespaces.From == nil {
		return a.namespace == gateway.Namespace
	}
	switch *namespaces.From {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSelector:
		selector, err := metav1.LabelSelectorAsSelector(namespaces.Selector)
		return err == nil && cachedlabels.Match(selector, a.namespaceLabels)
	default:
		return a.namespace == gateway.Namespace
	}
}

// listenerScheme returns the URL scheme of a protocol, or "" for a protocol that
// HTTPRoutes and GRPCRoutes do not use.
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

// listenerWorks reports whether, by the status of the Gateway, a listener serves routes
// of a kind.
func listenerWorks(gateway *gatewayv1.Gateway, name gatewayv1.SectionName, kind gatewayv1.Kind) bool {
	for i := range gateway.Status.Listeners {
		s := &gateway.Status.Listeners[i]
		if s.Name != name {
			continue
		}
		return listsKind(s.SupportedKinds, kind) &&
			!meta.IsStatusConditionFalse(s.Conditions, string(gatewayv1.ListenerConditionAccepted)) &&
			!meta.IsStatusConditionFalse(s.Conditions, string(gatewayv1.ListenerConditionProgrammed)) &&
			!meta.IsStatusConditionTrue(s.Conditions, string(gatewayv1.ListenerConditionConflicted))
	}
	return true
}

const (
	schemeHTTP  = "http"
	schemeHTTPS = "https"
)
