// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	kind  = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	owner = Owner{Kind: kind, Name: "thing", UID: "thing-uid"}
	refs  = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Thing", Name: "thing", UID: "thing-uid", Controller: new(true), BlockOwnerDeletion: new(true)}}
)

// writer records what is written and answers with err.
type writer struct {
	kinds []string
	// uids and versions are those that were asked for.
	uids, versions []string
	err            error
	pods           []string
	// version is what the API server answers, and dead that the owner goes.
	version string
	dead    bool
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
	config.WithResourceVersion(w.version).WithUID("cm-uid")
	return w.err
}

func (w *writer) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(obj)
	w.pods = append(w.pods, obj.GetName()+" "+string(data))
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
		Lives: func(context.Context, string, Owner) (bool, error) { return !w.dead, nil },
		Clock: testingclock.NewFakePassiveClock(time.Now()),
	})
}

// orphaned is an object that was made for the owner and is nobody's.
func orphaned(cm *corev1.ConfigMap) *corev1.ConfigMap {
	cm.OwnerReferences, cm.Labels = nil, map[string]string{"owner": owner.Name}
	cm.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "tester", Operation: metav1.ManagedFieldsOperationApply}}
	return cm
}

func configMap() *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap("cm", "ns").WithData(map[string]string{"a": "1"})
}

// applied is what the API server holds after configMap was applied.
func applied(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	want := configMap().WithOwnerReferences(ownerReference(owner))
	d, err := digest(want)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "cm", UID: "cm-uid", ResourceVersion: "7", OwnerReferences: refs,
			Annotations: map[string]string{"digest": d, "somebody": "else"},
		},
		Data: map[string]string{"a": "1"},
	}
}

