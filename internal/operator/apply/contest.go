// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/operator/pagedlist"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

const (
	// A field is contested if others set it contestedTimes times within contestWindow, and the Applier set it
	// back each time. It is contested until contestWindow after the last time.
	contestedTimes = 3
	contestWindow  = 5 * time.Minute
	// maxContests bounds the owners with fields that others set, and maxContestedFields the fields of one.
	maxContests        = 4 << 10
	maxContestedFields = 8
	// maxAutoscalers bounds the HorizontalPodAutoscalers of a namespace that one read reads.
	maxAutoscalers = 100
	// replicasField is the field that HorizontalPodAutoscalers set.
	replicasField = "spec.replicas"
)

// contest is a field that others set. It is immutable.
type contest struct {
	state.Contest
	// times are the last times at which the Applier set the field back.
	times [contestedTimes]time.Time
}

// decided reports whether the field is contested.
func (c *contest) decided(now time.Time) bool {
	last := c.times[contestedTimes-1]
	return last.Sub(c.times[0]) < contestWindow && now.Sub(last) < contestWindow
}

// Contested returns the fields of the objects of an owner that others set again and again, and the delay after
// which the result may be another one without an event; 0 for none.
func (a *Applier) Contested(owner types.UID) (contests []state.Contest, recheck time.Duration) {
	now := a.config.Clock.Now()
	known, _ := a.contests.Get(owner, struct{}{})
	for i := range known {
		if c := &known[i]; c.decided(now) {
			contests = append(contests, c.Contest)
			if left := contestWindow - now.Sub(c.times[contestedTimes-1]); recheck == 0 || left < recheck {
				recheck = left
			}
		}
	}
	return contests, recheck
}

// reverted records that the Applier set a field back. If the API server did not keep the value, the field is contested
// at once: an admission webhook or a policy changes it in each write.
func (a *Applier) reverted(owner types.UID, field state.Contest, kept bool) {
	now := a.config.Clock.Now()
	known, _ := a.contests.Get(owner, struct{}{})
	next := slices.DeleteFunc(slices.Clone(known), func(c contest) bool { return now.Sub(c.times[contestedTimes-1]) >= contestWindow })
	at := slices.IndexFunc(next, func(c contest) bool { return c.Kind == field.Kind && c.Field == field.Field })
	if at < 0 {
		if len(next) == maxContestedFields {
			return
		}
		at = len(next)
		next = append(next, contest{})
	}
	c := &next[at]
	field.Manager = cmp.Or(field.Manager, c.Manager)
	field.Autoscaler = cmp.Or(field.Autoscaler, c.Autoscaler)
	field.Undone = !kept
	c.Contest = field
	copy(c.times[:], c.times[1:])
	c.times[contestedTimes-1] = now
	if !kept {
		c.times = [contestedTimes]time.Time{now, now, now}
	}
	a.contests.Put(owner, struct{}{}, next, now.Add(contestWindow))
}

// foreignChange returns the field of an object that another program has changed since the operator applied it, and
// false if there is none. From the second change of the field on, it also names the manager of the field.
func (a *Applier) foreignChange(ctx context.Context, owner Owner, o Object, sent map[string]any) (state.Contest, bool) {
	have, err := members(o.current)
	if err != nil {
		return state.Contest{}, false
	}
	field := differingField("", sent, have)
	if field == "" {
		return state.Contest{}, false
	}
	return a.named(ctx, owner, o, sent, field), true
}

// named returns the change of a field. From the second change on, it names the manager of the field.
func (a *Applier) named(ctx context.Context, owner Owner, o Object, sent map[string]any, field string) state.Contest {
	change := state.Contest{Kind: o.kind(), Name: o.name, Field: field}
	known, _ := a.contests.Get(owner.UID, struct{}{})
	if slices.ContainsFunc(known, func(c contest) bool { return c.Kind == change.Kind && c.Field == field && c.Manager == "" }) {
		change.Manager = a.managerOf(ctx, o, sent, field)
		if field == replicasField {
			change.Autoscaler = a.autoscalerOf(ctx, o)
		}
	}
	return change
}

// managerOf returns the manager of a field in the API server, by a live read, because the caches have no managed
// fields. It returns "" if there is none besides the operator, or if the read fails.
func (a *Applier) managerOf(ctx context.Context, o Object, sent map[string]any, field string) string {
	if a.config.Live == nil {
		return ""
	}
	apiVersion, _ := sent["apiVersion"].(string)
	kind, _ := sent["kind"].(string)
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind))
	manager := ""
	err := pagedlist.Each(ctx, a.config.Live, list, 1, func(found runtime.Object) {
		manager = a.managerIn(found.(*metav1.PartialObjectMetadata).ManagedFields, field)
	}, client.InNamespace(o.namespace), client.MatchingFields{"metadata.name": o.name})
	if err != nil {
		return ""
	}
	return manager
}

