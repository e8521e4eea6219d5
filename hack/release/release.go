// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// publicRepository is the prefix of the names of published images in the chart and in config/.
const publicRepository = "ghcr.io/a2a-operator"

// sourceURL is the address of the source code.
const sourceURL = "https://github.com/a2a-operator/a2a-operator"

// versionPattern matches a semantic version with a leading "v". It allows no build metadata, because the tag of an image
// cannot contain a "+".
var versionPattern = regexp.MustCompile(`^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$`)

// release is the version to publish, and the inputs of the steps that publish it.
type release struct {
	// root is the root of the source tree, output the directory of the files that belong to the release.
	root, output string
	// version is the version of the release, with a leading "v".
	version string
	// repository is the prefix of the images.
	repository string
	// commit is the commit of the source tree. date is its commit time, which replaces all times in published artifacts.
	commit string
	date   time.Time
	helm   string
	build  builder
	run    runner
	signer signer
	// log receives a line for each completed step.
	log io.Writer
}

// newRelease returns a release of the source tree in the current directory.
func newRelease(ctx context.Context, version, repository, output string) (*release, error) {
	if !versionPattern.MatchString(version) {
		return nil, fmt.Errorf("version %q is not a semantic version with a leading v: set VERSION to one such as v0.1.0", version)
	}
	if repository == "" {
		return nil, errors.New("repository is empty: name a prefix of images such as " + publicRepository)
	}
	r := &release{root: ".", output: output, version: version, repository: repository, run: runProgram, log: os.Stdout}
	described, err := r.run(ctx, r.root, "git", "log", "-1", "--format=%H %cI")
	if err != nil {
		return nil, err
	}
	commit, date, _ := strings.Cut(strings.TrimSpace(described), " ")
	r.commit = commit
	if r.date, err = time.Parse(time.RFC3339, date); err != nil {
		return nil, fmt.Errorf("read the date of commit %s: %w", commit, err)
	}
	r.date = r.date.UTC()
	return r, nil
}

// isCommitted returns an error if the source tree differs from its commit, because the labels of the images name that commit.
func (r *release) isCommitted(ctx context.Context) error {
	changed, err := r.run(ctx, r.root, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the source tree differs from commit %s: commit or remove the changes\n%s", r.commit, changed)
	}
	return nil
}

// published lists the objects of a release in the registry.
type published struct {
	images []imageIndex
	chart  artifact
}

// publish builds everything before it pushes anything. It pushes and signs the images before the chart that names them, and signs
// the chart before the chart gets its tag. After a failed run, each chart with the tag of its version is therefore signed, and
// all images that it names exist. The next run for the same commit completes the release.
func (r *release) publish(ctx context.Context) (published, error) {
	images, chart, err := r.buildInstallation(ctx)
	if err != nil {
		return published{}, err
	}
	if err := r.writeArchives(ctx); err != nil {
		return published{}, err
	}
	if err := r.writeProvenance(); err != nil {
		return published{}, err
	}
	if err := r.refuseOtherImages(ctx, images); err != nil {
		return published{}, err
	}
	if err := r.pushImages(ctx, images); err != nil {
		return published{}, err
	}
	if err := r.signImages(ctx, images); err != nil {
		return published{}, err
	}
	pushed := published{images: images}
	if pushed.chart, err = r.pushChart(ctx, chart); err != nil {
		return published{}, err
	}
	if err := r.signChart(ctx, pushed.chart); err != nil {
		return published{}, err
	}
	if err := r.tagChart(ctx, pushed.chart); err != nil {
		return published{}, err
	}
	if err := r.writeDigests(pushed); err != nil {
		return published{}, err
	}
	if err := r.writeChecksums(); err != nil {
		return published{}, err
	}
	return pushed, r.signChecksums(ctx)
}

// publishInstallation publishes only the images and the chart, without signatures and archives. It writes install.yaml and
// samples.yaml into the output directory.
func (r *release) publishInstallation(ctx context.Context) error {
	images, chart, err := r.buildInstallation(ctx)
	if err != nil {
		return err
	}
	if err := r.pushImages(ctx, images); err != nil {
		return err
	}
	pushed, err := r.pushChart(ctx, chart)
	if err != nil {
		return err
	}
	return r.tagChart(ctx, pushed)
}

// buildInstallation builds the images, and writes the files that name them: the package of the chart, install.yaml and samples.yaml.
// It returns the images and the path of the chart's package.
func (r *release) buildInstallation(ctx context.Context) (images []imageIndex, chart string, err error) {
	if err := os.RemoveAll(r.output); err != nil {
		return nil, "", fmt.Errorf("remove the files of the last run: %w", err)
	}
	if err := os.MkdirAll(r.output, 0o755); err != nil {
		return nil, "", fmt.Errorf("create %s: %w", r.output, err)
	}
	if images, err = r.buildImages(ctx); err != nil {
		return nil, "", err
	}
	if err := r.writeManifests(ctx, images); err != nil {
		return nil, "", err
	}
	chart, err = r.packageChart(ctx, images)
	return images, chart, err
}

// writeDigests lists the published objects with their digests.
func (r *release) writeDigests(pushed published) error {
	var list strings.Builder
	for _, image := range pushed.images {
		fmt.Fprintln(&list, image.reference())
		for _, platform := range image.platforms {
			fmt.Fprintf(&list, "%s %s\n", platform.reference(), platform.platform)
		}
	}
	fmt.Fprintln(&list, pushed.chart.reference())
	return os.WriteFile(filepath.Join(r.output, "digests.txt"), []byte(list.String()), 0o644)
}

// artifact is an object in a registry.
type artifact struct {
	repository, digest string
}

func (a artifact) reference() string { return a.repository + "@" + a.digest }

// runner runs a program in a directory, and returns its standard output. The error contains the standard error of the program.
type runner func(ctx context.Context, dir, program string, args ...string) (string, error)

// runProgram is the runner that starts a process.
func runProgram(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run %s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, complaints.String())
	}
	return string(out), nil
}

// reportf writes a line about a completed step to the log.
func (r *release) reportf(format string, args ...any) {
	_, _ = fmt.Fprintf(r.log, format+"\n", args...)
}
