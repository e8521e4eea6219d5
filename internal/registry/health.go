// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

const (
	// maxReport bounds the body of a report, in bytes.
	maxReport = 72 << 10
	// patchTimeout bounds one patch of a pod.
	patchTimeout = 5 * time.Second
	// limitedPods bounds the pods that have a rate limit of their own. All further pods share
	// one rate limit.
	limitedPods = 16384
)

// reportRate is the rate limit for the reports of one pod. A sidecar sends at most one report in
// 5 s.
var reportRate = limit.Rate{PerSecond: 1, Burst: 10}

// healthReports writes the reports of sidecars into their pods, where the operator and kubectl
// read them: the health of dependencies as conditions, and the signatures of the card as an
// annotation. Every replica of the registry does so. A pod can report only for itself, because
// its token must be bound to the pod.
type healthReports struct {
	// pods reads the pods of Agents.
	pods   client.Reader
	status client.SubResourceWriter
	// annotations writes the annotations of pods.
	annotations client.Writer
	// counted counts the heartbeats on the leader. It may be nil.
	counted *PodReports
	rates   *limit.Table
	clock   clock.PassiveClock
}

func newHealthReports(pods client.Reader, status client.SubResourceWriter, annotations client.Writer, counted *PodReports, c clock.PassiveClock) *healthReports {
	return &healthReports{
		pods: pods, status: status, annotations: annotations, counted: counted, rates: limit.NewTable(limitedPods, reportRate), clock: c,
	}
}

