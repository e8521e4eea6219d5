// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// writeSBOMs writes NAME.spdx.json for each program into a directory.
func (r *release) writeSBOMs(ctx context.Context, dir string, programs ...string) error {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	args := []string{"run", "./hack/supply", "sbom", "--version", r.version, "--created", r.date.Format(time.RFC3339), "--output", absolute}
	for _, file := range programs {
		if file, err = filepath.Abs(file); err != nil {
			return err
		}
		args = append(args, file)
	}
	_, err = r.run(ctx, r.root, "go", args...)
	return err
}

// provenance is a predicate of SLSA provenance (https://slsa.dev/spec/v1.0/provenance). It does not contain the time of the build,
// so that the predicates of two runs for one commit have equal bytes.
type provenance struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      runDetails      `json:"runDetails"`
}

type buildDefinition struct {
	BuildType            string            `json:"buildType"`
	ExternalParameters   map[string]string `json:"externalParameters"`
	InternalParameters   map[string]string `json:"internalParameters"`
	ResolvedDependencies []dependency      `json:"resolvedDependencies"`
}

type dependency struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest,omitempty"`
}

type runDetails struct {
	Builder struct {
		ID string `json:"id"`
	} `json:"builder"`
	Metadata *runMetadata `json:"metadata,omitempty"`
}

type runMetadata struct {
	InvocationID string `json:"invocationId"`
}

// newProvenance returns the provenance of a build: by GitHub Actions if the environment variables describe it, and otherwise by hand.
func (r *release) newProvenance(environment func(string) string) provenance {
	p := provenance{BuildDefinition: buildDefinition{
		BuildType:          sourceURL + "/blob/main/hack/release",
		ExternalParameters: map[string]string{"version": r.version, "repository": r.repository},
		InternalParameters: map[string]string{"go": runtime.Version()},
		ResolvedDependencies: []dependency{
			{URI: "git+" + sourceURL + "@refs/tags/" + r.version, Digest: map[string]string{"gitCommit": r.commit}},
		},
	}}
	p.RunDetails.Builder.ID = sourceURL + "/hack/release"
	if workflow := environment("GITHUB_WORKFLOW_REF"); workflow != "" {
		server := environment("GITHUB_SERVER_URL")
		p.RunDetails.Builder.ID = server + "/" + workflow
		p.RunDetails.Metadata = &runMetadata{InvocationID: fmt.Sprintf("%s/%s/actions/runs/%s/attempts/%s",
			server, environment("GITHUB_REPOSITORY"), environment("GITHUB_RUN_ID"), environment("GITHUB_RUN_ATTEMPT"))}
	}
	return p
}

// provenanceFile returns the path of the file with the predicate.
func (r *release) provenanceFile() string { return filepath.Join(r.output, "provenance.json") }

// writeProvenance writes the predicate of all images, the chart and the archives.
func (r *release) writeProvenance() error {
	content, err := json.MarshalIndent(r.newProvenance(os.Getenv), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.provenanceFile(), append(content, '\n'), 0o644)
}
