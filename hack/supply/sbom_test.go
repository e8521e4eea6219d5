// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
	"github.com/spdx/tools-golang/spdxlib"
)

func testProgram() program {
	const sum = "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	return program{name: "sidecar", sha256: strings.Repeat("0", 64), info: &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Path:      "example.com/own/cmd/sidecar",
		Main:      debug.Module{Path: "example.com/own", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.com/a", Version: "v1.0.0+incompatible", Sum: sum},
			{Path: "example.com/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.1.0", Sum: sum}},
		},
		Settings: []debug.BuildSetting{{Key: "CGO_ENABLED", Value: "0"}},
	}}
}

var testModules = []module{
	{path: "example.com/a", licenses: []string{"MIT"}},
	{path: "example.com/b", licenses: []string{"Apache-2.0", "BSD-3-Clause"}},
	{path: standardLibrary, licenses: []string{"BSD-3-Clause"}},
}

var created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestSBOMIsSPDX(t *testing.T) {
	got, err := testProgram().sbom("v0.1.0", created, testModules)
	if err != nil {
		t.Fatal(err)
	}
	var document v2_3.Document
	if err := spdxjson.ReadInto(bytes.NewReader(got), &document); err != nil {
		t.Fatalf("%v in\n%s", err, got)
	}
	if err := spdxlib.ValidateDocument(&document); err != nil {
		t.Errorf("%v in\n%s", err, got)
	}
	described, err := spdxlib.GetDescribedPackageIDs(&document)
	if err != nil || !slices.Equal(described, []common.ElementID{programID}) {
		t.Errorf("the document describes %v, %v; want the program", described, err)
	}
	if document.CreationInfo.Created != "2026-01-02T03:04:05Z" {
		t.Errorf("created = %s", document.CreationInfo.Created)
	}
	if program := document.Packages[0]; program.PackageChecksums[0].Value != strings.Repeat("0", 64) || !strings.Contains(program.PackageSourceInfo, "CGO_ENABLED=0") {
		t.Errorf("program = %+v, want its digest and its build settings", program)
	}
	again, err := testProgram().sbom("v0.1.0", created, testModules)
	if err != nil || !bytes.Equal(got, again) {
		t.Errorf("the SBOM of the same program differs, error = %v", err)
	}
}

func TestSBOMListsLinkedModules(t *testing.T) {
	got, err := testProgram().sbom("v0.1.0", created, testModules)
	if err != nil {
		t.Fatal(err)
	}
	var document v2_3.Document
	if err := spdxjson.ReadInto(bytes.NewReader(got), &document); err != nil {
		t.Fatal(err)
	}
	licenses := map[string]string{}
	for _, p := range document.Packages {
		licenses[p.PackageExternalReferences[0].Locator] = p.PackageLicenseConcluded
	}
	want := map[string]string{
		"pkg:golang/example.com/own@v0.1.0#cmd/sidecar":  "Apache-2.0",
		"pkg:golang/std@1.26.8":                          "BSD-3-Clause",
		"pkg:golang/example.com/a@v1.0.0%2Bincompatible": "MIT",
		"pkg:golang/example.com/fork@v1.1.0":             "Apache-2.0 AND BSD-3-Clause",
	}
	if diff := cmp.Diff(want, licenses); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
	linked := 0
	for _, r := range document.Relationships {
		if r.Relationship == common.TypeRelationshipDependsOn && r.RefA.ElementRefID == programID {
			linked++
		}
	}
	if linked != len(document.Packages)-1 {
		t.Errorf("the program depends on %d packages, want %d", linked, len(document.Packages)-1)
	}
}

func TestSBOMRejectsUnlistedModules(t *testing.T) {
	if _, err := testProgram().sbom("v0.1.0", created, testModules[1:]); err == nil || !strings.Contains(err.Error(), "example.com/a") {
		t.Errorf("sbom() error = %v, want it to name the module", err)
	}
}
