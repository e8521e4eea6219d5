// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

// program is a program that becomes an image or an archive.
type program struct {
	// name is the name of the image, pkg the package of the program.
	name, pkg string
}

// binary returns the file name of the program: the last element of its package path.
func (p program) binary() string { return path.Base(p.pkg) }

// imagePrograms are the programs that are published as images.
var imagePrograms = []program{
	{"manager", "./cmd/manager"},
	{"sidecar", "./cmd/sidecar"},
	{"sample-echo", "./config/samples/echo"},
	{"sample-researcher", "./config/samples/researcher"},
}

// plugin is the plugin of kubectl, which is published in archives.
var plugin = program{"kubectl-a2a", "./cmd/kubectl-a2a"}

// target is an operating system and an architecture.
type target struct {
	system, architecture string
}

func (t target) String() string { return t.system + "/" + t.architecture }

// directory returns a directory name for the target, such as linux_amd64.
func (t target) directory() string { return t.system + "_" + t.architecture }

// executable returns the file name of a program for the target.
func (t target) executable(p program) string {
	if t.system == "windows" {
		return p.binary() + ".exe"
	}
	return p.binary()
}

var (
	imageTargets  = []target{{"linux", "amd64"}, {"linux", "arm64"}}
	pluginTargets = []target{
		{"darwin", "amd64"},
		{"darwin", "arm64"},
		{"linux", "amd64"},
		{"linux", "arm64"},
		{"windows", "amd64"},
		{"windows", "arm64"},
	}
)

// builder is a function that builds a program for a target into a file.
type builder func(ctx context.Context, p program, t target, file string) error

// goBuild returns a builder that runs the Go command in the root of the tree. Builds of one commit with one toolchain have equal
// bytes (docs/how-to/supply-chain.md).
func goBuild(root, ldflags string) builder {
	return func(ctx context.Context, p program, t target, file string) error {
		file, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", ldflags, "-o", file, p.pkg)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.system, "GOARCH="+t.architecture)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s for %s: %w\n%s", p.pkg, t, err, out)
		}
		return nil
	}
}
