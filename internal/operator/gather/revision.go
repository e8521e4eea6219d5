// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/memo"
	"github.com/a2a-operator/a2a-operator/internal/operator/pagedlist"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

const (
	// maxRevisions bounds the memo of revisions that run.
	maxRevisions = 1024
	// missingRevision is how long a revision counts as missing before the next read.
	missingRevision = 30 * time.Second
	// RevisionsRecheck is the delay after which the operator reads the revisions of an Agent again that has too many.
	RevisionsRecheck = time.Minute
	// maxListedRevisions bounds the ControllerRevisions with the label of one Agent, and maxKept those that the Agent controls. The
	// operator keeps ten. Whoever may create ControllerRevisions may create any number of both.
	maxListedRevisions = state.MaxListedRevisions
	maxKept            = state.MaxKeptRevisions
)

// Revisions remembers the kept revisions that run in place of a spec. The content of a ControllerRevision is immutable.
type Revisions struct {
	clock clock.PassiveClock
	read  *memo.Memo[memo.Object, int64, *state.Revision]
	// tooMany has the Agents with more revisions than the operator reads: each read of them costs much.
	tooMany *memo.Memo[memo.Object, struct{}, error]
}

// NewRevisions returns Revisions.
func NewRevisions(passive clock.PassiveClock) *Revisions {
	return &Revisions{
		clock: passive, read: memo.New[memo.Object, int64, *state.Revision](maxRevisions, passive),
		tooMany: memo.New[memo.Object, struct{}, error](maxRevisions, passive),
	}
}

// revision returns the revision that an Agent names, or the last good one after a failed rollout. It returns nil if neither
// is wanted.
func (g *Gatherer) revision(ctx context.Context, agent *a2av1alpha1.Agent) (*state.Revision, error) {
	number := wantedRevision(agent)
	if number == 0 {
		return nil, nil
	}
	if g.Revisions != nil {
		if known, ok := g.Revisions.read.Get(memo.KeyOf(agent), number); ok {
			return known, nil
		}
	}
	kept, err := g.KeptRevisions(ctx, agent, number)
	tooMany := errors.Is(err, pagedlist.ErrTooMany)
	if err != nil && !tooMany {
		return nil, err
	}
	found := &state.Revision{Number: number, TooMany: tooMany}
	size := 0
	for i := range kept {
		found.Kept = append(found.Kept, kept[i].Revision)
		if kept[i].Data.Raw == nil {
			continue
		}
		found.Ambiguous = size > 0
		found.Content = contentOf(&kept[i])
		size = len(kept[i].Data.Raw)
	}
	found.Kept = slices.Compact(found.Kept)
	if found.Ambiguous {
		found.Content = nil
	}
	if g.Revisions != nil && size <= state.MaxAgentSpec {
		var expires time.Time
		if found.Content == nil {
			expires = g.Revisions.clock.Now().Add(missingRevision)
		}
		g.Revisions.read.Put(memo.KeyOf(agent), number, found, expires)
	}
	return found, nil
}

// wantedRevision returns the number of the revision that may run in place of the spec, 0 for none.
func wantedRevision(agent *a2av1alpha1.Agent) int64 {
	workload := agent.Spec.Workload
	revisions := agent.Status.Revisions
	switch {
	case workload == nil:
		return 0
	case workload.Revision > 0:
		return workload.Revision
	case revisions != nil && revisions.FailedTemplate != "" && workload.OnFailure == a2av1alpha1.FailureRollBack:
		return revisions.LastGood
	default:
		return 0
	}
}

// KeptRevisions is the function KeptRevisions with the live reader of g. It remembers Agents with too many revisions for
// RevisionsRecheck.
func (g *Gatherer) KeptRevisions(ctx context.Context, agent *a2av1alpha1.Agent, content int64) ([]appsv1.ControllerRevision, error) {
	if g.Revisions == nil {
		return KeptRevisions(ctx, g.Live, agent, content)
	}
	if err, known := g.Revisions.tooMany.Get(memo.KeyOf(agent), struct{}{}); known {
		return nil, err
	}
	kept, err := KeptRevisions(ctx, g.Live, agent, content)
	if errors.Is(err, pagedlist.ErrTooMany) {
		g.Revisions.tooMany.Put(memo.KeyOf(agent), struct{}{}, err, g.Revisions.clock.Now().Add(RevisionsRecheck))
	}
	return kept, err
}

