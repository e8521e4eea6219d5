// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claim decides which of several operators manages an object.
//
// The field status.operator of an Agent or AgentSkill names its operator. Another operator that watches the object
// leaves it alone, unless a user names this operator in an annotation of the object, or the Lease of the object's
// operator is no longer renewed (docs/adr/0047-one-operator-for-an-agent.md).
package claim

import (
	"context"
	"fmt"
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
	// Recheck is the time after which an object of another operator is looked at again without an event.
	Recheck = time.Minute
	// readEvery is the time for which a Lease that was read counts as current.
	readEvery = 30 * time.Second
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
	// version is the resource version of the Lease, "" if it is missing, since the time at which it was first seen, and
	// read the time at which it was last read.
	version     string
	since, read time.Time
}

// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get

// New returns the Claims of the operator with a name in a namespace. leases reads Leases from the API server.
func New(namespace, name string, leases client.Reader, passive clock.PassiveClock) *Claims {
	return &Claims{
		self: namespace + "/" + name, leases: leases, clock: passive,
		seen: memo.New[string, struct{}, observation](maxOperators, passive),
	}
}

// Self returns the name of the operator as it stands in status.operator, "" for nil Claims.
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
	gone, err := c.Gone(ctx, holder)
	if err != nil {
		return Foreign, err
	}
	if gone {
		return Free, nil
	}
	return Foreign, nil
}

// Gone reports whether an operator is gone. An operator whose Lease may not be read is not.
func (c *Claims) Gone(ctx context.Context, operator string) (bool, error) {
	namespace, name, ok := strings.Cut(operator, "/")
	if !ok {
		return true, nil // not the name of an operator
	}
	now := c.clock.Now()
	last, known := c.seen.Get(operator, struct{}{})
	if known && now.Sub(last.read) < readEvery {
		return now.Sub(last.since) >= GoneAfter, nil
	}
	lease := &coordinationv1.Lease{}
	err := c.leases.Get(ctx, client.ObjectKey{Namespace: namespace, Name: LeaseName(name)}, lease)
	if apierrors.IsForbidden(err) {
		return false, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("get the Lease of operator %s: %w", operator, err)
	}
	if !known || last.version != lease.ResourceVersion {
		last = observation{version: lease.ResourceVersion, since: now}
	}
	last.read = now
	c.seen.Put(operator, struct{}{}, last, time.Time{})
	return now.Sub(last.since) >= GoneAfter, nil
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