// managerIn returns the manager that set a field last, "" if there is none besides the operator.
func (a *Applier) managerIn(entries []metav1.ManagedFieldsEntry, field string) string {
	leaf := `"f:` + strings.TrimSuffix(field[strings.LastIndex(field, ".")+1:], "]") + `"`
	manager := ""
	var newest time.Time
	for _, entry := range entries {
		// The status may have a field of the same name.
		if entry.Subresource == "status" || strings.HasPrefix(entry.Manager, a.config.FieldOwner) || entry.FieldsV1 == nil || !strings.Contains(string(entry.FieldsV1.GetRawBytes()), leaf) {
			continue
		}
		if entry.Time != nil && entry.Time.Time.Before(newest) {
			continue
		}
		if entry.Time != nil {
			newest = entry.Time.Time
		}
		manager = safetext.Line(entry.Manager)
		if entry.Subresource != "" {
			manager += " (" + safetext.Line(entry.Subresource) + ")"
		}
	}
	return manager
}

// autoscalerOf returns the HorizontalPodAutoscaler whose target is a Deployment, by a live read, because the caches have
// no content of the objects of others. It returns "" if there is none, or if the read fails.
func (a *Applier) autoscalerOf(ctx context.Context, o Object) string {
	if a.config.Live == nil {
		return ""
	}
	found := ""
	err := pagedlist.Each(ctx, a.config.Live, &autoscalingv2.HorizontalPodAutoscalerList{}, maxAutoscalers, func(each runtime.Object) {
		autoscaler := each.(*autoscalingv2.HorizontalPodAutoscaler)
		if target := &autoscaler.Spec.ScaleTargetRef; found == "" && target.Kind == o.kind() && target.Name == o.name {
			found = strings.Clone(autoscaler.Name)
		}
	}, client.InNamespace(o.namespace))
	if err != nil && !errors.Is(err, pagedlist.ErrTooMany) {
		return ""
	}
	return found
}

// members returns the JSON members of an object.
func members(object any) (map[string]any, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode object: %w", err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("decode object: %w", err)
	}
	return all, nil
}

// unset are members that a typed object of the cache does not have, or that the API server sets.
var unset = []string{"apiVersion", "kind", "metadata.resourceVersion", "metadata.uid"}

// differingField returns the path of the first field that is set in want and has another value in have, "" for none.
func differingField(path string, want, have any) string {
	switch want := want.(type) {
	case map[string]any:
		present, _ := have.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(want)) {
			at := strings.TrimPrefix(path+"."+key, ".")
			if slices.Contains(unset, at) {
				continue
			}
			if field := differingField(at, want[key], present[key]); field != "" {
				return field
			}
		}
		return ""
	case []any:
		present, _ := have.([]any)
		return differingElement(path, want, present)
	default:
		if reflect.DeepEqual(want, have) || sameNumber(want, have) || sameQuantity(want, have) || have == nil && isOmitted(want) {
			return ""
		}
		return path
	}
}

// differingElement is differingField for lists.
func differingElement(path string, want, have []any) string {
	for i, element := range want {
		at, other := elementOf(path, i, element, have)
		if other == nil {
			return at
		}
		if field := differingField(at, element, other); field != "" {
			return field
		}
	}
	return ""
}

// elementOf returns the path of an element of a list and the element of the other list that corresponds to it, nil for
// none. Elements correspond if they have the same name, else by their position.
func elementOf(path string, i int, element any, present []any) (at string, other any) {
	if object, is := element.(map[string]any); is {
		if name, named := object["name"].(string); named {
			at = fmt.Sprintf("%s[%s]", path, name)
			j := slices.IndexFunc(present, func(e any) bool { p, _ := e.(map[string]any); return p["name"] == name })
			if j < 0 {
				return at, nil
			}
			return at, present[j]
		}
	}
	at = fmt.Sprintf("%s[%d]", path, i)
	if i >= len(present) {
		return at, nil
	}
	return at, present[i]
}

func sameNumber(want, have any) bool {
	a, isNumber := want.(float64)
	b, isOther := have.(int64) // of an unstructured object
	return isNumber && isOther && a == float64(b)
}

func sameQuantity(want, have any) bool {
	a, isText := want.(string)
	b, isOther := have.(string)
	if !isText || !isOther {
		return false
	}
	x, err := resource.ParseQuantity(a)
	if err != nil {
		return false
	}
	y, err := resource.ParseQuantity(b)
	return err == nil && x.Cmp(y) == 0
}

// isOmitted reports whether a value is omitted in the JSON of a typed object.
func isOmitted(value any) bool {
	return value == nil || value == "" || value == false || value == float64(0)
}
