// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/desired"
	"github.com/a2a-operator/a2a-operator/internal/operator/gather"
	"github.com/a2a-operator/a2a-operator/internal/operator/pagedlist"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/operator/status"
)

// maxKeptRevisions is the number of revisions that the operator keeps of an Agent.
const maxKeptRevisions = 10

// recordIfNew returns the next status. It keeps what the spec describes as a revision if that is new. recheck is the delay after which
// to try again if there are too many revisions, 0 otherwise.
func (r *AgentReconciler) recordIfNew(ctx context.Context, in state.Agent, want desired.Result, inputs status.Inputs) (next status.Result, recheck time.Duration, err error) {
	next = status.Agent(inputs)
	if in.Revision != nil && in.Revision.TooMany {
		recheck = gather.RevisionsRecheck
	}
	if !next.Record {
		return next, recheck, nil
	}
	err = r.record(ctx, in, want, &next.Status)
	if errors.Is(err, pagedlist.ErrTooMany) {
		inputs.Remarks = append(inputs.Remarks, desired.TooManyRevisions(in.Agent))
		return status.Agent(inputs), gather.RevisionsRecheck, nil
	}
	return next, recheck, err
}

// record keeps what the spec of an Agent describes as the newest revision, and sets the revision in next. It reads the
// revisions from the API server, because the caches do not contain them: an Agent gets a new revision only after a change
// of what its pods run. It deletes the oldest revisions above maxKeptRevisions.
func (r *AgentReconciler) record(ctx context.Context, in state.Agent, want desired.Result, next *a2av1alpha1.AgentStatus) error {
	if err := r.config.Gather.ReadInstructions(ctx, &in); err != nil {
		return err
	}
	encoded, digest, err := desired.Revision(in, r.config.Platform)
	if err != nil || digest == "" || digest != want.RevisionDigest {
		return err
	}
	agent := in.Agent
	kept, err := r.config.Gather.KeptRevisions(ctx, agent, 0)
	if err != nil {
		return err
	}
	number := int64(1)
	for i := range kept {
		if kept[i].Revision == math.MaxInt64 { // a tenant has created it
			break
		}
		number = kept[i].Revision
		if kept[i].Annotations[a2av1alpha1.AnnotationRevisionDigest] != digest {
			number++
		}
	}
	name := names.Revision(agent.Name, digest)
	owner := ownerOf(agent)
	config := appsv1ac.ControllerRevision(name, agent.Namespace).
		WithLabels(names.Labels(agent.Name)).
		WithAnnotations(map[string]string{a2av1alpha1.AnnotationRevisionDigest: digest}).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(owner.Kind.GroupVersion().String()).WithKind(owner.Kind.Kind).WithName(owner.Name).WithUID(owner.UID).
			WithController(true).WithBlockOwnerDeletion(true)).
		WithRevision(number).
		WithData(runtime.RawExtension{Raw: encoded})
	if err := r.config.Client.Apply(ctx, config, client.FieldOwner(a2av1alpha1.FieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply ControllerRevision %s/%s: %w", agent.Namespace, name, err)
	}
	if next.Revisions == nil {
		next.Revisions = &a2av1alpha1.AgentRevisions{}
	}
	next.Revisions.LastGood = number
	next.Revisions.LastGoodDigest = digest
	next.Revisions.LastGoodTemplate = want.TemplateDigest
	return r.prune(ctx, kept, name)
}

// prune deletes the oldest revisions, so that maxKeptRevisions are left with the revision name, which was written last.
func (r *AgentReconciler) prune(ctx context.Context, kept []appsv1.ControllerRevision, name string) error {
	excess := len(kept) + 1 - maxKeptRevisions
	for i := range kept {
		if kept[i].Name == name {
			excess--
		}
	}
	for i := range kept {
		if excess <= 0 {
			return nil
		}
		if kept[i].Name == name {
			continue
		}
		if err := r.config.Client.Delete(ctx, &kept[i]); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete ControllerRevision %s/%s: %w", kept[i].Namespace, kept[i].Name, err)
		}
		excess--
	}
	return nil
}