// put serves PUT /v1/health.
func (h *healthReports) put(w http.ResponseWriter, r *http.Request, c access.Caller, _ *index.Snapshot) error {
	name := c.ExtraValue(access.ExtraPodName)
	uid := c.ExtraValue(access.ExtraPodUID)
	if c.Namespace() == "" || name == "" || uid == "" {
		return errUnboundToken
	}
	if !h.admit(w, types.UID(uid)) {
		return nil
	}
	report, err := readReport(w, r)
	if err != nil {
		return err
	}
	if err := h.write(r.Context(), types.NamespacedName{Namespace: c.Namespace(), Name: name}, types.UID(uid), report); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// admit returns true if the rate limit of a pod admits a request. Otherwise it responds.
func (h *healthReports) admit(w http.ResponseWriter, uid types.UID) bool {
	now := h.clock.Now()
	bucket := h.rates.Bucket(a2a.AccountingPrincipal{Principal: string(uid)}, now)
	if bucket.Take(now) {
		return true
	}
	tooMany(w, "health_reports", bucket.Refusal(now), "this pod sends too many reports; wait and send only the last one")
	return false
}

// alive serves POST /v1/alive for a caller that a TokenReview has authenticated: a token whose signature the registry
// cannot verify.
func (h *healthReports) alive(w http.ResponseWriter, r *http.Request, c access.Caller, _ *index.Snapshot) error {
	name := c.ExtraValue(access.ExtraPodName)
	uid := c.ExtraValue(access.ExtraPodUID)
	if c.Namespace() == "" || name == "" || uid == "" {
		return errUnboundToken
	}
	return h.count(r.Context(), w, types.NamespacedName{Namespace: c.Namespace(), Name: name}, types.UID(uid))
}

// aliveOf is alive for a pod that a token names whose signature the registry has verified. Unlike a TokenReview, the
// signature does not show whether the ServiceAccount still exists.
func (h *healthReports) aliveOf(w http.ResponseWriter, r *http.Request, pod auth.BoundPod) error {
	account := &corev1.ServiceAccount{}
	err := h.pods.Get(r.Context(), types.NamespacedName{Namespace: pod.Namespace, Name: pod.Account}, account, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) || err == nil && string(account.UID) != pod.AccountUID {
		setChallenge(w, r)
		return &problem{
			status: http.StatusUnauthorized, Code: "Unauthenticated",
			Message: "the ServiceAccount of the token has been deleted; delete the pod, so that it gets a token of the present ServiceAccount",
		}
	}
	if err != nil {
		return fmt.Errorf("get ServiceAccount: %w", err)
	}
	return h.count(r.Context(), w, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, types.UID(pod.UID))
}

// count records that a pod reaches the registry. A replica that is not the leader responds with the status 202 and
// closes the connection, so that the sidecar sends the next heartbeat to another replica.
func (h *healthReports) count(ctx context.Context, w http.ResponseWriter, name types.NamespacedName, uid types.UID) error {
	if _, err := h.pod(ctx, name, uid); err != nil {
		return err
	}
	if !h.admit(w, uid) {
		return nil
	}
	if h.counted != nil && !h.counted.count(uid) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

var errUnboundToken = &problem{
	status: http.StatusForbidden, Code: "Forbidden",
	Message: "the token is not bound to a pod; use the token that is mounted into the pod",
}

var errUnknownPod = &problem{
	status: http.StatusConflict, Code: "UnknownPod",
	Message: "the registry's cache has no pod of an Agent with the name and UID in the token yet; try again",
}

func invalidReport(field, cure string) error { return &index.ParameterError{Field: field, Cure: cure} }

// readReport decodes a report, and validates all members, because the registry writes them into
// a pod. Its errors are *index.ParameterError.
func readReport(w http.ResponseWriter, r *http.Request) (*sidecarconfig.HealthReport, error) {
	report := &sidecarconfig.HealthReport{}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReport))
	// Unknown members are ignored, because a newer sidecar may send them.
	if err := decoder.Decode(report); err != nil {
		return nil, invalidReport("body", "must be a health report in JSON, of at most 72 KiB")
	}
	seen := map[sidecarconfig.Dependency]bool{}
	for i := range report.Dependencies {
		d := &report.Dependencies[i]
		switch {
		case !slices.Contains(sidecarconfig.Dependencies, d.Dependency) || seen[d.Dependency]:
			return nil, invalidReport("dependency", "must be a dependency that this version of the registry supports, and must not be repeated")
		case !slices.Contains(sidecarconfig.Causes, d.Cause) || d.Cause == sidecarconfig.CauseHealthy:
			return nil, invalidReport("cause", "must be a cause that this version of the registry supports")
		case len(d.Message) > sidecarconfig.MaxHealthMessage:
			return nil, invalidReport("message", "must have at most 512 bytes")
		}
		d.Message = sidecarconfig.OneLine(d.Message)
		seen[d.Dependency] = true
	}
	if s := report.CardSignatures; s != nil && (len(s.Signatures) == 0 || len(s.Signatures) > signing.MaxSignatures) {
		return nil, invalidReport("cardSignatures", fmt.Sprintf("must have 1 to %d signatures", signing.MaxSignatures))
	}
	return report, nil
}

// write patches the conditions of a pod, and the annotation with the signatures of the card. It
// sends no request for a part that already equals the report. If the cache or the API server has
// no pod with the name and UID, write returns a problem with the code UnknownPod.
func (h *healthReports) write(ctx context.Context, name types.NamespacedName, uid types.UID, report *sidecarconfig.HealthReport) error {
	pod, err := h.pod(ctx, name, uid)
	if err != nil {
		return err
	}
	// The signatures are written even if writing the conditions fails. A patch changes the pod
	// object that it receives, so writeConditions receives a copy.
	err = errors.Join(h.writeConditions(ctx, pod.DeepCopy(), report), h.writeSignatures(ctx, pod, report.CardSignatures))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // the pod has been deleted
		return errors.Join(errUnknownPod, err)
	}
	return err
}