// KeptRevisions reads the revisions of an Agent from the API server, ordered by number and digest, with their digests. The revision with the
// number content has its content, of at most state.MaxRevisionSize. A tenant may create another one with this number: the status of the Agent
// tells which one it means, by its digest. If it does not, two of them have their content. KeptRevisions returns pagedlist.ErrTooMany, wrapped,
// if there are more than the operator reads.
func KeptRevisions(ctx context.Context, live client.Reader, agent *a2av1alpha1.Agent, content int64) ([]appsv1.ControllerRevision, error) {
	var kept []appsv1.ControllerRevision
	contents := map[string]bool{} // by digest
	good := ""
	if status := agent.Status.Revisions; status != nil && status.LastGood == content {
		good = status.LastGoodDigest
	}
	err := pagedlist.Each(ctx, live, &appsv1.ControllerRevisionList{}, maxListedRevisions, func(o runtime.Object) {
		if r := o.(*appsv1.ControllerRevision); metav1.IsControlledBy(r, agent) && len(kept) <= maxKept {
			stripped := strippedRevision(r)
			digest := stripped.Annotations[a2av1alpha1.AnnotationRevisionDigest]
			if isWanted := good == "" || digest == good; r.Revision == content && isWanted && len(contents) < 2 && !contents[digest] && contentOf(r) != nil {
				stripped.Data.Raw = r.Data.Raw
				contents[digest] = true
			}
			kept = append(kept, stripped)
		}
	}, client.InNamespace(agent.Namespace), client.MatchingLabels{a2av1alpha1.LabelAgent: agent.Name})
	if err == nil && len(kept) > maxKept {
		err = fmt.Errorf("%w: the Agent controls more than %d", pagedlist.ErrTooMany, maxKept)
	}
	if err != nil {
		return nil, fmt.Errorf("list ControllerRevisions of Agent %s/%s: %w", agent.Namespace, agent.Name, err)
	}
	slices.SortFunc(kept, func(a, b appsv1.ControllerRevision) int {
		digest := func(r *appsv1.ControllerRevision) string { return r.Annotations[a2av1alpha1.AnnotationRevisionDigest] }
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), cmp.Compare(digest(&a), digest(&b)), cmp.Compare(a.Name, b.Name))
	})
	return kept, nil
}

// strippedRevision returns the parts of a ControllerRevision that the operator reads, without its content.
func strippedRevision(r *appsv1.ControllerRevision) appsv1.ControllerRevision {
	stripped := appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: r.Namespace, Name: r.Name, UID: r.UID,
			// The API server bounds no text of an owner reference.
			OwnerReferences: []metav1.OwnerReference{{UID: metav1.GetControllerOf(r).UID, Controller: new(true)}},
		},
		Revision: r.Revision,
	}
	if digest := r.Annotations[a2av1alpha1.AnnotationRevisionDigest]; len(digest) <= maxDigest {
		stripped.Annotations = map[string]string{a2av1alpha1.AnnotationRevisionDigest: strings.Clone(digest)}
	}
	return stripped
}

// maxDigest is the length of the longest digest of a revision, in bytes.
const maxDigest = 64

// contentOf returns the content of a ControllerRevision, or nil if the operator did not write it.
func contentOf(revision *appsv1.ControllerRevision) *state.RevisionContent {
	if state.RevisionExceeds(revision.Data.Raw) {
		return nil
	}
	content := &state.RevisionContent{}
	if err := json.Unmarshal(revision.Data.Raw, content); err != nil || content.Spec.Workload == nil {
		return nil
	}
	if _, digest, err := content.Encode(); err != nil || digest != revision.Annotations[a2av1alpha1.AnnotationRevisionDigest] {
		return nil
	}
	return content
}
