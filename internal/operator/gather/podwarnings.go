// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/operator/memo"
	"github.com/a2a-operator/a2a-operator/internal/operator/pagedlist"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// +kubebuilder:rbac:groups="",resources=events,verbs=list

const (
	// maxEvents bounds the events of a pod that one read returns.
	maxEvents = 50
	// warningAge is the least time between two reads of the events of a pod.
	warningAge = time.Minute
	// warningReads bounds the reads for all pods together in each warningWindow.
	warningReads  = 20
	warningWindow = 10 * time.Second
	// maxWarnings bounds the warnings in memory. maxWarning bounds one, in bytes.
	maxWarnings = 4 << 10
	maxWarning  = 512
)

// PodWarnings reads the events of pods that do not start. No field of such a pod says why. It is
// safe for concurrent use.
//
// It sends no request for an Agent whose pods start. For a pod that has not started for
// state.StartGrace, it lists the pod's events at most once in a minute, and for all pods
// together at most 20 times in ten seconds, which the namespaces share.
type PodWarnings struct {
	live  client.Reader
	clock clock.PassiveClock
	reads readShares
	known *memo.Memo[memo.Object, struct{}, string]
}

// NewPodWarnings returns a PodWarnings that reads from the API server by live.
func NewPodWarnings(live client.Reader, passive clock.PassiveClock) *PodWarnings {
	return &PodWarnings{
		live: live, clock: passive, known: memo.New[memo.Object, struct{}, string](maxWarnings, passive),
	}
}

// readShares shares the reads of a warningWindow among the namespaces that ask for one. One share is always left for a namespace that
// has not asked yet. Half of the reads are for those that have waited for longest: with more namespaces than reads, those that ask first in
// each window would otherwise have them all. It is safe for concurrent use.
type readShares struct {
	mu    sync.Mutex
	began time.Time
	// used is the number of reads of each namespace that has asked in this window, and total their sum. before has the namespaces that
	// asked in the window before.
	used   map[string]int
	total  int
	before map[string]int
	// waiting has the namespaces that have asked in vain, and have not read since.
	waiting map[string]wait
}

// wait is the time of the first and of the last question of a namespace that waits. It ends a warningAge after the last one.
type wait struct{ first, last time.Time }

// take reports whether a namespace may read at a time.
func (r *readShares) take(namespace string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if past := now.Sub(r.began); past >= warningWindow || r.used == nil {
		r.before = r.used
		if past >= 2*warningWindow {
			r.before = nil
		}
		r.began = now
		r.used = map[string]int{}
		r.total = 0
		maps.DeleteFunc(r.waiting, func(_ string, w wait) bool { return now.Sub(w.last) > warningAge })
	}
	if _, asked := r.used[namespace]; !asked {
		r.used[namespace] = 0
	}
	asking := len(r.used)
	for other := range r.before {
		if _, again := r.used[other]; !again {
			asking++
		}
	}
	if r.total >= warningReads || r.used[namespace] >= max(1, warningReads/(asking+1)) {
		r.wait(namespace, now)
		return false
	}
	if r.total >= warningReads/2 && r.waitLonger(namespace, now) >= warningReads-r.total {
		r.wait(namespace, now)
		return false
	}
	delete(r.waiting, namespace)
	r.used[namespace]++
	r.total++
	return true
}

// wait notes that a namespace waits, unless it has read in this window. r.mu must be held.
func (r *readShares) wait(namespace string, now time.Time) {
	if r.used[namespace] > 0 {
		return
	}
	if r.waiting == nil {
		r.waiting = map[string]wait{}
	}
	first := now
	if known, waits := r.waiting[namespace]; waits {
		first = known.first
	}
	r.waiting[namespace] = wait{first, now}
}

// waitLonger returns the number of namespaces that have waited for longer than a namespace. r.mu must be held.
func (r *readShares) waitLonger(namespace string, now time.Time) (longer int) {
	since := now
	if known, waits := r.waiting[namespace]; waits {
		since = known.first
	}
	for _, other := range r.waiting {
		if other.first.Before(since) {
			longer++
		}
	}
	return longer
}

