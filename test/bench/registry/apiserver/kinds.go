// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	jsonType     = "application/json"
	protobufType = "application/vnd.kubernetes.protobuf"
)

// Resources that the server treats in a special way.
const (
	leases        = "leases"
	tokenReviews  = "tokenreviews"
	accessReviews = "subjectaccessreviews"
)

// kind is a served kind.
type kind struct {
	schema.GroupVersionKind
	Resource string
	form     form
}

// form is the encoding of the objects of a kind.
type form int

const (
	protobuf form = iota
	// inJSON is JSON, for custom resources.
	inJSON
	// metadataOnly is JSON with only the metadata, for kinds of which the manager reads only the metadata.
	metadataOnly
)

func (k *kind) mediaType() string {
	if k.form == protobuf {
		return protobufType
	}
	return jsonType
}

// streamParameter is part of the media type of a watch in protobuf.
func (k *kind) streamParameter() string {
	if k.form == protobuf {
		return ";stream=watch"
	}
	return ""
}

// sent returns the kind that the encoded objects name.
func (k *kind) sent() schema.GroupVersionKind {
	if k.form == metadataOnly {
		return metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")
	}
	return k.GroupVersionKind
}

// clusterScoped are the kinds without namespaces.
var clusterScoped = []string{"Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "TokenReview", "SubjectAccessReview"}

func kindIn(group, version, name, resource string, f form) kind {
	return kind{schema.GroupVersionKind{Group: group, Version: version, Kind: name}, resource, f}
}

// kinds are in the order of their groups.
var kinds = []kind{
	kindIn("", "v1", "ConfigMap", "configmaps", protobuf),
	kindIn("", "v1", "Namespace", "namespaces", metadataOnly),
	kindIn("", "v1", "Pod", "pods", protobuf),
	kindIn("", "v1", "Secret", "secrets", protobuf),
	kindIn("", "v1", "Service", "services", protobuf),
	kindIn("", "v1", "ServiceAccount", "serviceaccounts", protobuf),
	kindIn("apps", "v1", "Deployment", "deployments", protobuf),
	kindIn("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", protobuf),
	kindIn("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", protobuf),
	kindIn("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", protobuf),
	kindIn("rbac.authorization.k8s.io", "v1", "Role", "roles", protobuf),
	kindIn("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", protobuf),
	kindIn("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", protobuf),
	kindIn("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", protobuf),
	kindIn("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", inJSON),
	kindIn("a2a-operator.dev", "v1alpha1", "Agent", "agents", inJSON),
	kindIn("a2a-operator.dev", "v1alpha1", "AgentSkill", "agentskills", inJSON),
	kindIn("coordination.k8s.io", "v1", "Lease", leases, inJSON),
	kindIn("authentication.k8s.io", "v1", "TokenReview", tokenReviews, inJSON),
	kindIn("authorization.k8s.io", "v1", "SubjectAccessReview", accessReviews, inJSON),
}

func findKind(matches func(k kind) bool) *kind {
	if i := slices.IndexFunc(kinds, matches); i >= 0 {
		return &kinds[i]
	}
	return nil
}

// kindOf returns the kind of a resource, nil if it is not served.
func kindOf(group, resource string) *kind {
	return findKind(func(k kind) bool { return k.Group == group && k.Resource == resource })
}

// discovery returns the document at a path of the discovery API, nil if there is none.
func discovery(path string) any {
	path = strings.Trim(path, "/")
	parts := strings.Split(path, "/")
	switch {
	case path == "api":
		return &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case path == "apis":
		return groups()
	case len(parts) == 2 && parts[0] == "apis":
		if group := groupOf(parts[1]); group != nil {
			return group
		}
		return nil
	case len(parts) == 2 && parts[0] == "api":
		return resourcesOf(schema.GroupVersion{Version: parts[1]})
	case len(parts) == 3 && parts[0] == "apis":
		return resourcesOf(schema.GroupVersion{Group: parts[1], Version: parts[2]})
	}
	return nil
}

func groups() *metav1.APIGroupList {
	list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	last := ""
	for i := range kinds {
		if group := kinds[i].Group; group != last {
			list.Groups = append(list.Groups, *groupOf(group))
			last = group
		}
	}
	return list
}

func groupOf(name string) *metav1.APIGroup {
	k := findKind(func(k kind) bool { return k.Group == name })
	if k == nil {
		return nil
	}
	version := metav1.GroupVersionForDiscovery{GroupVersion: k.GroupVersion().String(), Version: k.Version}
	return &metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"},
		Name:     name, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
	}
}

func resourcesOf(gv schema.GroupVersion) *metav1.APIResourceList {
	list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String()}
	for i := range kinds {
		if k := &kinds[i]; k.GroupVersion() == gv {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: k.Resource, SingularName: strings.ToLower(k.Kind), Namespaced: !slices.Contains(clusterScoped, k.Kind), Kind: k.Kind,
				Verbs: metav1.Verbs{"create", "get", "list", "watch"},
			})
		}
	}
	return list
}
