// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func bare() *cdx.BOM {
	return &cdx.BOM{
		Metadata: &cdx.Metadata{Component: &cdx.Component{BOMRef: "main", Name: "github.com/a2a-operator/a2a-operator", Version: "v1", PackageURL: "pkg:golang/a"}},
		Components: &[]cdx.Component{
			{BOMRef: "a", Name: "github.com/go-logr/logr", Version: "v1.4.3", PackageURL: "pkg:golang/github.com/go-logr/logr@v1.4.3"},
			{BOMRef: "std", Name: "std", Version: "v1.26.5", PackageURL: "pkg:golang/std@v1.26.5"},
			{BOMRef: "b", Name: "golang.org/x/net", Version: "v0.50.0", PackageURL: "pkg:golang/golang.org/x/net@v0.50.0"},
		},
		Dependencies: &[]cdx.Dependency{{Ref: "main", Dependencies: &[]string{"a", "b"}}},
	}
}

func TestCompleteSBOM(t *testing.T) {
	bom := bare()
	err := missing(bom)
	if err == nil {
		t.Fatal("an SBOM without author and suppliers is complete")
	}
	complete(bom, "2026-11-30T00:00:00Z")
	err = missing(bom)
	if err != nil {
		t.Error(err)
	}
	suppliers := map[string]string{}
	for _, c := range *bom.Components {
		suppliers[c.Name] = c.Supplier.Name
	}
	if suppliers["github.com/go-logr/logr"] != "go-logr" || suppliers["golang.org/x/net"] != "The Go Authors" {
		t.Errorf("suppliers = %v", suppliers)
	}
}

func TestMissingNamesTheElement(t *testing.T) {
	for want, change := range map[string]func(*cdx.BOM){
		"no version":           func(b *cdx.BOM) { (*b.Components)[0].Version = "" },
		"no identifier":        func(b *cdx.BOM) { (*b.Components)[0].PackageURL = "" },
		"nothing is said":      func(b *cdx.BOM) { (*b.Dependencies)[0].Dependencies = &[]string{"b"} },
		"no supplier":          func(b *cdx.BOM) { (*b.Components)[2].Supplier = &cdx.OrganizationalEntity{} },
		"time, author or main": func(b *cdx.BOM) { b.Metadata.Timestamp = "" },
	} {
		bom := bare()
		complete(bom, "2026-11-30T00:00:00Z")
		change(bom)
		err := missing(bom)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
}

func TestStatementHasEachFileAsASubject(t *testing.T) {
	directory := t.TempDir()
	for name, text := range map[string]string{"provenance.json": `{"buildDefinition":{}}`, "a.txt": "a", "b.txt": "b"} {
		err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	err := writeStatement(&out, filepath.Join(directory, "provenance.json"), []string{filepath.Join(directory, "a.txt"), filepath.Join(directory, "b.txt")})
	if err != nil {
		t.Fatal(err)
	}
	var s statement
	err = json.Unmarshal([]byte(out.String()), &s)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Subject) != 2 || s.Subject[1].Name != "b.txt" || len(s.Subject[1].Digest["sha256"]) != 64 || s.PredicateType != "https://slsa.dev/provenance/v1" {
		t.Errorf("statement = %+v", s)
	}
}
