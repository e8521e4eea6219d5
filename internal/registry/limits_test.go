// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"strconv"
	"testing"
)

func TestTooManyWrongTokensAreAnswered429(t *testing.T) {
	w := newWorld(t, fleet(t))
	for i := range 1_000 {
		response := w.get(t, strconv.Itoa(i), "/v1/agents")
		if response.StatusCode == http.StatusUnauthorized {
			continue
		}
		if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") != "1" {
			t.Errorf("response = %d %v", response.StatusCode, response.Header)
		}
		return
	}
	t.Error("1,000 wrong tokens of one address were verified")
}
