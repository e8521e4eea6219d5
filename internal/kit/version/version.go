// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version identifies the build of a program. It imports the standard library
// only, so that every program can import it.
package version

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// The linker sets these variables (see the Makefile). A plain `go build` leaves them empty. Get
// then returns the values that the Go command recorded in the program.
var (
	version string
	commit  string
	date    string
)

// Info identifies a build.
type Info struct {
	// Version is a semantic version, or "devel".
	Version string `json:"version"`
	// Commit is the full hash of the commit. The suffix "-dirty" means that the working tree had
	// uncommitted changes.
	Commit string `json:"commit,omitempty"`
	// Date is the date of the commit, in RFC 3339.
	Date string `json:"date,omitempty"`
	// Go is the version of the compiler.
	Go string `json:"go"`
	// Platform is the operating system and the architecture, such as linux/amd64.
	Platform string `json:"platform"`
}

// Get returns the build of the running program.
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

// String returns the line that `--version` prints.
func (i Info) String() string {
	s := i.Version
	if i.Commit != "" {
		s += " (" + i.Commit + ")"
	}
	return s + " " + i.Go + " " + i.Platform
}

// recorded returns info with the version, commit and date that the Go command recorded in build.
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
