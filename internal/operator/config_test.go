// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"strings"
	"testing"
)

// A name that no namespace can have would be watched for ever, in silence; an
// empty one would be all of them.
func TestWatchedNamespacesAreNames(t *testing.T) {
	tests := map[string]struct {
		namespaces []string
		wrong      string
	}{
		"all":                {nil, ""},
		"one":                {[]string{"team-a"}, ""},
		"two":                {[]string{"team-a", "b"}, ""},
		"a space":            {[]string{"team-a", " b"}, `" b"`},
		"a capital":          {[]string{"Team"}, `"Team"`},
		"a pattern":          {[]string{"a", "*"}, `"*"`},
		"a dot":              {[]string{"a.b"}, `"a.b"`},
		"a trailing comma":   {[]string{"a", ""}, `""`},
		"an unset variable":  {[]string{"$(TEAM)"}, `"$(TEAM)"`},
		"longer than 63":     {[]string{strings.Repeat("a", 64)}, `"aaaa`},
		"an underscore in b": {[]string{"a", "namespa_e"}, `"namespa_e"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config := Defaults()
			config.SidecarImage = "example/sidecar:1"
			config.WatchNamespaces = test.namespaces
			err := config.Validate()
			if test.wrong == "" && err != nil {
				t.Errorf("Validate() error = %v", err)
			}
			if test.wrong != "" && (err == nil || !strings.Contains(err.Error(), "--watch-namespaces names "+test.wrong)) {
				t.Errorf("Validate() error = %v, want one that names the flag and %s", err, test.wrong)
			}
		})
	}
}
