// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Small updates of large metadata do not read all of the metadata each, and the task is the same as if they did.
func TestSmallUpdatesOfLargeMetadata(t *testing.T) {
	const members, updates = 5000, 2000
	var large strings.Builder
	for i := range members {
		fmt.Fprintf(&large, `,"m%d":%d`, i, i)
	}
	object := a2a.Object("{" + large.String()[1:] + "}")
	status := func(o a2a.Object) a2a.Event { return a2a.Event{Status: &a2a.StatusUpdate{Metadata: o}} }
	artifact := func(o a2a.Object) a2a.Event {
		return a2a.Event{Artifact: &a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "a", Metadata: o}, Append: true}}
	}
	for name, event := range map[string]func(a2a.Object) a2a.Event{"status": status, "artifact": artifact} {
		f := store.NewFold("t", store.Origin{})
		apply := func(f *store.Fold, o a2a.Object) {
			e := event(o)
			f.Apply(&e)
		}
		apply(f, object)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range updates {
			apply(f, a2a.Object(fmt.Sprintf(`{"m%d":"new","z":%d}`, i%7, i)))
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 100*uint64(len(object)) {
			t.Errorf("%s: %d updates of metadata of %d bytes allocate %d bytes", name, updates, len(object), got)
		}
		if f.Size() < len(object) {
			t.Errorf("%s: the size is %d", name, f.Size())
		}
		each := store.NewFold("t", store.Origin{})
		apply(each, object)
		for i := updates - 20; i < updates; i++ {
			apply(each, a2a.Object(fmt.Sprintf(`{"m%d":"new","z":%d}`, i%7, i)))
			each = store.Resume(each.Task()) // it is merged
		}
		if diff := cmp.Diff(each.Task(), f.Task()); diff != "" {
			t.Errorf("%s: (-merged at each event +got):\n%s", name, diff)
		}
		if f.Size() != each.Size() {
			t.Errorf("%s: the size is %d, want %d", name, f.Size(), each.Size())
		}
	}
}
