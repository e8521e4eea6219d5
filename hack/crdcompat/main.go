// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command crdcompat compares the CRDs with the CRDs of the last release. It fails if an object that the last release
// accepted may be invalid now.
//
// crdify compares the schemas. accepted.yaml, in the directory of the released CRDs, lists deliberate changes with their
// reasons until the next release.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	released := flag.String("released", "config/crd/released", "The `directory` of the CRDs of the last release.")
	current := flag.String("current", "config/crd/bases", "The `directory` of the current CRDs.")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, *released, *current); err != nil {
		fmt.Fprintln(os.Stderr, "crdcompat:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, released, current string) error {
	changes, err := compare(ctx, released, current)
	if err != nil {
		return err
	}
	accepted, err := readAccepted(filepath.Join(released, acceptedFile))
	if err != nil {
		return err
	}
	complaints := accepted.judge(changes)
	for _, complaint := range complaints {
		fmt.Fprintln(os.Stderr, complaint)
	}
	if len(complaints) > 0 {
		return fmt.Errorf("%d changes are incompatible with the last release; list deliberate changes in %s, with a reason (CONTRIBUTING.md, Releases)",
			len(complaints), filepath.Join(released, acceptedFile))
	}
	return nil
}

// compare returns the changes that may invalidate objects of the last release.
func compare(ctx context.Context, released, current string) ([]change, error) {
	paths, err := filepath.Glob(filepath.Join(released, "*_*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no CRD in %s", released)
	}
	var all []change
	for _, path := range paths {
		before, err := read(path)
		if err != nil {
			return nil, err
		}
		now := filepath.Join(current, filepath.Base(path))
		after, err := read(now)
		if os.IsNotExist(err) {
			all = append(all, change{CRD: before.Name, Change: "removed"})
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, versions(before, after)...)
		schemas, err := crdify(ctx, path, now)
		if err != nil {
			return nil, err
		}
		for _, c := range schemas {
			c.CRD = before.Name
			all = append(all, c)
		}
	}
	return all, nil
}

func read(path string) (*apiextensionsv1.CustomResourceDefinition, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return crd, nil
}

// versions returns a change for each version that is no longer served, which crdify ignores, and for each version that
// lost its status or scale subresource.
func versions(before, after *apiextensionsv1.CustomResourceDefinition) []change {
	served := map[string]apiextensionsv1.CustomResourceDefinitionVersion{}
	for _, v := range after.Spec.Versions {
		if v.Served {
			served[v.Name] = v
		}
	}
	var all []change
	for _, was := range before.Spec.Versions {
		if !was.Served {
			continue
		}
		now, ok := served[was.Name]
		if !ok {
			all = append(all, change{CRD: before.Name, Version: was.Name, Change: "versionRemoved"})
			continue
		}
		for _, lost := range subresourcesLost(was.Subresources, now.Subresources) {
			all = append(all, change{CRD: before.Name, Version: was.Name, Change: lost})
		}
	}
	return all
}

func subresourcesLost(was, now *apiextensionsv1.CustomResourceSubresources) []string {
	if was == nil {
		return nil
	}
	if now == nil {
		now = &apiextensionsv1.CustomResourceSubresources{}
	}
	var lost []string
	if was.Status != nil && now.Status == nil {
		lost = append(lost, "statusRemoved")
	}
	if was.Scale != nil && now.Scale == nil {
		lost = append(lost, "scaleRemoved")
	}
	return lost
}