func TestSet(t *testing.T) {
	tests := map[string]struct {
		cached func(*corev1.ConfigMap) *corev1.ConfigMap
		want   Outcome
		writes []string
		uids   []string
		// versions are empty but for what is to be made or taken back.
		versions []string
		// dead has the API server say that the owner goes.
		dead bool
		// programmed tells that the object was there.
		programmed bool
		err        error
	}{
		"creates, and takes nothing over": {
			want:   Outcome{Changed: []string{"ConfigMap"}, RecheckAfter: unseenFor},
			writes: []string{"ConfigMap cm"}, uids: []string{""}, versions: []string{absent},
		},
		"sends nothing that changes nothing": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap { return cm },
		},
		"repairs a field": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap { cm.Data["a"] = "2"; return cm },
			want:   Outcome{Changed: []string{"ConfigMap"}}, writes: []string{"ConfigMap cm"}, uids: []string{"cm-uid"},
		},
		"repairs a field that was removed": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap { cm.Data = nil; return cm },
			want:   Outcome{Changed: []string{"ConfigMap"}}, writes: []string{"ConfigMap cm"}, uids: []string{"cm-uid"},
		},
		"removes what is no longer desired": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap { cm.Annotations["digest"] = "older"; return cm },
			want:   Outcome{Changed: []string{"ConfigMap"}}, writes: []string{"ConfigMap cm"}, uids: []string{"cm-uid"},
		},
		"refuses a foreign object": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap { cm.OwnerReferences = nil; return cm },
			want:   Outcome{Conflicts: []Conflict{{Kind: "ConfigMap", Name: "cm"}}},
		},
		"refuses an object that is owned but not controlled": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap {
				cm.OwnerReferences = slices.Clone(refs)
				cm.OwnerReferences[0].Controller = nil
				return cm
			},
			want: Outcome{Conflicts: []Conflict{{Kind: "ConfigMap", Name: "cm"}}},
		},
		"takes back an orphan that it has made": {
			cached: orphaned,
			want:   Outcome{Changed: []string{"ConfigMap"}}, writes: []string{"ConfigMap cm"}, uids: []string{"cm-uid"}, versions: []string{"7"},
		},
		"leaves an orphan to an owner that goes": {
			cached: orphaned, dead: true, err: ErrOwnerGone,
		},
		"makes again what was deleted": {
			programmed: true,
			want:       Outcome{Changed: []string{"ConfigMap"}, RecheckAfter: unseenFor},
			writes:     []string{"ConfigMap cm"}, uids: []string{""}, versions: []string{absent},
		},
		"makes nothing again for an owner that goes": {
			programmed: true, dead: true, err: ErrOwnerGone,
		},
		"asks nobody about an owner that misses nothing": {
			cached:     func(cm *corev1.ConfigMap) *corev1.ConfigMap { return cm },
			programmed: true, dead: true,
		},
		"asks nobody about an owner that is new": {
			dead:   true,
			want:   Outcome{Changed: []string{"ConfigMap"}, RecheckAfter: unseenFor},
			writes: []string{"ConfigMap cm"}, uids: []string{""}, versions: []string{absent},
		},
		"refuses an orphan of another name's": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap {
				orphaned(cm).Labels["owner"] = "other"
				return cm
			},
			want: Outcome{Conflicts: []Conflict{{Kind: "ConfigMap", Name: "cm"}}},
		},
		"refuses what somebody else has made with the label": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap {
				orphaned(cm).ManagedFields[0].Manager = "kubectl"
				return cm
			},
			want: Outcome{Conflicts: []Conflict{{Kind: "ConfigMap", Name: "cm"}}},
		},
		"refuses an orphan that is going": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap {
				orphaned(cm).DeletionTimestamp = new(metav1.Now())
				return cm
			},
			want: Outcome{Conflicts: []Conflict{{Kind: "ConfigMap", Name: "cm"}}},
		},
		"refuses what another controller has taken": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap {
				orphaned(cm).OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Other", Name: "o", UID: "o", Controller: new(true)}}
				return cm
			},
			want: Outcome{Conflicts: []Conflict{{Kind: "ConfigMap", Name: "cm"}}},
		},
		"waits for the object of a former owner": {
			cached: func(cm *corev1.ConfigMap) *corev1.ConfigMap {
				cm.OwnerReferences = slices.Clone(refs)
				cm.OwnerReferences[0].UID = "former"
				return cm
			},
			want: Outcome{Conflicts: []Conflict{{Kind: "ConfigMap", Name: "cm", Former: true}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var cached *corev1.ConfigMap
			if test.cached != nil {
				cached = test.cached(applied(t))
			}
			w := &writer{version: "8", dead: test.dead}
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

// TestSetAgainstAWebhook is about a field that admission changes back each
// time: nobody must wait for what never comes.
func TestSetAgainstAWebhook(t *testing.T) {
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

// TestSetWhileTheCacheIsBehind is about what was written and is not seen yet.
func TestSetWhileTheCacheIsBehind(t *testing.T) {
	passive := testingclock.NewFakePassiveClock(time.Now())
	w := &writer{version: "8"}
	lives := func(context.Context, string, Owner) (bool, error) { return true, nil }
	applier := New(Config{Writer: w, FieldOwner: "tester", DigestAnnotation: "digest", Lives: lives, Clock: passive})
	other := func() *corev1ac.ConfigMapApplyConfiguration { return configMap().WithData(map[string]string{"b": "2"}) }
	tampered := func(version string) *corev1.ConfigMap {
		cm := applied(t)
		cm.ResourceVersion, cm.Data = version, nil
		return cm
	}
	steps := []struct {
		what    string
		desired *corev1ac.ConfigMapApplyConfiguration
		cached  *corev1.ConfigMap
		after   time.Duration
		// uids and versions are those of the writes.
		uids, versions []string
	}{
		{what: "nothing there", desired: configMap(), uids: []string{""}, versions: []string{absent}},
		{what: "made, not seen", desired: configMap()},
		{what: "another one wanted before it is seen", desired: other(), uids: []string{"cm-uid"}, versions: []string{""}},
		{what: "not seen for long", desired: other(), after: unseenFor, uids: []string{""}, versions: []string{absent}},
		{what: "seen, tampered with", desired: configMap(), cached: tampered("9"), uids: []string{"cm-uid"}, versions: []string{""}},
		{what: "mended, not seen", desired: configMap(), cached: tampered("9"), after: unseenFor},
		{what: "tampered with again", desired: configMap(), cached: tampered("10"), uids: []string{"cm-uid"}, versions: []string{""}},
		{what: "gone", desired: configMap(), uids: []string{""}, versions: []string{absent}},
	}
	for _, step := range steps {
		passive.SetTime(passive.Now().Add(step.after))
		w.uids, w.versions = nil, nil
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
		rejection *Rejection
		ephemeral bool
	}{
		"a field that the API server does not know": {
			err: &apierrors.StatusError{ErrStatus: metav1.Status{
				Code:    http.StatusInternalServerError,
				Message: "failed to create typed patch object (ns/d; apps/v1, Kind=Deployment): .spec.template.spec.x: field not declared in schema",
			}},
			rejection: &Rejection{Kind: "ConfigMap", Name: "cm"},
		},
		"invalid": {
			err:       apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "cm", nil),
			rejection: &Rejection{Kind: "ConfigMap", Name: "cm"},
		},
		"forbidden": {
			err:       apierrors.NewForbidden(resource, "cm", errors.New("quota")),
			rejection: &Rejection{Kind: "ConfigMap", Name: "cm", Forbidden: true},
		},
		"denied by a webhook that gives no code": {
			err:       &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusBadRequest, Message: `admission webhook "a.b" denied the request: no`}},
			rejection: &Rejection{Kind: "ConfigMap", Name: "cm", Forbidden: true},
		},
		"denied by a webhook as a fault of its own": {
			err:       &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusInternalServerError, Message: `admission webhook "a.b" denied the request: no`}},
			rejection: &Rejection{Kind: "ConfigMap", Name: "cm", Forbidden: true},
		},
		"denied by a policy": {
			err: &apierrors.StatusError{ErrStatus: metav1.Status{
				Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
				Message: `configmaps "cm" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no`,
			}},
			rejection: &Rejection{Kind: "ConfigMap", Name: "cm", Forbidden: true},
		},
		"a webhook that does not answer": {
			err: apierrors.NewInternalError(errors.New(`failed calling webhook "a.b": connection refused`)),
		},
		"not a good request": {err: apierrors.NewBadRequest("what is that"), rejection: &Rejection{Kind: "ConfigMap", Name: "cm"}},
		"too large": {
			err:       apierrors.NewRequestEntityTooLargeError("limit is 3145728"),
			rejection: &Rejection{Kind: "ConfigMap", Name: "cm"},
		},
		"conflict":              {err: apierrors.NewConflict(resource, "cm", errors.New("uid")), ephemeral: true},
		"namespace terminating": {err: terminating, ephemeral: true},
		"anything else":         {err: apierrors.NewInternalError(errors.New("boom"))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := &writer{err: test.err}
			other := corev1ac.ConfigMap("other", "ns")
			got, err := newApplier(w).Set(t.Context(), owner, Of(configMap(), (*corev1.ConfigMap)(nil)), Of(other, (*corev1.ConfigMap)(nil)))
			if len(w.kinds) != 1 || got.Complete() && err == nil {
				t.Errorf("Set() = %+v, %v after %v; want to stop at the first", got, err, w.kinds)
			}
			if got.Rejection != nil {
				if got.Rejection.Message == "" {
					t.Error("the rejection says nothing")
				}
				got.Rejection.Message = ""
			}
			if diff := cmp.Diff(test.rejection, got.Rejection); diff != "" {
				t.Errorf("Rejection (-want +got):\n%s", diff)
			}
			if (err == nil) != (test.rejection != nil) || Ephemeral(err) != test.ephemeral {
				t.Errorf("Set() error = %v, ephemeral %v", err, Ephemeral(err))
			}
		})
	}
}

