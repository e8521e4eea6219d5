// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// cached is a manager with a cache only.
type cached struct {
	manager.Manager
	cache cache.Cache
}

func (c cached) GetCache() cache.Cache { return c.cache }

// TestReadyOnceSynced expects that caches that have synced are not asked again: a busy machine needs longer for the answer than a probe
// may wait.
func TestReadyOnceSynced(t *testing.T) {
	synced := false
	ready := readyWhenSynced(cached{cache: &informertest.FakeInformers{Synced: &synced}})
	probe := httptest.NewRequest(http.MethodGet, "/readyz", http.NoBody)
	for i, want := range []bool{false, true, true} {
		synced = i == 1
		if err := ready(probe); (err == nil) != want {
			t.Errorf("probe %d: %v, want ready %t", i, err, want)
		}
	}
}
