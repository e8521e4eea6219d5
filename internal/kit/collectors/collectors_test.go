// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package collectors

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestManagersOfOneProcessShareMetrics(t *testing.T) {
	r := prometheus.NewRegistry()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "a2a_test_total", Help: "A test."})
	for range 2 {
		err := Register(r, "a test", counter)
		if err != nil {
			t.Fatal(err)
		}
	}
	other := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "a2a_test_total", Help: "Another."}, []string{"label"})
	err := Register(r, "another test", counter, other)
	if err == nil || !strings.HasPrefix(err.Error(), "register metrics of another test: ") {
		t.Errorf("Register() = %v, want an error that names the subject", err)
	}
}
