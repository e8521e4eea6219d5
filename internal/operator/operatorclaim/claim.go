// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operatorclaim decides which of several operators manages an object.
//
// The field status.operator of an Agent or AgentSkill names its operator. Another operator that watches the object
// leaves it alone, unless a user names this operator in an annotation of the object, or the Lease of the object's
// operator is no longer renewed (docs/adr/0047-one-operator-for-an-agent.md).
package operatorclaim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/memo"
)

const (
	// GoneAfter is the time for which the Lease of an operator must be missing or unchanged until the operator counts
	// as gone. It is longer than a restart of its pod on another node takes.
	GoneAfter = 5 * time.Minute
	// Recheck is the time after which an object that two operators watch is reconciled again without an event.
	Recheck = time.Minute
	// readEvery is the time for which a Lease that was read counts as current, and justRead the time for which it does if
	// it shows that its operator is gone.
	readEvery = 30 * time.Second
	justRead  = time.Second
	// maxOperators bounds the operators whose Leases are remembered.
	maxOperators = 64
)

// LeaseName returns the name of the Lease of the operator with a name. The Lease is in the namespace of the operator.
func LeaseName(name string) string { return name + "-manager" }

// Claims decides for one operator. It is safe for concurrent use. A nil Claims has no other operators beside it.
type Claims struct {
	self   string
	leases client.Reader
	clock  clock.PassiveClock
	seen   *memo.Memo[string, struct{}, observation]
}

// observation is what was seen of the Lease of an operator.
type observation struct {
	// version is the resource version of the Lease, "" if it is missing or cannot be read, since the time from which it
	// was seen without a gap, and read the time at which it was last read.
	version     string
	since, read time.Time
	// watched has the labels of LeaseLabels.
	watched map[string]string
}

// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get

// New returns the Claims of the operator with a name in a namespace. leases reads Leases from the API server.
func New(namespace, name string, leases client.Reader, passive clock.PassiveClock) *Claims {
	return &Claims{
		self: namespace + "/" + name, leases: leases, clock: passive,
		seen: memo.New[string, struct{}, observation](maxOperators, passive),
	}
}

// Self returns the name of the operator in status.operator, "" for nil Claims.
func (c *Claims) Self() string {
	if c == nil {
		return ""
	}
	return c.self
}

// Decision is the decision about one object.
type Decision int

const (
	// Held means that the operator manages the object already.
	Held Decision = iota
	// Free means that the operator shall claim the object: no other one manages it any more.
	Free
	// Foreign means that another operator manages the object.
	Foreign
)

// Decide decides about an object whose status names holder as its operator.
func (c *Claims) Decide(ctx context.Context, object metav1.Object, holder string) (Decision, error) {
	if c == nil || holder == c.self {
		return Held, nil
	}
	if holder == "" || object.GetAnnotations()[a2av1alpha1.AnnotationOperator] == c.self {
		return Free, nil
	}
	gone, err := c.Gone(ctx, holder, object.GetNamespace())
	if err != nil {
		return Foreign, err
	}
	if gone {
		return Free, nil
	}
	return Foreign, nil
}

// Gone reports whether an operator manages nothing in a namespace any more: its Lease is missing or unchanged for
// GoneAfter, or says that the operator does not watch the namespace. An operator whose Lease may not be read is not
// gone.
func (c *Claims) Gone(ctx context.Context, operator, namespace string) (bool, error) {
	home, name, ok := strings.Cut(operator, "/")
	if !ok {
		return true, nil // not the name of an operator
	}
	now := c.clock.Now()
	last, known := c.seen.Get(operator, struct{}{})
	if known {
		gone := last.gone(namespace, now)
		if age := now.Sub(last.read); age < justRead || !gone && age < readEvery {
			return gone, nil
		}
	}
	lease := &coordinationv1.Lease{}
	err := c.leases.Get(ctx, client.ObjectKey{Namespace: home, Name: LeaseName(name)}, lease)
	next := observation{version: lease.ResourceVersion, watched: watchedLabels(lease.Labels), since: now, read: now}
	if client.IgnoreNotFound(err) == nil && known && last.version == next.version && now.Sub(last.read) <= 2*Recheck {
		next.since = last.since
	}
	c.seen.Put(operator, struct{}{}, next, time.Time{})
	switch {
	case apierrors.IsForbidden(err):
		return false, nil
	case client.IgnoreNotFound(err) != nil:
		return false, fmt.Errorf("get the Lease of operator %s: %w", operator, err)
	}
	return next.gone(namespace, now), nil
}

// gone reports whether the observation shows that the operator manages nothing in a namespace.
func (o *observation) gone(namespace string, now time.Time) bool {
	if now.Sub(o.since) >= GoneAfter {
		return true
	}
	list := o.watched[labelWatches]
	return list != "" && list != watchesAll && o.watched[labelNamespace+namespace] != list
}

const (
	// labelWatches, on a Lease, has the id of the list of namespaces that the operator watches, or watchesAll. Each
	// namespace of the list has a label labelNamespace with the same id. A label of an earlier list, which client-go
	// does not remove, has another id.
	labelWatches   = "a2a-operator.dev/watches"
	labelNamespace = "namespace.a2a-operator.dev/"
	watchesAll     = "all"
	// maxListed bounds the namespaces on a Lease, which the leader writes each second. An operator with more namespaces
	// counts as one that watches all.
	maxListed = 100
)

// LeaseLabels returns the labels of the Lease of an operator that watches some namespaces, or all if there are none.
func LeaseLabels(namespaces []string) map[string]string {
	if len(namespaces) == 0 || len(namespaces) > maxListed {
		return map[string]string{labelWatches: watchesAll}
	}
	hash := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(namespaces)), ",")))
	id := hex.EncodeToString(hash[:8])
	labels := map[string]string{labelWatches: id}
	for _, namespace := range namespaces {
		labels[labelNamespace+namespace] = id
	}
	return labels
}

// watchedLabels returns the labels of a Lease that LeaseLabels sets.
func watchedLabels(labels map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range labels {
		if key == labelWatches || strings.HasPrefix(key, labelNamespace) {
			kept[key] = value
		}
	}
	return kept
}

// Left returns the condition of an object that the operator leaves to holder.
func (c *Claims) Left(kind, holder string) metav1.Condition {
	return metav1.Condition{
		Type: a2av1alpha1.ConditionManagedByAnotherOperator, Status: metav1.ConditionTrue, Reason: a2av1alpha1.ReasonManagedByAnotherOperator,
		Message: fmt.Sprintf(observedBy+"%[1]s watches this %[2]s, too, and leaves it alone, because %[3]s manages it. If %[1]s shall manage it, set the annotation %[4]s "+
			"of the %[2]s to %[1]s; otherwise restrict the namespaces of %[1]s (watchNamespaces) or remove it", c.self, kind, holder, a2av1alpha1.AnnotationOperator),
	}
}

// observedBy is the beginning of the message of Left.
const observedBy = "Operator "

// Observer returns the operator that has set a condition of Left.
func Observer(condition *metav1.Condition) string {
	operator, _, _ := strings.Cut(strings.TrimPrefix(condition.Message, observedBy), " ")
	return operator
}
