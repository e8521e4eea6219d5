// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package health receives the reports of sidecars: the health of their dependencies, the signatures of their cards, and
// heartbeats. The registry's listener serves it in every replica of the manager, and authenticates the pods. The package
// writes the reports into the pods that send them, and nothing else.
package health

// The registry's listener receives the reports, which are written into conditions and an annotation of pods.
//
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;patch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
	"github.com/a2a-operator/a2a-operator/internal/kit/fairslots"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

const (
	// maxReport bounds the body of a report, in bytes.
	maxReport = 72 << 10
	// patchTimeout bounds one patch of a pod.
	patchTimeout = 5 * time.Second
	// turnTimeout bounds the wait for the turn to send it.
	turnTimeout = 3 * time.Second
	// limitedPods bounds the pods that have a rate limit of their own. All further pods share
	// one rate limit.
	limitedPods = 16384
	// limitedNamespaces does the same for namespaces.
	limitedNamespaces = 4096
	// concurrentPatches bounds the patches at a time, because the metadata in their answers may be large. One namespace has
	// sameNamespace at most. waitingPatches bounds those that wait for their turn.
	concurrentPatches = 24
	sameNamespace     = 3
	waitingPatches    = 1024
)

// reportRate is the rate limit for the reports of one pod. A sidecar sends at most one report in
// 5 s. writeRate is the rate limit for the patches of the pods of one namespace.
var (
	reportRate = limit.Rate{PerSecond: 1, Burst: 10}
	writeRate  = limit.Rate{PerSecond: 20, Burst: 500}
)

// Options configure Reports.
type Options struct {
	// Pods reads the pods of Agents and ServiceAccounts from the manager's cache.
	Pods client.Reader
	// Status writes the conditions of pods, and Annotations their annotations.
	Status      client.SubResourceWriter
	Annotations client.Writer
	// Heartbeats counts the heartbeats on the leader. It may be nil.
	Heartbeats *Heartbeats
	// Limited counts the requests that the rate limit refuses.
	Limited prometheus.Counter
	Clock   clock.PassiveClock
}

// Reports writes the reports of sidecars into their pods, where the operator and kubectl
// read them: the health of dependencies as conditions, and the signatures of the card as an
// annotation. Every replica of the manager does so. A pod can report only for itself. The
// errors of its handlers are *apierror.Error and failures of the system. It is safe for concurrent use.
type Reports struct {
	options Options
	rates   *limit.Table
	// writes limits the patches of each namespace.
	writes *limit.Table
	// turns are the turns of the namespaces to send a patch.
	turns *fairslots.Slots[string]
}

// New returns Reports.
func New(o Options) *Reports {
	return &Reports{
		options: o, rates: limit.NewTable(limitedPods, reportRate), writes: limit.NewTable(limitedNamespaces, writeRate),
		turns: fairslots.New[string](fairslots.Options{Slots: concurrentPatches, PerTenant: sameNamespace, Waiting: waitingPatches}),
	}
}

// Put serves PUT /v1/health for a pod.
func (h *Reports) Put(w http.ResponseWriter, r *http.Request, pod auth.BoundPod) error {
	if err := h.admit(pod); err != nil {
		return err
	}
	report, err := readReport(w, r)
	if err != nil {
		return err
	}
	if err := h.write(r.Context(), pod, report); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// NotPut answers other methods of the path of Put.
func NotPut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Allow", http.MethodPut)
	apierror.MethodNotAllowed("a health report is written; use PUT").Write(w)
}

// admit returns an error if the rate limit of a pod refuses a request.
func (h *Reports) admit(pod auth.BoundPod) error {
	return h.take(h.rates, pod.UID, "this pod sends too many reports; wait and send only the last one")
}

// admitPatch returns an error if the rate limit of a namespace refuses a patch of a pod. It keeps pods whose reports
// always differ from keeping the API server busy.
func (h *Reports) admitPatch(namespace string) error {
	return h.take(h.writes, namespace, writesTooOften)
}

