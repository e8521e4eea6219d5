// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"runtime"
	"strings"
	"testing"
)

// Parameters take no more memory than their text is charged for, whatever they are.
func TestParametersAreBounded(t *testing.T) {
	for name, values := range map[string]string{
		"numbers": strings.Repeat("1,", 1<<20) + "1",
		"texts":   strings.Repeat(`"x",`, 1<<20) + `"x"`,
		"a text":  `"` + strings.Repeat("%", 1<<20) + `"`,
	} {
		text := []byte(`{"skill":[` + values + `]}`)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parameters(text, SearchParameters)
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; err == nil || allocated > uint64(2*len(text)) {
			t.Errorf("%s of %d bytes: %v after %d bytes", name, len(text), err, allocated)
		}
	}
}
