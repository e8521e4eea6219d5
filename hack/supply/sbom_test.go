// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
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

func TestSBOMIsCycloneDX(t *testing.T) {
	got, err := testProgram().sbom("v0.1.0", testModules)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(got))
	if err != nil {
		t.Fatal(err)
	}
	if err := cycloneDX(t).Validate(document); err != nil {
		t.Errorf("%v in\n%s", err, got)
	}
	again, err := testProgram().sbom("v0.1.0", testModules)
	if err != nil || !bytes.Equal(got, again) {
		t.Errorf("the SBOM of the same program differs, error = %v", err)
	}
}

func cycloneDX(t *testing.T) *jsonschema.Schema {
	t.Helper()
	const base = "http://cyclonedx.org/schema/"
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	for name, file := range map[string]string{
		"bom-1.6.schema.json": "bom-1.6.schema.json", "spdx.schema.json": "spdx.schema.json", "jsf-0.82.schema.json": "jsf-0.82.schemax.json",
	} {
		content, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "schema", file))
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource(base+name, document); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile(base + "bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestSBOMListsLinkedModules(t *testing.T) {
	got, err := testProgram().sbom("v0.1.0", testModules)
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		Components []struct {
			PURL     string
			Licenses []struct{ License struct{ ID string } }
		}
		Dependencies []struct {
			Ref       string
			DependsOn []string
		}
	}
	if err := json.Unmarshal(got, &bom); err != nil {
		t.Fatal(err)
	}
	licenses := map[string]string{}
	var all []string
	for _, c := range bom.Components {
		for _, l := range c.Licenses {
			licenses[c.PURL] += l.License.ID + " "
		}
		all = append(all, c.PURL)
	}
	want := map[string]string{
		"pkg:golang/std@1.26.8":                          "BSD-3-Clause ",
		"pkg:golang/example.com/a@v1.0.0%2Bincompatible": "MIT ",
		"pkg:golang/example.com/fork@v1.1.0":             "Apache-2.0 BSD-3-Clause ",
	}
	if diff := cmp.Diff(want, licenses); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
	if len(bom.Dependencies) != 1 || bom.Dependencies[0].Ref != "pkg:golang/example.com/own@v0.1.0#cmd/sidecar" {
		t.Fatalf("dependencies = %+v", bom.Dependencies)
	}
	if diff := cmp.Diff(all, bom.Dependencies[0].DependsOn); diff != "" {
		t.Errorf("dependencies of the program (-want +got):\n%s", diff)
	}
}

func TestSBOMRejectsUnlistedModules(t *testing.T) {
	if _, err := testProgram().sbom("v0.1.0", testModules[1:]); err == nil || !strings.Contains(err.Error(), "example.com/a") {
		t.Errorf("sbom() error = %v, want it to name the module", err)
	}
}
