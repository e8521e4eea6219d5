// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdwatch

import (
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kind is an optional kind: a cluster may not have it.
type Kind struct {
	// Resource is the resource of the kind, which is also the name of its CRD.
	Resource schema.GroupResource
	// Version is the version that the operator uses. A CRD that does not serve this
	// version counts as absent.
	Version string
	// Object is an empty object of the kind. The scheme contains its type.
	Object client.Object
	// Transform removes parts of the cached objects. A change of a removed part starts no
	// reconcile.
	Transform toolscache.TransformFunc
}

// Config configures Kinds.
type Config struct {
	Cluster    *rest.Config
	HTTPClient *http.Client
	Mapper     meta.RESTMapper
	Scheme     *runtime.Scheme
	// Cache contains the watched namespaces.
	Cache cache.Options
}
