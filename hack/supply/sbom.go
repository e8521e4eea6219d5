// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// program is a binary with its build information.
type program struct {
	name, sha256 string
	info         *debug.BuildInfo
}

func readProgram(file string) (program, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return program{}, err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return program{}, err
	}
	sum := sha256.Sum256(content)
	return program{name: filepath.Base(file), sha256: hex.EncodeToString(sum[:]), info: info}, nil
}

// sbom returns the bill of materials of a program in CycloneDX: the digest of the binary, and the modules that
// it links. It has no time and no serial number, so that the same binary has the same bill.
func (p program) sbom(version string, modules []module) ([]byte, error) {
	licenses := map[string][]string{}
	for _, m := range modules {
		licenses[m.path] = m.licenses
	}
	main := cyclonedx.Component{
		BOMRef:     packageURL(p.info.Main.Path, version) + "#" + strings.TrimPrefix(p.info.Path, p.info.Main.Path+"/"),
		Type:       cyclonedx.ComponentTypeApplication,
		Name:       p.name,
		Version:    version,
		Hashes:     &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: p.sha256}},
		Licenses:   licenseChoices([]string{"Apache-2.0"}),
		Properties: settings(p.info),
	}
	main.PackageURL = main.BOMRef
	components := []cyclonedx.Component{{
		BOMRef: packageURL(standardLibrary, strings.TrimPrefix(p.info.GoVersion, "go")), Type: cyclonedx.ComponentTypeLibrary,
		Name: standardLibrary, Version: p.info.GoVersion, Licenses: licenseChoices(licenses[standardLibrary]),
	}}
	for _, dep := range p.info.Deps {
		if licenses[dep.Path] == nil {
			return nil, fmt.Errorf("module %s of the program is not linked by this tree: build the program again", dep.Path)
		}
		linked := dep
		if dep.Replace != nil {
			linked = dep.Replace
		}
		sum, err := moduleHash(linked.Sum)
		if err != nil {
			return nil, fmt.Errorf("module %s: %w", dep.Path, err)
		}
		components = append(components, cyclonedx.Component{
			BOMRef: packageURL(linked.Path, linked.Version), Type: cyclonedx.ComponentTypeLibrary,
			Name: linked.Path, Version: linked.Version, Hashes: sum, Licenses: licenseChoices(licenses[dep.Path]),
		})
	}
	var all []string
	for i := range components {
		components[i].PackageURL = components[i].BOMRef
		all = append(all, components[i].BOMRef)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &main}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &all}}

	var out bytes.Buffer
	encoder := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.EncodeVersion(bom, cyclonedx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return out.Bytes(), nil
}

// packageURL returns the package URL of a module (https://github.com/package-url/purl-spec).
func packageURL(modulePath, version string) string {
	return "pkg:" + path.Join("golang", modulePath) + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// moduleHash returns the hash of a module in go.sum, which covers all its files.
func moduleHash(sum string) (*[]cyclonedx.Hash, error) {
	encoded, ok := strings.CutPrefix(sum, "h1:")
	if !ok {
		return nil, fmt.Errorf("the sum is %q, want an h1 sum", sum)
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("decode sum: %w", err)
	}
	return &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(decoded)}}, nil
}

func licenseChoices(ids []string) *cyclonedx.Licenses {
	var choices cyclonedx.Licenses
	for _, id := range ids {
		choices = append(choices, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	return &choices
}

// settings returns the build settings of the program.
func settings(info *debug.BuildInfo) *[]cyclonedx.Property {
	var properties []cyclonedx.Property
	for _, s := range info.Settings {
		properties = append(properties, cyclonedx.Property{Name: "build:" + s.Key, Value: s.Value})
	}
	return &properties
}
