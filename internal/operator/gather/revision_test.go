// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	goruntime "runtime"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// TestRevisionsOfEmptyElements decodes revisions of 1 MiB that a tenant has written.
func TestRevisionsOfEmptyElements(t *testing.T) {
	const before, after = `{"sidecarImage":"","spec":{"workload":{"template":{"spec":{"containers":[`, `]}}}}}`
	for element, want := range map[string]bool{
		`{}`:                  false,
		`{"args":["","",""]}`: false,
		`null`:                false,
		`0`:                   false,
		`{"image":"` + strings.Repeat("x", 500) + `"}`: true,
	} {
		number := (state.MaxRevisionSize - len(before) - len(after)) / (len(element) + 1)
		revision := &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte(before + strings.TrimSuffix(strings.Repeat(element+",", number), ",") + after)}}
		revision.ObjectMeta = metav1.ObjectMeta{Annotations: map[string]string{a2av1alpha1.AnnotationRevisionDigest: "digest"}}
		var start, end goruntime.MemStats
		goruntime.ReadMemStats(&start)
		contentOf(revision)
		goruntime.ReadMemStats(&end)
		allocated := (end.TotalAlloc - start.TotalAlloc) >> 10
		if read := allocated > 64; read != want {
			t.Errorf("%d elements %.20s: allocated %d KiB", number, element, allocated)
		}
	}
}