// What was refused is not sent again within a minute, unless it would be
// judged anew: then it is another thing, or to be done to another one.
func TestSetAfterARefusal(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "cm", nil)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "cm", errors.New("quota"))
	undeclared := &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusInternalServerError, Message: "failed to create typed patch object (ns/cm; v1, Kind=ConfigMap): .x: field not declared in schema",
	}}
	other := func(cm *corev1.ConfigMap) *corev1.ConfigMap { cm.Data["a"] = "2"; return cm }
	tests := map[string]struct {
		err     error
		desired func(*corev1ac.ConfigMapApplyConfiguration)
		current func(*corev1.ConfigMap)
		after   time.Duration
		// forgotten tells that what was refused is forgotten after the first attempt.
		forgotten bool
		// sent is how many of the second and third attempt are sent.
		sent int
		// first and then are when to look again after the first and the last attempt.
		first, then time.Duration
	}{
		"invalid":                     {err: invalid, after: 10 * time.Second, then: refusedFor - 20*time.Second},
		"forbidden":                   {err: forbidden, after: 10 * time.Second, first: refusedFor, then: refusedFor - 20*time.Second},
		"a minute later":              {err: forbidden, after: refusedFor, sent: 2, first: refusedFor, then: refusedFor},
		"invalid, a minute later":     {err: invalid, after: refusedFor, sent: 2},
		"a schema that lacks a field": {err: undeclared, after: 10 * time.Second, first: refusedFor, then: refusedFor - 20*time.Second},
		"such a one, a minute later":  {err: undeclared, after: refusedFor, sent: 2, first: refusedFor, then: refusedFor},
		"forgotten":                   {err: invalid, forgotten: true, sent: 1, then: refusedFor},
		"another desire":              {err: invalid, desired: func(c *corev1ac.ConfigMapApplyConfiguration) { c.WithData(map[string]string{"a": "3"}) }, sent: 1, then: refusedFor},
		"another status":              {err: invalid, current: func(cm *corev1.ConfigMap) { cm.ResourceVersion = "9" }, then: refusedFor},
		"another spec in the cluster": {err: invalid, current: func(cm *corev1.ConfigMap) { cm.Generation++ }, sent: 1, then: refusedFor},
		"another object of the name":  {err: invalid, current: func(cm *corev1.ConfigMap) { cm.UID = "another" }, sent: 1, then: refusedFor},
		"a failure is no refusal":     {err: apierrors.NewInternalError(errors.New("boom")), sent: 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := &writer{err: test.err}
			passive := testingclock.NewFakePassiveClock(time.Now())
			a := New(Config{Writer: w, FieldOwner: "tester", DigestAnnotation: "digest", OwnerLabel: "owner", Clock: passive})
			current := other(applied(t))
			first, failure := a.Set(t.Context(), owner, Of(configMap(), current))
			if first.RecheckAfter != test.first || len(w.kinds) != 1 {
				t.Errorf("first: look again after %s, want %s; wrote %v", first.RecheckAfter, test.first, w.kinds)
			}
			if test.forgotten {
				a.Forget()
			}
			var last Outcome
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
			if got := len(w.kinds) - 1; got != test.sent || last.RecheckAfter != test.then {
				t.Errorf("sent %d times again, then to look after %s; want %d and %s", got, last.RecheckAfter, test.sent, test.then)
			}
			if diff := cmp.Diff(first.Rejection, last.Rejection); diff != "" {
				t.Errorf("Rejection (-first +last):\n%s", diff)
			}
			w.err = nil
			passive.SetTime(passive.Now().Add(refusedFor))
			if got, err := a.Set(t.Context(), owner, Of(configMap(), current)); err != nil || !got.Complete() {
				t.Errorf("when it is allowed: %+v, %v", got, err)
			}
		})
	}
}