// pod returns a copy of the cached pod of an Agent, or errUnknownPod.
func (h *healthReports) pod(ctx context.Context, name types.NamespacedName, uid types.UID) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	err := h.pods.Get(ctx, name, pod)
	if apierrors.IsNotFound(err) || err == nil && (pod.UID != uid || !names.OwnsPod(pod.Labels[a2av1alpha1.LabelAgent], pod)) {
		return nil, errUnknownPod
	}
	if err != nil {
		return nil, fmt.Errorf("get pod: %w", err)
	}
	return pod, nil
}

// writeConditions patches the conditions of a pod that differ from the report.
func (h *healthReports) writeConditions(ctx context.Context, pod *corev1.Pod, report *sidecarconfig.HealthReport) error {
	changed := changedConditions(pod.Status.Conditions, report, metav1.NewTime(h.clock.Now()))
	if len(changed) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID}, // with the UID, the API server rejects the patch for a later pod of the same name
		"status":   map[string]any{"conditions": changed},
	})
	if err != nil {
		return fmt.Errorf("encode conditions: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patchTimeout)
	defer cancel()
	if err := h.status.Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, patch)); err != nil {
		return fmt.Errorf("patch status of pod: %w", err)
	}
	return nil
}

// writeSignatures writes the annotation with the signatures of the card. If the sidecar does not
// sign the card, or the signatures are too long, it deletes the annotation.
func (h *healthReports) writeSignatures(ctx context.Context, pod *corev1.Pod, s *sidecarconfig.CardSignatures) error {
	var value *string
	if s != nil {
		encoded, err := json.Marshal(s)
		if err != nil {
			return fmt.Errorf("encode signatures: %w", err)
		}
		if len(encoded) <= sidecarconfig.MaxCardSignatures {
			value = new(string(encoded))
		}
	}
	if is, found := pod.Annotations[a2av1alpha1.AnnotationCardSignatures]; found == (value != nil) && (value == nil || is == *value) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "annotations": map[string]*string{a2av1alpha1.AnnotationCardSignatures: value},
	}})
	if err != nil {
		return fmt.Errorf("encode annotation: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patchTimeout)
	defer cancel()
	if err := h.annotations.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(a2av1alpha1.FieldOwnerRegistry)); err != nil {
		return fmt.Errorf("patch annotation of pod: %w", err)
	}
	return nil
}

// changedConditions returns the conditions of a pod that must change, with their new values:
// those of failing dependencies, those of dependencies that have recovered, and that of the registry
// with the first report.
func changedConditions(is []corev1.PodCondition, report *sidecarconfig.HealthReport, now metav1.Time) []corev1.PodCondition {
	var changed []corev1.PodCondition
	failing := map[corev1.PodConditionType]bool{}
	set := func(want corev1.PodCondition) {
		want.LastTransitionTime = now
		for i := range is {
			if is[i].Type != want.Type {
				continue
			}
			if is[i].Status == want.Status {
				want.LastTransitionTime = is[i].LastTransitionTime
				if is[i].Reason == want.Reason && is[i].Message == want.Message {
					return
				}
			}
		}
		changed = append(changed, want)
	}
	for _, d := range report.Dependencies {
		kind := corev1.PodConditionType(a2av1alpha1.PodConditionPrefix + string(d.Dependency))
		failing[kind] = true
		set(corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: string(d.Cause), Message: d.Message})
	}
	// The operator sees by this condition that the sidecar reaches the registry.
	registry := corev1.PodConditionType(a2av1alpha1.PodConditionPrefix + string(sidecarconfig.DependencyRegistry))
	set(corev1.PodCondition{Type: registry, Status: corev1.ConditionTrue, Reason: string(sidecarconfig.CauseHealthy)})
	for i := range is {
		if is[i].Type == registry {
			continue
		}
		if c := &is[i]; strings.HasPrefix(string(c.Type), a2av1alpha1.PodConditionPrefix) && !failing[c.Type] {
			set(corev1.PodCondition{Type: c.Type, Status: corev1.ConditionTrue, Reason: string(sidecarconfig.CauseHealthy)})
		}
	}
	return changed
}
