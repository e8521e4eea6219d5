// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/progress"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

// Builder builds binaries into a directory.
type Builder struct {
	// Root is the repository.
	Root string
	// Out receives the binaries and their stamps.
	Out string
	// APIServer is the minor version of the kube-apiserver, such as 1.33; "" for the version of the cluster.
	APIServer string
	// Reporter reports every build.
	Reporter *progress.Reporter
}

// Build builds the binaries of the given names, or all binaries if names is empty. It skips those that are up to date.
func (b Builder) Build(ctx context.Context, names []string) error {
	wanted, unknown := lookup(names)
	if len(unknown) > 0 {
		return fmt.Errorf("build %s: unknown; known are %s", strings.Join(unknown, ", "), strings.Join(Names(), ", "))
	}
	if err := b.useAPIServer(wanted); err != nil {
		return err
	}
	compiler, err := goVersion(ctx, b.Root)
	if err != nil {
		return err
	}
	for i, binary := range wanted {
		want, err := binary.stamp(b.Root, compiler)
		if err != nil {
			return err
		}
		if b.isCurrent(binary, want) {
			continue
		}
		b.Reporter.Sayf("building %s (%d of %d; minutes when the Go build cache is cold)", binary.Name, i+1, len(wanted))
		err = b.Reporter.Step(ctx, binary.Name, func(ctx context.Context) error { return b.compile(ctx, binary) })
		if err != nil {
			return err
		}
		if err := state.WriteFile(b.stampPath(binary), []byte(want), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Path returns the path of a built binary.
func (b Builder) Path(name string) string {
	return filepath.Join(b.Out, name)
}

// compile builds to a temporary file and renames it, because the file of a running program cannot be
// overwritten.
func (b Builder) compile(ctx context.Context, binary Binary) error {
	if err := os.MkdirAll(b.Out, 0o755); err != nil {
		return fmt.Errorf("create directory for binaries: %w", err)
	}
	temporary := b.Path("." + binary.Name + ".new")
	defer func() { _ = os.Remove(temporary) }()
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", binary.linkerFlags(),
		"-o", temporary, binary.Package)
	command.Dir = filepath.Join(b.Root, binary.Module)
	// GOWORK=off, because a workspace file would change the versions of the modules that this build selects.
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	// go prints a line for every module that it downloads. The output is shown only if the build fails.
	printed, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("build %s: %w: %s", binary.Name, err, lastLines(string(printed), 30))
	}
	if err := os.Rename(temporary, b.Path(binary.Name)); err != nil {
		return fmt.Errorf("install %s: %w", binary.Name, err)
	}
	return nil
}

func (b Builder) isCurrent(binary Binary, want string) bool {
	info, err := os.Stat(b.Path(binary.Name))
	if err != nil || info.Mode()&fs.FileMode(0o100) == 0 {
		return false
	}
	have, err := os.ReadFile(b.stampPath(binary))
	return err == nil && string(have) == want
}

func (b Builder) stampPath(binary Binary) string {
	return filepath.Join(b.Out, ".stamps", binary.Name)
}

func (b Binary) linkerFlags() string {
	return strings.Join(append([]string{"-s", "-w"}, b.Flags...), " ")
}

func goVersion(ctx context.Context, root string) (string, error) {
	command := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH")
	command.Dir = filepath.Join(root, "hack", "cluster")
	printed, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("ask go for its version: %w", err)
	}
	return strings.Join(strings.Fields(string(printed)), " "), nil
}

func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
