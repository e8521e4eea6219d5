// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exposure decides at which hostnames the operator may expose the Agents of a
// namespace. The installer of the operator writes the rules, and the author of an Agent cannot
// change them.
//
// Source reads the rules from a mounted file. Everything else in the package is pure.
package exposure

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/a2a-operator/a2a-operator/internal/operator/cachedlabels"
)

// maxRules is the maximum number of rules.
const maxRules = 1024

// anyName is the hostname of a rule that allows all names, the names of the listeners, and IP
// addresses.
const anyName = "*"

// namespaceVariable stands for the name of the Agent's namespace in a hostname or a path.
const namespaceVariable = "{namespace}"

// plainPath matches the paths that spec.exposure.path may have, also with "/" at the end. They have no
// character or segment that some servers decode, resolve or remove, such as %2f, \, ; and "..".
var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9_~-]([A-Za-z0-9._~-]*[A-Za-z0-9_~-])?)*/?$`)

// Rules contains all rules. Rules only allow: without a rule, no hostname is allowed. A nil
// *Rules has no rule. Rules is immutable.
type Rules struct{ rules []rule }

// rule is a rule of the file.
type rule struct {
	// Namespaces and NamespaceSelector select the namespaces of the Agents. A namespace must be
	// in the list or match the selector. At least one of the two is required.
	Namespaces        []string              `json:"namespaces,omitempty"`
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// Hostnames is required.
	Hostnames []string `json:"hostnames"`
	// Paths are path prefixes; empty means all paths.
	Paths []string `json:"paths,omitempty"`
	// Gateways are the Gateways to which the rule applies; empty means all.
	Gateways []gateway `json:"gateways,omitempty"`

	selector labels.Selector
}

// gateway names a Gateway. Namespace defaults to the namespace of the Agent.
type gateway struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Parse decodes rules from YAML or JSON. Its error names the field of each mistake. An unknown
// field is a mistake, because it may be a restriction.
func Parse(text []byte) (*Rules, error) {
	var file struct {
		Allowed []rule `json:"allowed"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, fmt.Errorf("must have the field allowed: %w", err)
	}
	if len(file.Allowed) > maxRules {
		return nil, fmt.Errorf("allowed has %d items, must have at most %d", len(file.Allowed), maxRules)
	}
	var errs []error
	for i := range file.Allowed {
		for _, err := range file.Allowed[i].complete() {
			errs = append(errs, fmt.Errorf("allowed[%d].%w", i, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Rules{rules: file.Allowed}, nil
}

// complete sets the selector, and returns an error for each mistake.
func (r *rule) complete() []error {
	var errs []error
	mistake := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(r.Namespaces) == 0 && r.NamespaceSelector == nil {
		mistake("namespaces is empty; list namespaces, or set namespaceSelector, which is {} for all namespaces")
	}
	for i, name := range r.Namespaces {
		if reasons := validation.IsDNS1123Label(name); len(reasons) > 0 {
			mistake("namespaces[%d] is %q, must be the name of a namespace: %s", i, name, strings.Join(reasons, "; "))
		}
	}
	var err error
	if r.selector, err = metav1.LabelSelectorAsSelector(r.NamespaceSelector); err != nil {
		mistake("namespaceSelector is not valid: %w", err)
	}
	if len(r.Hostnames) == 0 {
		mistake("hostnames is empty; list hostnames such as agents.example.com or *.agents.example.com, or * for all")
	}
	for i, host := range r.Hostnames {
		name := strings.TrimPrefix(strings.ReplaceAll(host, namespaceVariable, "x"), "*.")
		if host != anyName && len(validation.IsDNS1123Subdomain(name)) > 0 {
			mistake("hostnames[%d] is %q, must be a DNS name in lower case, *. and a DNS name, or *", i, host)
		}
	}
	for i, prefix := range r.Paths {
		if !strings.HasPrefix(prefix, "/") || path.Clean(prefix) != prefix {
			mistake("paths[%d] is %q, must begin with / and not end with it, without empty segments", i, prefix)
		}
	}
	for i, g := range r.Gateways {
		if g.Name == "" {
			mistake("gateways[%d].name is empty; name a Gateway", i)
		}
	}
	return errs
}

// For returns what the rules allow to the Agents of a namespace with the given labels.
func (r *Rules) For(namespace string, namespaceLabels map[string]string) []Permission {
	if r == nil {
		return nil
	}
	var permissions []Permission
	for i := range r.rules {
		rule := &r.rules[i]
		if !slices.Contains(rule.Namespaces, namespace) && !cachedlabels.Match(rule.selector, namespaceLabels) {
			continue
		}
		var p Permission
		for _, host := range rule.Hostnames {
			p.Hostnames = append(p.Hostnames, strings.ReplaceAll(host, namespaceVariable, namespace))
		}
		for _, prefix := range rule.Paths {
			p.Paths = append(p.Paths, strings.ReplaceAll(prefix, namespaceVariable, namespace))
		}
		for _, g := range rule.Gateways {
			key := types.NamespacedName{Namespace: g.Namespace, Name: g.Name}
			if key.Namespace == "" {
				key.Namespace = namespace
			}
			p.Gateways = append(p.Gateways, key)
		}
		permissions = append(permissions, p)
	}
	return permissions
}

// Permission is a rule for one namespace.
type Permission struct {
	Hostnames []string
	// Paths are path prefixes; empty means all paths.
	Paths []string
	// Gateways are the Gateways to which the permission applies; empty means all.
	Gateways []types.NamespacedName
}

// Permits reports whether an Agent may have a hostname and path at a Gateway. The hostname is
// "" for a route without hostnames, which matches all names of the listeners. A hostname that
// begins with "*." needs a permission for all names that it matches.
func (p Permission) Permits(at types.NamespacedName, hostname, route string) bool {
	return (len(p.Gateways) == 0 || slices.Contains(p.Gateways, at)) &&
		(len(p.Paths) == 0 || slices.ContainsFunc(p.Paths, func(prefix string) bool { return isBelow(route, prefix) })) &&
		slices.ContainsFunc(p.Hostnames, func(allowed string) bool { return contains(allowed, hostname) })
}

// PermitsURL reports whether an Agent may name an http or https URL as its address at a Gateway. A
// permission with paths permits only a path that all servers and clients read alike.
func (p Permission) PermitsURL(at types.NamespacedName, address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || len(p.Paths) > 0 && !plainPath.MatchString(u.EscapedPath()) {
		return false
	}
	host := strings.ToLower(u.Hostname())
	if len(validation.IsDNS1123Subdomain(host)) > 0 {
		host = "" // another form, such as an IPv6 address, needs a permission for all names
	}
	return p.Permits(at, host, path.Clean("/"+u.Path))
}

// contains reports whether the hostname of a rule contains all names of a hostname.
func contains(allowed, hostname string) bool {
	if suffix, wildcard := strings.CutPrefix(allowed, "*."); wildcard {
		return strings.HasSuffix(hostname, "."+suffix)
	}
	return allowed == anyName || allowed == hostname
}

// isBelow reports whether a path is a prefix, or is below it.
func isBelow(route, prefix string) bool {
	return prefix == "/" || route == prefix || strings.HasPrefix(route, prefix+"/")
}
