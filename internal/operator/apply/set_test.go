// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/operator/pagedlist"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

var (
	kind  = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	owner = Owner{Kind: kind, Name: "thing", UID: "thing-uid"}
	refs  = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Thing", Name: "thing", UID: "thing-uid", Controller: new(true), BlockOwnerDeletion: new(true)}}
)

// writer records the writes and responds with err.
type writer struct {
	kinds []string
	// uids and versions are the preconditions of the recorded applies.
	uids, versions []string
	err            error
	pods           []string
	// undo is true if an admission webhook undoes patches.
	undo bool
	// version is the resource version in the response to an apply.
	version string
	// generation is the generation in it.
	generation int64
	// ownerDeleted is true if the live read does not find the owner.
	ownerDeleted bool
}

func (w *writer) Apply(_ context.Context, obj runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	config, ok := obj.(*corev1ac.ConfigMapApplyConfiguration)
	if !ok {
		return errors.New("not a ConfigMap")
	}
	if config.Annotations["digest"] == "" {
		return errors.New("no digest")
	}
	w.kinds = append(w.kinds, *config.GetKind()+" "+*config.GetName())
	uid := ""
	if config.UID != nil {
		uid = string(*config.UID)
	}
	version := ""
	if config.ResourceVersion != nil {
		version = *config.ResourceVersion
	}
	w.uids, w.versions = append(w.uids, uid), append(w.versions, version)
	config.WithResourceVersion(w.version).WithUID("cm-uid").WithGeneration(w.generation)
	return w.err
}

func (w *writer) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(obj)
	w.pods = append(w.pods, obj.GetName()+" "+string(data))
	if fields := (struct {
		Metadata struct{ Annotations map[string]string }
	}{}); json.Unmarshal(data, &fields) == nil && !w.undo {
		obj.SetAnnotations(fields.Metadata.Annotations)
	}
	obj.SetResourceVersion(w.version)
	return errors.Join(w.err, err)
}

func (w *writer) Delete(_ context.Context, obj client.Object, opts ...client.DeleteOption) error {
	var options client.DeleteOptions
	options.ApplyOptions(opts)
	w.kinds = append(w.kinds, "delete "+obj.GetName()+" "+string(*options.Preconditions.UID))
	return w.err
}

func newApplier(w *writer) *Applier {
	return New(Config{
		Writer: w, FieldOwner: "tester", DigestAnnotation: "digest", OwnerLabel: "owner",
		OwnerExists: func(context.Context, string, Owner) (bool, error) { return !w.ownerDeleted, nil },
		Clock:       testingclock.NewFakePassiveClock(time.Now()),
	})
}

// withoutOwner makes an object of the owner an orphan.
func withoutOwner(cm *corev1.ConfigMap) *corev1.ConfigMap {
	cm.OwnerReferences, cm.Labels = nil, map[string]string{"owner": owner.Name}
	cm.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "tester", Operation: metav1.ManagedFieldsOperationApply}}
	return cm
}

func configMap() *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap("cm", "ns").WithData(map[string]string{"a": "1"})
}

// applied returns the object as the API server stores it after an apply of configMap.
func applied(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	want := configMap().WithOwnerReferences(owner.reference())
	d, err := digest(want)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "cm", UID: "cm-uid", ResourceVersion: "7", OwnerReferences: refs,
			Annotations: map[string]string{"digest": d, "other": "field"},
		},
		Data: map[string]string{"a": "1"},
	}
}

