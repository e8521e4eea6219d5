// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdwatch

import (
	"fmt"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kind is an optional kind: a cluster may lack it.
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
	// Cache has the options of each cache of objects, such as the watched namespaces.
	Cache cache.Options
}

// newCRDCache returns a cache that contains only the CRD of a kind. It needs the right to list
// and watch only this CRD.
func newCRDCache(config Config, kind Kind, onError toolscache.WatchErrorHandlerWithContext) (cache.Cache, error) {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build scheme: %w", err)
	}
	crds, err := cache.New(config.Cluster, cache.Options{
		HTTPClient: config.HTTPClient,
		Mapper:     config.Mapper,
		Scheme:     scheme,

		DefaultWatchErrorHandler: onError,
		ByObject: map[client.Object]cache.ByObject{&apiextensionsv1.CustomResourceDefinition{}: {
			Field:     fields.OneTermEqualSelector(metav1.ObjectNameField, kind.Resource.String()),
			Transform: stripCRD,
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("build cache of CustomResourceDefinition %s: %w", kind.Resource, err)
	}
	return crds, nil
}

// stripCRD is a transform that keeps the identity, the generation, the deletion timestamp, the
// names of the versions and whether they are served, and the conditions of a CRD.
func stripCRD(obj any) (any, error) {
	crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return obj, nil
	}
	kept := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
		Name: crd.Name, UID: crd.UID, ResourceVersion: crd.ResourceVersion, Generation: crd.Generation, DeletionTimestamp: crd.DeletionTimestamp,
	}}
	for _, v := range crd.Spec.Versions {
		kept.Spec.Versions = append(kept.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name, Served: v.Served})
	}
	kept.Status.Conditions = crd.Status.Conditions
	return kept, nil
}

// serves reports whether the API server serves a version of a kind.
func serves(crd *apiextensionsv1.CustomResourceDefinition, version string) bool {
	if !crd.DeletionTimestamp.IsZero() {
		return false
	}
	established := false
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			established = c.Status == apiextensionsv1.ConditionTrue
		}
	}
	for _, v := range crd.Spec.Versions {
		if v.Name == version {
			return established && v.Served
		}
	}
	return false
}