func TestAnnotate(t *testing.T) {
	pod := func(name string, change func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		change(&p)
		return p
	}
	pods := []corev1.Pod{
		pod("stale", func(p *corev1.Pod) { p.Annotations = map[string]string{"key": "old"} }),
		pod("fresh", func(p *corev1.Pod) { p.Annotations = map[string]string{"key": "new"} }),
		pod("without", func(*corev1.Pod) {}),
		pod("leaving", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time} }),
		pod("pending", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }),
	}
	w := &writer{}
	if outcome, err := newApplier(w).Annotate(t.Context(), pods, "key", "new", "tester"); err != nil || !outcome.Complete() {
		t.Fatalf("Annotate() = %+v, %v", outcome, err)
	}
	const patch = ` {"metadata":{"annotations":{"key":"new"},"uid":"uid"}}`
	if diff := cmp.Diff([]string{"stale" + patch, "without" + patch}, w.pods); diff != "" {
		t.Errorf("patched (-want +got):\n%s", diff)
	}

	resource := schema.GroupResource{Resource: "pods"}
	for _, gone := range []error{apierrors.NewNotFound(resource, "stale"), apierrors.NewConflict(resource, "stale", errors.New("uid"))} {
		if _, err := newApplier(&writer{err: gone}).Annotate(t.Context(), pods, "key", "newer", "tester"); err != nil {
			t.Errorf("Annotate() error = %v, want a pod that is gone to be forgotten", err)
		}
	}
	if _, err := newApplier(&writer{err: errors.New("boom")}).Annotate(t.Context(), pods, "key", "newest", "tester"); err == nil {
		t.Error("Annotate() error = nil, want the API server's")
	}
}