func TestSet(t *testing.T) {
	tests := map[string]struct {
		cached func(*corev1.ConfigMap) *corev1.ConfigMap
		want   state.Written
		writes []string
		uids   []string
		// versions are the expected resource versions in the preconditions of creations and
		// adoptions.
		versions []string
		// ownerDeleted makes the live read not find the owner.
		ownerDeleted bool
		// programmed is the value of Owner.Programmed.
		programmed bool
		err        error
	}{
		"creates a missing object and changes no existing one": {
			want:   state.Written{Changed: []string{"ConfigMap"}, RecheckAfter: createdTimeout},
			writes: []string{"ConfigMap cm"}, uids: []string{""}, versions: []string{noVersion},
		},
		"sends nothing for an object in sync": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap { return cm },
		},
		"repairs a field": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap { cm.Data["a"] = "2"; return cm },
			want:   state.Written{Changed: []string{"ConfigMap"}}, writes: []string{"ConfigMap cm"}, uids: []string{"cm-uid"},
		},
		"repairs a field that was removed": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap { cm.Data = nil; return cm },
			want:   state.Written{Changed: []string{"ConfigMap"}}, writes: []string{"ConfigMap cm"}, uids: []string{"cm-uid"},
		},
		"sends nothing for an object in sync that is being deleted": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap { cm.DeletionTimestamp = new(metav1.Now()); return cm },
		},
		"repairs a field of an object that is being deleted": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap {
				cm.Data["a"], cm.DeletionTimestamp = "2", new(metav1.Now())
				return cm
			},
			want: state.Written{Changed: []string{"ConfigMap"}}, writes: []string{"ConfigMap cm"}, uids: []string{"cm-uid"},
		},
		"repairs a removed field of an object that is being deleted": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap {
				cm.Data, cm.ManagedFields, cm.DeletionTimestamp = nil, nil, new(metav1.Now())
				return cm
			},
			want: state.Written{Changed: []string{"ConfigMap"}}, writes: []string{"ConfigMap cm"}, uids: []string{"cm-uid"},
		},
		"removes a field that is no longer desired": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap { cm.Annotations["digest"] = "older"; return cm },
			want:   state.Written{Changed: []string{"ConfigMap"}}, writes: []string{"ConfigMap cm"}, uids: []string{"cm-uid"},
		},
		"reports an object without an owner as a conflict": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap { cm.OwnerReferences = nil; return cm },
			want:   state.Written{Conflicts: []state.Conflict{{Kind: "ConfigMap", Name: "cm"}}},
		},
		"reports an object that the owner does not control as a conflict": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap {
				cm.OwnerReferences = slices.Clone(refs)
				cm.OwnerReferences[0].Controller = nil
				return cm
			},
			want: state.Written{Conflicts: []state.Conflict{{Kind: "ConfigMap", Name: "cm"}}},
		},
		"adopts an orphan that it wrote": {
			cached: withoutOwner,
			want:   state.Written{Changed: []string{"ConfigMap"}}, writes: []string{"ConfigMap cm"}, uids: []string{"cm-uid"}, versions: []string{"7"},
		},
		"leaves an orphan to an owner that is being deleted": {
			cached: withoutOwner, ownerDeleted: true, err: ErrOwnerGone,
		},
		"creates a deleted object again": {
			programmed: true,
			want:       state.Written{Changed: []string{"ConfigMap"}, RecheckAfter: createdTimeout},
			writes:     []string{"ConfigMap cm"}, uids: []string{""}, versions: []string{noVersion},
		},
		"creates nothing for an owner that is being deleted": {
			programmed: true, ownerDeleted: true, err: ErrOwnerGone,
		},
		"sends no live read when no object is missing": {
			cached:     func(cm *corev1.ConfigMap) *corev1.ConfigMap { return cm },
			programmed: true, ownerDeleted: true,
		},
		"sends no live read for a new owner": {
			ownerDeleted: true,
			want:         state.Written{Changed: []string{"ConfigMap"}, RecheckAfter: createdTimeout},
			writes:       []string{"ConfigMap cm"}, uids: []string{""}, versions: []string{noVersion},
		},
		"reports an orphan of an owner with another name as a conflict": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap {
				withoutOwner(cm).Labels["owner"] = "other"
				return cm
			},
			want: state.Written{Conflicts: []state.Conflict{{Kind: "ConfigMap", Name: "cm"}}},
		},
		"reports a labelled object that another manager wrote as a conflict": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap {
				withoutOwner(cm).ManagedFields[0].Manager = "kubectl"
				return cm
			},
			want: state.Written{Conflicts: []state.Conflict{{Kind: "ConfigMap", Name: "cm"}}},
		},
		"reports an orphan that is being deleted as a conflict": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap {
				withoutOwner(cm).DeletionTimestamp = new(metav1.Now())
				return cm
			},
			want: state.Written{Conflicts: []state.Conflict{{Kind: "ConfigMap", Name: "cm"}}},
		},
		"reports an orphan that another controller adopted as a conflict": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap {
				withoutOwner(cm).OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Other", Name: "o", UID: "o", Controller: new(true)}}
				return cm
			},
			want: state.Written{Conflicts: []state.Conflict{{Kind: "ConfigMap", Name: "cm"}}},
		},
		"reports an object of a deleted owner of the same name as former": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap {
				cm.OwnerReferences = slices.Clone(refs)
				cm.OwnerReferences[0].UID = "former"
				return cm
			},
			want: state.Written{Conflicts: []state.Conflict{{Kind: "ConfigMap", Name: "cm", Former: true}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var cached *corev1.ConfigMap
			if test.cached != nil {
				cached = test.cached(applied(t))
			}
			w := &writer{version: "8", ownerDeleted: test.ownerDeleted}
			owner := owner
			owner.Programmed = test.programmed
			got, err := newApplier(w).Set(t.Context(), owner, Of(configMap(), cached))
			if !errors.Is(err, test.err) {
				t.Fatalf("Set() error = %v, want %v", err, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Set() (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.writes, w.kinds); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.uids, w.uids); diff != "" {
				t.Errorf("UIDs (-want +got):\n%s", diff)
			}
			if test.versions == nil {
				test.versions = make([]string, len(w.versions))
			}
			if diff := cmp.Diff(test.versions, w.versions, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSetWithAMutatingWebhook tests an admission webhook that undoes each change of a field. The
// result does not report the object as changed, because the cache will never show the change.
func TestSetWithAMutatingWebhook(t *testing.T) {
	for version, want := range map[string][]string{"7": nil, "8": {"ConfigMap"}} {
		mutated := applied(t)
		mutated.Data["a"] = "mutated"
		w := &writer{version: version}
		got, err := newApplier(w).Set(t.Context(), owner, Of(configMap(), mutated))
		if err != nil || len(w.kinds) != 1 {
			t.Fatalf("Set() error = %v after %v, want one write", err, w.kinds)
		}
		if diff := cmp.Diff(want, got.Changed); diff != "" {
			t.Errorf("Changed when version 7 becomes %s (-want +got):\n%s", version, diff)
		}
	}
}

// TestSetWhileTheCacheIsBehind checks that a write that the cache does not show yet is not
// repeated.
func TestSetWhileTheCacheIsBehind(t *testing.T) {
	passive := testingclock.NewFakePassiveClock(time.Now())
	w := &writer{version: "8"}
	exists := func(context.Context, string, Owner) (bool, error) { return true, nil }
	applier := New(Config{Writer: w, FieldOwner: "tester", DigestAnnotation: "digest", OwnerExists: exists, Clock: passive})
	other := func() *corev1ac.ConfigMapApplyConfiguration { return configMap().WithData(map[string]string{"b": "2"}) }
	edited := func(version string) *corev1.ConfigMap {
		cm := applied(t)
		cm.ResourceVersion, cm.Data = version, nil
		return cm
	}
	steps := []struct {
		what    string
		desired *corev1ac.ConfigMapApplyConfiguration
		cached  *corev1.ConfigMap
		after   time.Duration
		// answer is the resource version in the response to the write; "" for that of the step before.
		answer string
		// uids and versions are the expected preconditions of the writes.
		uids, versions []string
	}{
		{what: "no object", desired: configMap(), uids: []string{""}, versions: []string{noVersion}},
		{what: "created, not in the cache", desired: configMap()},
		{what: "other content desired before the cache shows the object", desired: other(), uids: []string{"cm-uid"}, versions: []string{""}},
		{what: "still not in the cache after the timeout", desired: other(), after: createdTimeout, uids: []string{""}, versions: []string{noVersion}},
		{what: "in the cache, edited by hand", desired: configMap(), cached: edited("9"), uids: []string{"cm-uid"}, versions: []string{""}},
		{what: "repaired, not in the cache", desired: configMap(), cached: edited("9"), after: createdTimeout},
		{what: "edited by hand again", desired: configMap(), cached: edited("10"), answer: "11", uids: []string{"cm-uid"}, versions: []string{""}},
		{what: "other content desired, with one repair not in the cache", desired: other(), cached: edited("10"), answer: "12", uids: []string{"cm-uid"}, versions: []string{""}},
		{what: "the first of two writes in the cache", desired: other(), cached: edited("11")},
		{what: "undone by hand", desired: other(), cached: edited("13"), answer: "14", uids: []string{"cm-uid"}, versions: []string{""}},
		{what: "deleted", desired: configMap(), uids: []string{""}, versions: []string{noVersion}},
	}
	for _, step := range steps {
		passive.SetTime(passive.Now().Add(step.after))
		w.uids, w.versions = nil, nil
		if step.answer != "" {
			w.version = step.answer
		}
		got, err := applier.Set(t.Context(), owner, Of(step.desired, step.cached))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"ConfigMap"}, got.Changed); diff != "" {
			t.Errorf("%s: Changed (-want +got):\n%s", step.what, diff)
		}
		if recheck := step.cached == nil; recheck != (got.RecheckAfter > 0) {
			t.Errorf("%s: RecheckAfter = %s", step.what, got.RecheckAfter)
		}
		if diff := cmp.Diff(step.uids, w.uids); diff != "" {
			t.Errorf("%s: UIDs (-want +got):\n%s", step.what, diff)
		}
		if diff := cmp.Diff(step.versions, w.versions); diff != "" {
			t.Errorf("%s: versions (-want +got):\n%s", step.what, diff)
		}
	}
}

func TestSetWritesNothingWithAConflict(t *testing.T) {
	foreign := applied(t)
	foreign.OwnerReferences = nil
	w := &writer{}
	other := corev1ac.ConfigMap("other", "ns")
	got, err := newApplier(w).Set(t.Context(), owner, Of(other, (*corev1.ConfigMap)(nil)), Of(configMap(), foreign))
	if err != nil || len(got.Conflicts) != 1 || len(w.kinds) != 0 {
		t.Errorf("Set() = %+v, %v, and wrote %v; want one conflict and nothing written", got, err, w.kinds)
	}
}

func TestSetErrors(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	terminating := apierrors.NewForbidden(resource, "cm", errors.New("terminating"))
	terminating.ErrStatus.Details.Causes = append(terminating.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	tests := map[string]struct {
		err       error
		rejection *state.Rejection
		transient bool
	}{
		"field that the API server does not know": {
			err: &apierrors.StatusError{ErrStatus: metav1.Status{
				Code:    http.StatusInternalServerError,
				Message: "failed to create typed patch object (ns/d; apps/v1, Kind=Deployment): .spec.template.spec.x: field not declared in schema",
			}},
			rejection: &state.Rejection{Kind: "ConfigMap", Name: "cm"},
		},
		"invalid": {
			err:       apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "cm", nil),
			rejection: &state.Rejection{Kind: "ConfigMap", Name: "cm"},
		},
		"forbidden": {
			err:       apierrors.NewForbidden(resource, "cm", errors.New("quota")),
			rejection: &state.Rejection{Kind: "ConfigMap", Name: "cm", Forbidden: true},
		},
		"denied by a webhook with status 400": {
			err:       &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusBadRequest, Message: `admission webhook "a.b" denied the request: no`}},
			rejection: &state.Rejection{Kind: "ConfigMap", Name: "cm", Forbidden: true},
		},
		"denied by a webhook with status 500": {
			err:       &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusInternalServerError, Message: `admission webhook "a.b" denied the request: no`}},
			rejection: &state.Rejection{Kind: "ConfigMap", Name: "cm", Forbidden: true},
		},
		"denied by a policy": {
			err: &apierrors.StatusError{ErrStatus: metav1.Status{
				Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
				Message: `configmaps "cm" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no`,
			}},
			rejection: &state.Rejection{Kind: "ConfigMap", Name: "cm", Forbidden: true},
		},
		"webhook that does not answer": {
			err:       apierrors.NewInternalError(errors.New(`failed calling webhook "a.b": connection refused`)),
			rejection: &state.Rejection{Kind: "ConfigMap", Name: "cm", Webhook: "a.b"},
		},
		"answer that is too large": {
			err:       fmt.Errorf("get: %w", pagedlist.ErrTooLarge),
			rejection: &state.Rejection{Kind: "ConfigMap", Name: "cm", TooLarge: true},
		},
		"bad request": {err: apierrors.NewBadRequest("what is that"), rejection: &state.Rejection{Kind: "ConfigMap", Name: "cm"}},
		"too large": {
			err:       apierrors.NewRequestEntityTooLargeError("limit is 3145728"),
			rejection: &state.Rejection{Kind: "ConfigMap", Name: "cm"},
		},
		"conflict":              {err: apierrors.NewConflict(resource, "cm", errors.New("uid")), transient: true},
		"namespace terminating": {err: terminating, transient: true},
		"internal error":        {err: apierrors.NewInternalError(errors.New("boom"))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := &writer{err: test.err}
			other := corev1ac.ConfigMap("other", "ns")
			got, err := newApplier(w).Set(t.Context(), owner, Of(configMap(), (*corev1.ConfigMap)(nil)), Of(other, (*corev1.ConfigMap)(nil)))
			if len(w.kinds) != 1 || got.Complete() && err == nil {
				t.Errorf("Set() = %+v, %v after %v; want it to stop at the first object", got, err, w.kinds)
			}
			if got.Rejection != nil {
				if got.Rejection.Message == "" {
					t.Error("the rejection has no message")
				}
				got.Rejection.Message = ""
			}
			if diff := cmp.Diff(test.rejection, got.Rejection); diff != "" {
				t.Errorf("Rejection (-want +got):\n%s", diff)
			}
			if (err == nil) != (test.rejection != nil) || Transient(err) != test.transient {
				t.Errorf("Set() error = %v, transient %v", err, Transient(err))
			}
		})
	}
}

