// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package clusteraccess

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// Revisions returns the kept revisions of an Agent, the newest first.
func (c *Cluster) Revisions(ctx context.Context, agent *a2av1alpha1.Agent) ([]appsv1.ControllerRevision, error) {
	access := Access{Verb: "list", Group: appsv1.GroupName, Resource: "controllerrevisions", Namespace: agent.Namespace}
	list, err := request(ctx, c, access, func(ctx context.Context, all *clients) (*appsv1.ControllerRevisionList, error) {
		return all.AppsV1().ControllerRevisions(agent.Namespace).List(ctx, metav1.ListOptions{LabelSelector: a2av1alpha1.LabelAgent + "=" + agent.Name})
	})
	if err != nil {
		return nil, err
	}
	kept := slices.DeleteFunc(list.Items, func(r appsv1.ControllerRevision) bool { return !metav1.IsControlledBy(&r, agent) })
	slices.SortFunc(kept, func(a, b appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(b.Revision, a.Revision), cmp.Compare(a.Name, b.Name))
	})
	return kept, nil
}

// SetRevision sets spec.workload.revision of an Agent, or removes it for 0. The field has a field manager of its own, so that
// tools that apply the rest of the spec leave it alone.
func (c *Cluster) SetRevision(ctx context.Context, agent *a2av1alpha1.Agent, number int64) error {
	value := &number
	if number == 0 {
		value = nil
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"workload": map[string]any{"revision": value}}})
	if err != nil {
		return failure.Wrap(failure.Internal, err, "encode the patch")
	}
	_, err = request(ctx, c, accessToAgents("patch", agent.Namespace, agent.Name), func(ctx context.Context, all *clients) (struct{}, error) {
		return struct{}{}, all.agents.Patch(types.MergePatchType).Namespace(agent.Namespace).Resource("agents").Name(agent.Name).
			Param("fieldManager", a2av1alpha1.FieldOwnerRollback).Body(patch).Do(ctx).Error()
	})
	return err
}

// Missing returns those of the named Secrets and ConfigMaps of a namespace that do not exist. It omits an object that the user
// may not read.
func (c *Cluster) Missing(ctx context.Context, namespace string, secrets, configMaps []string) (missingSecrets, missingConfigMaps []string, err error) {
	isMissing := func(resource, name string) (bool, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errSlow)
		defer cancel()
		all, err := c.connect()
		if err != nil {
			return false, err
		}
		err = all.CoreV1().RESTClient().Get().Namespace(namespace).Resource(resource).Name(name).
			SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").Do(ctx).Error()
		if err == nil || apierrors.IsForbidden(err) {
			return false, nil
		}
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, Explain(ctx, err, Access{Verb: "get", Resource: resource, Namespace: namespace, Name: name})
	}
	for _, each := range []struct {
		resource string
		names    []string
		missing  *[]string
	}{{"secrets", secrets, &missingSecrets}, {"configmaps", configMaps, &missingConfigMaps}} {
		for _, name := range each.names {
			gone, err := isMissing(each.resource, name)
			if err != nil {
				return nil, nil, err
			}
			if gone {
				*each.missing = append(*each.missing, name)
			}
		}
	}
	return missingSecrets, missingConfigMaps, nil
}