func TestConverged(t *testing.T) {
	desired := func() *appsv1ac.DeploymentApplyConfiguration {
		return appsv1ac.Deployment("d", "ns").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(1).WithTemplate(
			corev1ac.PodTemplateSpec().WithSpec(corev1ac.PodSpec().
				WithContainers(corev1ac.Container().WithName("a").WithImage("image").
					WithArgs("x", "y").
					WithLivenessProbe(corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().WithHTTPHeaders(
						corev1ac.HTTPHeader().WithName("Accept").WithValue("a"), corev1ac.HTTPHeader().WithName("Accept").WithValue("b")))).
					WithEnv(corev1ac.EnvVar().WithName("ONE").WithValue("1")).
					WithPorts(corev1ac.ContainerPort().WithContainerPort(80).WithProtocol(corev1.ProtocolTCP))).
				WithVolumes(corev1ac.Volume().WithName("v").WithEmptyDir(corev1ac.EmptyDirVolumeSource())))))
	}
	current := func() *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "d", Labels: map[string]string{"somebody": "else"}},
			Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(1)),
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyAlways,
					Containers: []corev1.Container{
						{Name: "injected", Image: "other"},
						{
							Name: "a", Image: "image", Args: []string{"x", "y"}, ImagePullPolicy: corev1.PullAlways,
							LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
								HTTPHeaders: []corev1.HTTPHeader{{Name: "Accept", Value: "a"}, {Name: "Accept", Value: "b"}},
							}}},
							Env:   []corev1.EnvVar{{Name: "ZERO", Value: "0"}, {Name: "ONE", Value: "1"}},
							Ports: []corev1.ContainerPort{{ContainerPort: 80, Protocol: corev1.ProtocolTCP, Name: "web"}},
						},
					},
					Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
				}},
			},
		}
	}
	tamper := map[string]func(*appsv1.Deployment){
		"replicas":       func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(2)) },
		"image":          func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Image = "evil" },
		"container":      func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Name = "b" },
		"argument":       func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Args[0] = "z" },
		"more arguments": func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Args = []string{"x", "y", "z"} },
		"variable":       func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Env[1].Value = "2" },
		"header": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[1].LivenessProbe.HTTPGet.HTTPHeaders[1].Value = "c"
		},
		"port":                func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Ports[0].ContainerPort = 81 },
		"kind of volume":      func(d *appsv1.Deployment) { d.Spec.Template.Spec.Volumes[0].EmptyDir = nil },
		"all containers gone": func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers = nil },
	}
	if !converged(desired(), current()) {
		t.Error("converged() is false; what others add must not count")
	}
	for _, name := range slices.Sorted(maps.Keys(tamper)) {
		d := current()
		tamper[name](d)
		if converged(desired(), d) {
			t.Errorf("converged() is true after somebody changed the %s", name)
		}
	}
}