// TestSetAfterARejection checks that a rejected write is not repeated within a minute, unless
// its content or the object that it changes is different. If the rejection can end, the write is
// repeated after 5 s, 10 s, 20 s and so on, up to a minute.
func TestSetAfterARejection(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "cm", nil)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "cm", errors.New("quota"))
	undeclared := &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusInternalServerError, Message: "failed to create typed patch object (ns/cm; v1, Kind=ConfigMap): .x: field not declared in schema",
	}}
	webhook := apierrors.NewInternalError(errors.New(`failed calling webhook "a.b": connection refused`))
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "cm", errors.New("terminating"))
	terminating.ErrStatus.Details.Causes = append(terminating.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	other := func(cm *corev1.ConfigMap) *corev1.ConfigMap { cm.Data["a"] = "2"; return cm }
	tests := map[string]struct {
		err     error
		desired func(*corev1ac.ConfigMapApplyConfiguration)
		current func(*corev1.ConfigMap)
		after   time.Duration
		// forgotten makes the test call ForgetRejections after the first attempt.
		forgotten bool
		// sent is the number of requests in the second and third attempt.
		sent int
		// first and last are the RecheckAfter of the first and of the last attempt.
		first, last time.Duration
	}{
		"invalid":                      {err: invalid, after: 10 * time.Second, last: rejectedFor - 20*time.Second},
		"forbidden":                    {err: forbidden, after: 2 * time.Second, first: rejectedFirst, last: rejectedFirst - 4*time.Second},
		"forbidden, repeated":          {err: forbidden, after: 10 * time.Second, sent: 2, first: rejectedFirst, last: 4 * rejectedFirst},
		"a minute later":               {err: forbidden, after: rejectedFor, sent: 2, first: rejectedFirst, last: 4 * rejectedFirst},
		"a webhook does not answer":    {err: webhook, after: 2 * time.Second, first: rejectedFirst, last: rejectedFirst - 4*time.Second},
		"invalid, a minute later":      {err: invalid, after: rejectedFor, sent: 2},
		"a schema that lacks a field":  {err: undeclared, after: 2 * time.Second, first: rejectedFirst, last: rejectedFirst - 4*time.Second},
		"the same, a minute later":     {err: undeclared, after: rejectedFor, sent: 2, first: rejectedFirst, last: 4 * rejectedFirst},
		"forgotten":                    {err: invalid, forgotten: true, sent: 1, last: rejectedFor},
		"other desired content":        {err: invalid, desired: func(c *corev1ac.ConfigMapApplyConfiguration) { c.WithData(map[string]string{"a": "3"}) }, sent: 1, last: rejectedFor},
		"another status":               {err: invalid, current: func(cm *corev1.ConfigMap) { cm.ResourceVersion = "9" }, last: rejectedFor},
		"another generation":           {err: invalid, current: func(cm *corev1.ConfigMap) { cm.Generation++ }, sent: 1, last: rejectedFor},
		"another object with the name": {err: invalid, current: func(cm *corev1.ConfigMap) { cm.UID = "another" }, sent: 1, last: rejectedFor},
		"namespace terminating":        {err: terminating, after: 10 * time.Second},
		"the same, after a minute":     {err: terminating, after: rejectedFor, sent: 2},
		"another error":                {err: apierrors.NewInternalError(errors.New("boom")), sent: 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := &writer{err: test.err}
			passive := testingclock.NewFakePassiveClock(time.Now())
			a := New(Config{Writer: w, FieldOwner: "tester", DigestAnnotation: "digest", OwnerLabel: "owner", Clock: passive})
			current := other(applied(t))
			first, failure := a.Set(t.Context(), owner, Of(configMap(), current))
			if first.RecheckAfter != test.first || len(w.kinds) != 1 {
				t.Errorf("first attempt: RecheckAfter = %s, want %s; wrote %v", first.RecheckAfter, test.first, w.kinds)
			}
			if test.forgotten {
				a.ForgetRejections()
			}
			var last state.Written
			for range 2 {
				passive.SetTime(passive.Now().Add(test.after))
				desired := configMap()
				if test.desired != nil {
					test.desired(desired)
				}
				now := current.DeepCopy()
				if test.current != nil {
					test.current(now)
				}
				var err error
				if last, err = a.Set(t.Context(), owner, Of(desired, now)); (err == nil) != (failure == nil) {
					t.Errorf("error = %v, the first was %v", err, failure)
				}
			}
			if got := len(w.kinds) - 1; got != test.sent || last.RecheckAfter != test.last {
				t.Errorf("sent %d more requests, RecheckAfter = %s; want %d and %s", got, last.RecheckAfter, test.sent, test.last)
			}
			if diff := cmp.Diff(first.Rejection, last.Rejection); diff != "" {
				t.Errorf("Rejection (-first +last):\n%s", diff)
			}
			w.err = nil
			passive.SetTime(passive.Now().Add(rejectedFor))
			if got, err := a.Set(t.Context(), owner, Of(configMap(), current)); err != nil || !got.Complete() {
				t.Errorf("after the API server accepts the write: %+v, %v", got, err)
			}
		})
	}
}
