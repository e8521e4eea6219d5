// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package clusteraccess

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kagentVersions are the versions of the kinds of kagent, the one that the import prefers first.
var kagentVersions = []string{"kagent.dev/v1alpha2", "kagent.dev/v1alpha3", "api.kagent.dev/v1alpha3", "kagent.dev/v1alpha1"}

// Kagent returns the objects of all kinds of kagent, of a namespace or of all namespaces for "", each as JSON and each once.
func (c *Cluster) Kagent(ctx context.Context, namespace string) ([]json.RawMessage, error) {
	var objects []json.RawMessage
	var read []string
	for _, version := range kagentVersions {
		group, number := groupOf(version)
		kinds, err := request(ctx, c, Access{Verb: "get", Group: group, Resource: number}, func(ctx context.Context, all *clients) (*metav1.APIResourceList, error) {
			list := &metav1.APIResourceList{}
			text, err := all.raw(ctx, "/apis/"+version)
			if apierrors.IsNotFound(err) {
				return list, nil
			}
			if err != nil {
				return nil, err
			}
			return list, json.Unmarshal(text, list)
		})
		if err != nil {
			return nil, err
		}
		for _, kind := range kinds.APIResources {
			if !kind.Namespaced || !slices.Contains(kind.Verbs, "list") || slices.Contains(read, kind.Name) {
				continue
			}
			read = append(read, kind.Name)
			some, err := c.kagentKind(ctx, version, kind.Name, namespace)
			if err != nil {
				return nil, err
			}
			objects = append(objects, some...)
		}
	}
	return objects, nil
}

func (c *Cluster) kagentKind(ctx context.Context, version, resource, namespace string) ([]json.RawMessage, error) {
	group, _ := groupOf(version)
	return request(ctx, c, Access{Verb: "list", Group: group, Resource: resource, Namespace: namespace}, func(ctx context.Context, all *clients) ([]json.RawMessage, error) {
		path := "/apis/" + version + "/"
		if namespace != "" {
			path += "namespaces/" + namespace + "/"
		}
		text, err := all.raw(ctx, path+resource)
		if err != nil {
			return nil, err
		}
		list := &struct {
			Items []json.RawMessage `json:"items"`
		}{}
		err = json.Unmarshal(text, list)
		return list.Items, err
	})
}

func groupOf(version string) (group, number string) {
	group, number, _ = strings.Cut(version, "/")
	return group, number
}

// ConfigMap returns a ConfigMap as JSON; nil if it does not exist.
func (c *Cluster) ConfigMap(ctx context.Context, namespace, name string) (json.RawMessage, error) {
	access := Access{Verb: "get", Resource: "configmaps", Namespace: namespace, Name: name}
	return request(ctx, c, access, func(ctx context.Context, all *clients) (json.RawMessage, error) {
		text, err := all.raw(ctx, "/api/v1/namespaces/"+namespace+"/configmaps/"+name)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return text, err
	})
}

// raw reads a path of the API server.
func (c *clients) raw(ctx context.Context, path string) ([]byte, error) {
	result := c.CoreV1().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx)
	text, _ := result.Raw() // unlike the error of Raw, the error of the result has the status in the response
	return text, result.Error()
}
