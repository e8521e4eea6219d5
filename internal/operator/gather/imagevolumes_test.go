// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

// dryRuns answers dry runs of a Deployment.
type dryRuns struct {
	client.Writer
	answer func(*appsv1.Deployment) error
	count  int
}

// Create implements client.Writer.
func (d *dryRuns) Create(_ context.Context, object client.Object, options ...client.CreateOption) error {
	d.count++
	applied := (&client.CreateOptions{}).ApplyOptions(options)
	if len(applied.DryRun) == 0 {
		return errors.New("the operator creates a Deployment")
	}
	return d.answer(object.(*appsv1.Deployment))
}

func TestImageVolumes(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(*appsv1.Deployment) error
		want   bool
	}{
		"supported": {func(*appsv1.Deployment) error { return nil }, false},
		"feature gate off, which drops the volume": {func(d *appsv1.Deployment) error {
			d.Spec.Template.Spec.Volumes = nil
			return nil
		}, true},
		"field unknown": {func(*appsv1.Deployment) error {
			return apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "a", nil)
		}, true},
		"not known": {func(*appsv1.Deployment) error {
			return apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("quota"))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Unix(1, 0))
			server := &dryRuns{answer: c.answer}
			volumes := NewImageVolumes(server, clock)
			for range 2 {
				if got := volumes.missing(t.Context(), "team"); got != c.want || server.count != 1 {
					t.Errorf("missing() = %t after %d dry runs, want %t after 1", got, server.count, c.want)
				}
			}
			clock.SetTime(time.Unix(1, 0).Add(imageVolumesAge))
			if volumes.missing(t.Context(), "team"); server.count != 2 {
				t.Errorf("%d dry runs, want 2", server.count)
			}
		})
	}
}

// TestAQuotaSaysNothingOfImageVolumes checks that an error replaces no answer, and that the next one is asked soon.
func TestAQuotaSaysNothingOfImageVolumes(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1, 0))
	server := &dryRuns{answer: func(d *appsv1.Deployment) error {
		d.Spec.Template.Spec.Volumes = nil
		return nil
	}}
	volumes := NewImageVolumes(server, clock)
	if !volumes.missing(t.Context(), "team") {
		t.Fatal("image volumes are not missing")
	}
	server.answer = func(*appsv1.Deployment) error {
		return apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("quota"))
	}
	clock.SetTime(clock.Now().Add(imageVolumesAge))
	if !volumes.missing(t.Context(), "team") {
		t.Error("the quota of a namespace hides that image volumes are missing")
	}
	server.answer = func(*appsv1.Deployment) error { return nil }
	clock.SetTime(clock.Now().Add(imageVolumesRetry))
	if volumes.missing(t.Context(), "team") {
		t.Error("the API server is not asked again a minute later")
	}
}

// TestAnAnswerAboutImageVolumesIsOfItsNamespace has a namespace with a policy that drops image volumes, one with a policy that refuses
// them, and one with a quota. Another namespace has an answer of its own.
func TestAnAnswerAboutImageVolumesIsOfItsNamespace(t *testing.T) {
	server := &dryRuns{answer: func(d *appsv1.Deployment) error {
		switch d.Namespace {
		case "drops":
			d.Spec.Template.Spec.Volumes = nil
		case "refuses":
			return apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "a", nil)
		case "full":
			return apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("quota"))
		}
		return nil
	}}
	volumes := NewImageVolumes(server, clocktesting.NewFakePassiveClock(time.Unix(1, 0)))
	for range 2 {
		for namespace, want := range map[string]bool{"drops": true, "refuses": true, "full": false, "team": false} {
			if got := volumes.missing(t.Context(), namespace); got != want {
				t.Errorf("missing(%s) = %t, want %t", namespace, got, want)
			}
		}
	}
	securitypage.Attempts(t, "T-PODS", server.count-1)
	if server.count != 4 {
		t.Errorf("%d dry runs, want one for each namespace", server.count)
	}
}
