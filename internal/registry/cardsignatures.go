// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
	"github.com/a2a-operator/a2a-operator/internal/kit/sharedcache"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// signaturesHeader is a header of a response with a card. It has the value signaturesOmitted if the
// Agent signs its card, but the card in the response has no signatures.
const (
	signaturesHeader  = "A2A-Card-Signatures"
	signaturesOmitted = "omitted"
)

// cardSignatures finds the signatures that sidecars report for the cards that they serve.
type cardSignatures struct {
	// objects reads Agents and pods from the manager's cache, which has the index names.PodsByAgent.
	objects client.Reader
	// verified caches the results of verify, and the namespaces share it: whether the report of a pod is valid for a card.
	// The keys are the digests of the card and of the report.
	verified *sharedcache.Cache[string, reportKey, bool]
	// verifications is a concurrency limiter with one slot: only one report is verified at a time. The namespaces of the
	// agents take turns, because the author of an agent can make verifications expensive.
	// Searches have other slots, so a verification does not delay them.
	verifications *slots
}

// reportKey has the digests of a card and of a report.
type reportKey [2][sha256.Size]byte

// rememberedVerifications bounds the results in verified.
const rememberedVerifications = 4096

func newCardSignatures(objects client.Reader) *cardSignatures {
	return &cardSignatures{objects: objects, verified: sharedcache.New[string, reportKey, bool](rememberedVerifications), verifications: newSlots(1)}
}

// of returns valid signatures of the card of the agent e that a pod of the agent reports. If the Agent signs its
// card but no pod reports valid signatures, omitted is true: the pods have not read this card yet,
// or no pod runs. If the Agent does not sign its card or does not exist, signatures is nil and
// omitted is false. If of waits longer than searchTimeout for the verifications of other cards, it returns an error
// with the status 503.
func (s *cardSignatures) of(ctx context.Context, e *index.Entry) (signatures []card.Signature, omitted bool, err error) {
	served, ok := e.SidecarCard()
	if !ok {
		return nil, false, nil
	}
	agent := &a2av1alpha1.Agent{}
	if err := s.objects.Get(ctx, types.NamespacedName(e.Key), agent, client.UnsafeDisableDeepCopy); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("get Agent: %w", err)
	}
	if agent.Spec.CardSigning == nil {
		return nil, false, nil
	}
	pods := &corev1.PodList{}
	if err := s.objects.List(ctx, pods, client.InNamespace(e.Key.Namespace), client.MatchingFields{names.PodsByAgent: e.Key.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, false, fmt.Errorf("list pods: %w", err)
	}
	reports := reportsOf(e.Key.Name, pods.Items)
	if len(reports) == 0 {
		return nil, true, nil
	}
	v := verification{of: s, namespace: e.Key.Namespace, card: served, digest: served.Digest()}
	waiting, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	for _, report := range reports {
		signatures, err := v.verify(waiting, report.text)
		if err != nil {
			return nil, false, err
		}
		if signatures != nil {
			return signatures, false, nil
		}
	}
	return nil, true, nil
}

// verification verifies reports for a card.
type verification struct {
	of        *cardSignatures
	namespace string
	card      index.SidecarCard
	digest    [sha256.Size]byte
}

// verify returns the signatures of a report if they are valid for the card, else nil. It waits for its turn until ctx ends, and then
// returns an error with the status 503.
func (v *verification) verify(ctx context.Context, report string) ([]card.Signature, error) {
	var reported sidecarconfig.CardSignatures
	if json.Unmarshal([]byte(report), &reported) != nil {
		return nil, nil //nolint:nilerr // a report that cannot be read has no signatures
	}
	key := reportKey{v.digest, sha256.Sum256([]byte(report))}
	valid, found := v.of.verified.Get(key)
	if !found {
		var err error
		if valid, err = v.verifyInTurn(ctx, key, &reported); err != nil {
			return nil, err
		}
	}
	if !valid {
		return nil, nil
	}
	return reported.Signatures, nil
}

// verifyInTurn returns the value in verified for a key, after it has waited for its turn.
func (v *verification) verifyInTurn(ctx context.Context, key reportKey, reported *sidecarconfig.CardSignatures) (valid bool, err error) {
	release, err := v.of.verifications.Acquire(ctx, a2a.AccountingPrincipal{Principal: v.namespace})
	if errors.Is(err, context.Canceled) {
		return false, err // the client has left
	}
	if err != nil {
		return false, busy("card_verifications", "the registry verifies signatures of other cards; try again")
	}
	defer release()
	// While this request waited for the slot, another request may have verified the same
	// report for the same card.
	if valid, found := v.of.verified.Get(key); found {
		return valid, nil
	}
	c, err := v.card.Decode()
	if err != nil {
		return false, err
	}
	valid = signing.Verify(c, reported.Signatures, reported.Keys) == nil
	v.of.verified.Put(v.namespace, key, valid, 1)
	return valid, nil
}

// podReport is the report of a pod on the signatures of its card.
type podReport struct {
	text    string
	created time.Time
}

// maxReportsRead bounds the reports of an agent's pods that one request verifies.
const maxReportsRead = 8

// reportsOf returns at most maxReportsRead reports of pods of an agent that are ready and are not being
// deleted, those of the newest pods first. It omits pods that only have the
// agent's label, a report that equals the report before it, and reports that are longer than any
// report of a sidecar.
func reportsOf(agent string, pods []corev1.Pod) []podReport {
	var all []podReport
	for i := range pods {
		pod := &pods[i]
		text := pod.Annotations[a2av1alpha1.AnnotationCardSignatures]
		if text != "" && len(text) <= sidecarconfig.MaxCardSignatures && pod.DeletionTimestamp == nil && isReady(pod) && names.OwnsPod(agent, pod) {
			all = append(all, podReport{text, pod.CreationTimestamp.Time})
		}
	}
	// The report of the newest pod is first, because the newest pod has read the present keys if
	// any pod has.
	slices.SortFunc(all, func(a, b podReport) int {
		return cmp.Or(b.created.Compare(a.created), cmp.Compare(a.text, b.text))
	})
	all = slices.CompactFunc(all, func(a, b podReport) bool { return a.text == b.text })
	return all[:min(len(all), maxReportsRead)]
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