const writesTooOften = "the reports of the pods of this namespace change too often; send the last one again later"

func (h *Reports) take(from *limit.Table, name, refusal string) error {
	now := h.options.Clock.Now()
	bucket := from.Bucket(a2a.AccountingPrincipal{Principal: name}, now)
	if bucket.Take(now) {
		return nil
	}
	return h.refuse(bucket.Refusal(now).Wait, refusal)
}

func (h *Reports) refuse(wait time.Duration, refusal string) error {
	h.options.Limited.Inc()
	return apierror.TooMany(wait, refusal)
}

// Alive serves POST /v1/alive: it records that a pod reaches the registry. A replica that is not the leader responds with
// the status 202 and closes the connection, so that the sidecar sends the next heartbeat to another replica.
//
// If the pod is known by the signature of its token alone, it has the UID of its ServiceAccount. Unlike a TokenReview, a
// signature does not show whether the ServiceAccount still exists.
func (h *Reports) Alive(w http.ResponseWriter, r *http.Request, pod auth.BoundPod) error {
	if pod.AccountUID != "" {
		if err := h.accountExists(r.Context(), pod); err != nil {
			return err
		}
	}
	if _, err := h.pod(r.Context(), pod); err != nil {
		return err
	}
	if err := h.admit(pod); err != nil {
		return err
	}
	if h.options.Heartbeats != nil && !h.options.Heartbeats.count(types.UID(pod.UID)) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (h *Reports) accountExists(ctx context.Context, pod auth.BoundPod) error {
	account := &corev1.ServiceAccount{}
	err := h.options.Pods.Get(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Account}, account, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) || err == nil && string(account.UID) != pod.AccountUID {
		return &apierror.Error{
			Status: http.StatusUnauthorized, Code: "Unauthenticated",
			Message: "the ServiceAccount of the token has been deleted; delete the pod, so that it gets a token of the present ServiceAccount",
		}
	}
	if err != nil {
		return fmt.Errorf("get ServiceAccount: %w", err)
	}
	return nil
}

var errUnknownPod = &apierror.Error{
	Status: http.StatusConflict, Code: "UnknownPod",
	Message: "the registry's cache has no pod of an Agent with the name and UID in the token yet; try again",
}

// readReport decodes a report, and validates all members, because the registry writes them into
// a pod. Its errors are *apierror.Error.
func readReport(w http.ResponseWriter, r *http.Request) (*sidecarconfig.HealthReport, error) {
	report := &sidecarconfig.HealthReport{}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReport))
	// Unknown members are ignored, because a newer sidecar may send them.
	if err := decoder.Decode(report); err != nil {
		return nil, apierror.Invalid("body", "must be a health report in JSON, of at most 72 KiB")
	}
	seen := map[sidecarconfig.Dependency]bool{}
	for i := range report.Dependencies {
		d := &report.Dependencies[i]
		switch {
		case !slices.Contains(sidecarconfig.Dependencies, d.Dependency) || seen[d.Dependency]:
			return nil, apierror.Invalid("dependency", "must be a dependency that this version of the registry supports, and must not be repeated")
		case !slices.Contains(sidecarconfig.Causes, d.Cause) || d.Cause == sidecarconfig.CauseHealthy:
			return nil, apierror.Invalid("cause", "must be a cause that this version of the registry supports")
		case len(d.Message) > sidecarconfig.MaxHealthMessage:
			return nil, apierror.Invalid("message", "must have at most 512 bytes")
		}
		d.Message = sidecarconfig.OneLine(d.Message)
		seen[d.Dependency] = true
	}
	if s := report.CardSignatures; s != nil && (len(s.Signatures) == 0 || len(s.Signatures) > signing.MaxSignatures) {
		return nil, apierror.Invalid("cardSignatures", fmt.Sprintf("must have 1 to %d signatures", signing.MaxSignatures))
	}
	return report, nil
}

