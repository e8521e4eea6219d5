// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// scaleWriter is an API server that answers each apply with a resource version.
type scaleWriter struct {
	writer

	applies int
	version string
}

func (w *scaleWriter) Apply(_ context.Context, obj runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	deployment, ok := obj.(*appsv1ac.DeploymentApplyConfiguration)
	if !ok {
		return errors.New("not a Deployment")
	}
	w.applies++
	deployment.WithResourceVersion(w.version)
	return nil
}

func TestScaleIsSentOnceUntilTheCacheShowsIt(t *testing.T) {
	w := &scaleWriter{}
	config := newApplier(&w.writer).config
	config.Writer = w
	applier := New(config)
	for _, step := range []struct {
		what             string
		cached, answered string
		replicas         int32
		applies          int
	}{
		{"first", "7", "9", 0, 1},
		{"not in the cache", "7", "11", 0, 1},
		{"an older write in the cache", "8", "11", 0, 1},
		{"another number", "8", "11", 2, 2},
		{"the first write in the cache", "9", "12", 2, 2},
		{"undone by another client", "12", "13", 2, 3},
		{"undone by a webhook", "14", "14", 2, 4},
		{"undone by a webhook again", "14", "14", 2, 5},
	} {
		w.version = step.answered
		current := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "d", UID: "uid", ResourceVersion: step.cached}}
		replicas := appsv1ac.Deployment("d", "ns").WithUID("uid").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(step.replicas))
		if err := applier.Scale(t.Context(), current, replicas, "tester"); err != nil {
			t.Fatal(err)
		}
		if w.applies != step.applies {
			t.Errorf("%s: %d applies, want %d", step.what, w.applies, step.applies)
		}
	}
}
