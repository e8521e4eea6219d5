// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const (
	chartDir  = "charts/a2a-operator"
	chartName = "a2a-operator"
)

// chartVersion returns the appVersion of the chart in the tree, which is the version of the next release.
func (r *release) chartVersion() (string, error) {
	content, err := os.ReadFile(filepath.Join(r.root, chartDir, "Chart.yaml"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(content)) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "appVersion: "); ok {
			return version, nil
		}
	}
	return "", fmt.Errorf("%s/Chart.yaml has no appVersion", chartDir)
}

// matchesChart returns an error if the version differs from the version of the chart in the tree.
func (r *release) matchesChart() error {
	version, err := r.chartVersion()
	if err != nil {
		return err
	}
	if version != r.version {
		return fmt.Errorf("version %s is not the appVersion %s of %s/Chart.yaml: change the tag, or both versions there", r.version, version, chartDir)
	}
	return nil
}

// packageChart writes the package of the chart, with the digests of the images as its default values, and returns its file.
func (r *release) packageChart(ctx context.Context, images []imageIndex) (string, error) {
	stage, err := os.MkdirTemp("", "a2a-operator-chart-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(stage) }()
	staged := filepath.Join(stage, chartName)
	if err := os.CopyFS(staged, os.DirFS(filepath.Join(r.root, chartDir))); err != nil {
		return "", fmt.Errorf("copy the chart: %w", err)
	}
	if err := pinValues(filepath.Join(staged, "values.yaml"), images); err != nil {
		return "", err
	}
	// helm copies the modification times of the files into the package.
	if err := r.setTimes(staged); err != nil {
		return "", err
	}
	version := strings.TrimPrefix(r.version, "v")
	if _, err := r.run(ctx, "", r.helm, "package", staged, "--version", version, "--app-version", r.version, "--destination", r.output); err != nil {
		return "", err
	}
	pkg := filepath.Join(r.output, chartName+"-"+version+".tgz")
	return pkg, r.setTimes(pkg)
}

// pushChart pushes the package of the chart by its digest. Users can install the chart by its version after tagChart.
func (r *release) pushChart(ctx context.Context, pkg string) (artifact, error) {
	chart, end, err := r.chartImage(ctx, pkg)
	if err != nil {
		return artifact{}, err
	}
	defer end()
	digest, err := chart.Digest()
	if err != nil {
		return artifact{}, fmt.Errorf("read the chart: %w", err)
	}
	pushed := artifact{repository: r.repository + "/charts/" + chartName, digest: digest.String()}
	reference, err := name.NewDigest(pushed.reference(), name.StrictValidation)
	if err != nil {
		return artifact{}, err
	}
	if err := remote.Write(reference, chart, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return artifact{}, fmt.Errorf("push chart %s: %w", reference, err)
	}
	return pushed, nil
}

// tagChart gives a pushed chart the tag by which it is installed: the version of the release.
func (r *release) tagChart(ctx context.Context, pushed artifact) error {
	version := strings.TrimPrefix(r.version, "v")
	tag, err := name.NewTag(pushed.repository+":"+version, name.StrictValidation)
	if err != nil {
		return err
	}
	reference, err := name.NewDigest(pushed.reference(), name.StrictValidation)
	if err != nil {
		return err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	chart, err := remote.Get(reference, options...)
	if err == nil {
		err = remote.Tag(tag, chart, options...)
	}
	if err != nil {
		return fmt.Errorf("push the tag of the chart %s: %w", tag, err)
	}
	r.reportf("chart    oci://%s %s %s", pushed.repository, version, pushed.digest)
	return nil
}

// chartImage returns the chart as helm pushes it. helm cannot push without a tag, so it pushes the chart to a registry on loopback,
// which stays available until end is called.
func (r *release) chartImage(ctx context.Context, pkg string) (chart v1.Image, end func(), err error) {
	blobs, err := os.MkdirTemp("", "a2a-operator-chart-")
	if err != nil {
		return nil, nil, err
	}
	address, stop, err := serveRegistry(ctx, "127.0.0.1:0", blobs)
	if err != nil {
		_ = os.RemoveAll(blobs)
		return nil, nil, err
	}
	discard := func() { stop(); _ = os.RemoveAll(blobs) }
	defer func() {
		if err != nil {
			discard()
		}
	}()
	if _, err := r.run(ctx, "", r.helm, "push", pkg, "oci://"+address, "--plain-http"); err != nil {
		return nil, nil, err
	}
	tag, err := name.NewTag(address+"/"+chartName+":"+strings.TrimPrefix(r.version, "v"), name.StrictValidation)
	if err != nil {
		return nil, nil, err
	}
	if chart, err = remote.Image(tag, remote.WithContext(ctx)); err != nil {
		return nil, nil, fmt.Errorf("read the chart from the registry on loopback: %w", err)
	}
	return chart, discard, nil
}

// pinValues replaces the repositories and digests of the images in values.yaml.
func pinValues(file string, images []imageIndex) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	values := string(content)
	for _, image := range images {
		const noDigest = `digest: ""`
		public := "repository: " + publicRepository + "/" + image.program.name + "\n"
		before, after, found := strings.Cut(values, public)
		if !found {
			continue
		}
		if strings.Contains(after, public) || !strings.Contains(after, noDigest) {
			return fmt.Errorf("pin image %s in values.yaml: want one repository, followed by an empty digest", image.program.name)
		}
		values = before + "repository: " + image.repository + "\n" + strings.Replace(after, noDigest, `digest: "`+image.digest+`"`, 1)
	}
	if strings.Contains(values, `digest: ""`) {
		return fmt.Errorf("pin images in values.yaml: an image has no digest; name its repository %s/NAME as an image that is published", publicRepository)
	}
	return os.WriteFile(file, []byte(values), 0o644)
}

// setTimes sets the times of a file, or of all files below a directory, to the date of the release.
func (r *release) setTimes(top string) error {
	return filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, r.date, r.date)
	})
}
