// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version says which build this is. It imports the standard library
// only, so that every binary can.
package version

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// Set by the linker (see the Makefile). Empty in a plain `go build`, which
// Get answers from what the Go command recorded instead.
var (
	version string
	commit  string
	date    string
)

// Info is one build.
type Info struct {
	// Version is a semantic version, or "devel".
	Version string `json:"version"`
	// Commit is the full hash, with "-dirty" after it for a changed tree.
	Commit string `json:"commit,omitempty"`
	// Date is the commit's, in RFC 3339.
	Date string `json:"date,omitempty"`
	// Go is the compiler's version.
	Go string `json:"go"`
	// Platform is os/arch.
	Platform string `json:"platform"`
}

// Get is the running binary's build.
func Get() Info {
	info := Info{Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if build, ok := debug.ReadBuildInfo(); ok {
		info = recorded(info, build)
	}
	info.Version = cmp.Or(version, info.Version, "devel")
	info.Commit = cmp.Or(commit, info.Commit)
	info.Date = cmp.Or(date, info.Date)
	return info
}

// String is the one line that `--version` prints.
func (i Info) String() string {
	s := i.Version
	if i.Commit != "" {
		s += " (" + i.Commit + ")"
	}
	return s + " " + i.Go + " " + i.Platform
}

// recorded fills in what the Go command stamped into the binary.
func recorded(info Info, build *debug.BuildInfo) Info {
	if v := build.Main.Version; v != "(devel)" {
		info.Version = v
	}
	dirty := false
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Commit = s.Value
		case "vcs.time":
			info.Date = s.Value
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if dirty && info.Commit != "" {
		info.Commit += "-dirty"
	}
	return info
}
