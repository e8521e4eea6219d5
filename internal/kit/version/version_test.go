// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecorded(t *testing.T) {
	tests := map[string]struct {
		build debug.BuildInfo
		want  Info
	}{
		"a release installed as a module": {
			build: debug.BuildInfo{Main: debug.Module{Version: "v0.2.0"}},
			want:  Info{Version: "v0.2.0"},
		},
		"a changed work tree": {
			build: debug.BuildInfo{
				Main: debug.Module{Version: "(devel)"},
				Settings: []debug.BuildSetting{
					{Key: "vcs.revision", Value: "abc"},
					{Key: "vcs.time", Value: "2026-11-21T00:00:00Z"},
					{Key: "vcs.modified", Value: "true"},
				},
			},
			want: Info{Commit: "abc-dirty", Date: "2026-11-21T00:00:00Z"},
		},
		"nothing recorded": {
			build: debug.BuildInfo{Main: debug.Module{Version: "(devel)"}},
			want:  Info{},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, recorded(Info{}, &test.build)); diff != "" {
				t.Errorf("recorded() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGetPrefersTheLinkerFlags(t *testing.T) {
	version, commit, date = "v1.2.3", "abc", "2026-11-21T00:00:00Z"
	t.Cleanup(func() { version, commit, date = "", "", "" })

	got := Get()
	if got.Version != "v1.2.3" || got.Commit != "abc" || got.Date != "2026-11-21T00:00:00Z" {
		t.Errorf("Get() = %+v", got)
	}
	want := "v1.2.3 (abc) " + got.Go + " " + got.Platform
	if got.String() != want {
		t.Errorf("String() = %q, want %q", got.String(), want)
	}
}

func TestGetIsNeverEmpty(t *testing.T) {
	if got := Get(); got.Version == "" || got.Go == "" || got.Platform == "" {
		t.Errorf("Get() = %+v", got)
	}
}
