// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

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
		return err == nil && selector.Matches(labels.Set(a.namespaceLabels))
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