// of returns the newest warning of each pod that does not start. It omits pods without a warning. If
// their events cannot be read, it logs the error: the status of the Agent does without them.
func (w *PodWarnings) of(ctx context.Context, pods []corev1.Pod) map[types.UID]string {
	if w == nil {
		return nil
	}
	var warnings map[types.UID]string
	for i := range pods {
		pod := &pods[i]
		since, waits := state.NotStarted(pod)
		if !waits || w.clock.Now().Sub(since) < state.StartGrace {
			continue
		}
		text, known := w.known.Get(memo.KeyOf(pod), struct{}{})
		if !known && w.reads.take(pod.Namespace, w.clock.Now()) {
			var err error
			if text, err = w.read(ctx, pod); err != nil {
				log.FromContext(ctx).Error(err, "reading the events of a pod failed", "pod", client.ObjectKeyFromObject(pod))
			}
			w.known.Put(memo.KeyOf(pod), struct{}{}, text, w.clock.Now().Add(warningAge))
		}
		if text != "" {
			if warnings == nil {
				warnings = map[types.UID]string{}
			}
			warnings[pod.UID] = text
		}
	}
	return warnings
}

func (w *PodWarnings) read(ctx context.Context, pod *corev1.Pod) (string, error) {
	var all []corev1.Event
	err := pagedlist.Each(ctx, w.live, &corev1.EventList{}, maxEvents, func(o runtime.Object) {
		e := o.(*corev1.Event)
		all = append(all, corev1.Event{
			ObjectMeta: metav1.ObjectMeta{CreationTimestamp: e.CreationTimestamp},
			Type:       kept(e.Type), Reason: kept(e.Reason), Message: kept(e.Message),
			FirstTimestamp: e.FirstTimestamp, LastTimestamp: e.LastTimestamp, EventTime: e.EventTime, Series: e.Series,
		})
	}, client.InNamespace(pod.Namespace), client.MatchingFields{"involvedObject.uid": string(pod.UID)})
	if err != nil && !errors.Is(err, pagedlist.ErrTooMany) {
		return "", fmt.Errorf("list events: %w", err)
	}
	return newestWarning(all), nil
}

// maxEventText bounds what is kept of a text of an event until the newest one is known, in bytes. The API server bounds no text of an event.
const maxEventText = 4 << 10

func kept(text string) string { return strings.Clone(safetext.Clip(text, maxEventText)) }

// vague is the beginning of the kubelet's message that follows the message with the cause.
const vague = "Unable to attach or mount volumes"

// newestWarning returns the newest event about a pod as "reason: message" if it is a warning, else "".
// An event that is older than the newest one, such as a failed mount that then succeeded, is no cause.
func newestWarning(events []corev1.Event) string {
	events = slices.DeleteFunc(events, func(e corev1.Event) bool {
		return e.Reason == "FailedScheduling" || strings.HasPrefix(e.Message, vague) // the pod is scheduled
	})
	if len(events) == 0 {
		return ""
	}
	newest := slices.MaxFunc(events, func(a, b corev1.Event) int { return cmp.Compare(lastSeen(&a).UnixNano(), lastSeen(&b).UnixNano()) })
	if newest.Type != corev1.EventTypeWarning {
		return ""
	}
	text := identifier.ReplaceAllString(strings.Join(strings.Fields(newest.Message), " "), "…")
	return safetext.Clip(safetext.Line(newest.Reason+": "+text), maxWarning-len("…"))
}

// identifier matches an id that is another one in each attempt, such as that of a sandbox. Without it, the
// status of the Agent does not change with each attempt.
var identifier = regexp.MustCompile(`\b[0-9a-f]{32,}\b`)

// lastSeen returns the last time of an event, in the fields of both APIs of events.
func lastSeen(e *corev1.Event) time.Time {
	last := e.LastTimestamp.Time
	if e.Series != nil {
		last = e.Series.LastObservedTime.Time
	}
	for _, other := range []time.Time{e.EventTime.Time, e.FirstTimestamp.Time, e.CreationTimestamp.Time} {
		if last.IsZero() {
			last = other
		}
	}
	return last
}