// write patches the conditions of a pod, and the annotation with the signatures of the card. It
// sends no request for a part that already equals the report. If the cache or the API server has
// no pod with the name and UID, write returns an error with the code UnknownPod.
func (h *Reports) write(ctx context.Context, of auth.BoundPod, report *sidecarconfig.HealthReport) error {
	pod, err := h.pod(ctx, of)
	if err != nil {
		return err
	}
	// The signatures are written even if writing the conditions fails.
	err = errors.Join(h.writeConditions(ctx, pod, report), h.writeSignatures(ctx, pod, report.CardSignatures))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // the pod has been deleted
		return errors.Join(errUnknownPod, err)
	}
	return err
}

// pod returns a copy of the cached pod of an Agent, or errUnknownPod.
func (h *Reports) pod(ctx context.Context, of auth.BoundPod) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	err := h.options.Pods.Get(ctx, types.NamespacedName{Namespace: of.Namespace, Name: of.Name}, pod)
	if apierrors.IsNotFound(err) || err == nil && (string(pod.UID) != of.UID || !names.OwnsPod(pod.Labels[a2av1alpha1.LabelAgent], pod)) {
		return nil, errUnknownPod
	}
	if err != nil {
		return nil, fmt.Errorf("get pod: %w", err)
	}
	return pod, nil
}

// writeConditions patches the conditions of a pod that differ from the report.
func (h *Reports) writeConditions(ctx context.Context, pod *corev1.Pod, report *sidecarconfig.HealthReport) error {
	changed := changedConditions(pod.Status.Conditions, report, metav1.NewTime(h.options.Clock.Now()))
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
	return h.patch(ctx, pod, func(ctx context.Context, of *metav1.PartialObjectMetadata) error {
		if err := h.options.Status.Patch(ctx, of, client.RawPatch(types.StrategicMergePatchType, patch)); err != nil {
			return fmt.Errorf("patch status of pod: %w", err)
		}
		return nil
	})
}

// patch calls send when it is the turn of a pod's namespace. It receives the name of the pod, and not the pod, so that the API server answers
// with the metadata only: the rest may decode to 24 times its encoded size.
func (h *Reports) patch(ctx context.Context, pod *corev1.Pod, send func(ctx context.Context, of *metav1.PartialObjectMetadata) error) error {
	release, err := h.awaitTurn(ctx, pod.Namespace)
	if err != nil {
		return err
	}
	defer release()
	// A report that has waited in vain costs no token.
	if err := h.admitPatch(pod.Namespace); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patchTimeout)
	defer cancel()
	of := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	of.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	return send(ctx, of)
}

// awaitTurn waits for the turn of a namespace to send a patch. It returns an error at once if the rate limit would refuse the patch.
func (h *Reports) awaitTurn(ctx context.Context, namespace string) (release func(), err error) {
	now := h.options.Clock.Now()
	if bucket := h.writes.Bucket(a2a.AccountingPrincipal{Principal: namespace}, now); bucket.Empty(now) {
		return nil, h.refuse(bucket.Refusal(now).Wait, writesTooOften)
	}
	waiting, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	release, err = h.turns.Acquire(waiting, namespace)
	switch {
	case err == nil:
		return release, nil
	case ctx.Err() != nil: // the sidecar does not wait any more
		return nil, fmt.Errorf("wait for the turn to patch a pod: %w", err)
	default:
		return nil, h.refuse(time.Second, "too many reports of pods wait; send the last one again later")
	}
}

// writeSignatures writes the annotation with the signatures of the card. If the sidecar does not
// sign the card, or the signatures are too long, it deletes the annotation.
func (h *Reports) writeSignatures(ctx context.Context, pod *corev1.Pod, s *sidecarconfig.CardSignatures) error {
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
	return h.patch(ctx, pod, func(ctx context.Context, of *metav1.PartialObjectMetadata) error {
		if err := h.options.Annotations.Patch(ctx, of, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(a2av1alpha1.FieldOwnerRegistry)); err != nil {
			return fmt.Errorf("patch annotation of pod: %w", err)
		}
		return nil
	})
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
