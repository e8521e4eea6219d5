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
	"strconv"
	"strings"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
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

// Identifiers of the document and of the program in an SBOM.
const (
	documentID = common.ElementID("DOCUMENT")
	programID  = common.ElementID("program")
)

// noAssertion is the value of SPDX for a field whose value the document does not state.
const noAssertion = "NOASSERTION"

// sbom returns the SBOM of a program in SPDX 2.3: the digest of the binary, and the modules that it links. Equal arguments give
// equal bytes. SPDX requires a creation time; created is the time of the commit.
func (p program) sbom(version string, created time.Time, modules []module) ([]byte, error) {
	licenses := map[string][]string{}
	for _, m := range modules {
		licenses[m.path] = m.licenses
	}
	packages := []*v2_3.Package{{
		PackageName: p.name, PackageSPDXIdentifier: programID, PackageVersion: version, PackageFileName: p.name,
		PackageDownloadLocation: noAssertion, PrimaryPackagePurpose: "APPLICATION",
		PackageLicenseConcluded: "Apache-2.0", PackageLicenseDeclared: "Apache-2.0", PackageCopyrightText: noAssertion,
		PackageChecksums:          []common.Checksum{{Algorithm: common.SHA256, Value: p.sha256}},
		PackageSourceInfo:         settings(p.info),
		PackageExternalReferences: packageReference(packageURL(p.info.Main.Path, version) + "#" + strings.TrimPrefix(p.info.Path, p.info.Main.Path+"/")),
	}, {
		PackageName: standardLibrary, PackageSPDXIdentifier: "module-std", PackageVersion: p.info.GoVersion,
		PackageDownloadLocation: "https://go.dev/dl/" + p.info.GoVersion + ".src.tar.gz", PrimaryPackagePurpose: "LIBRARY",
		PackageLicenseConcluded: licenseExpression(licenses[standardLibrary]), PackageLicenseDeclared: licenseExpression(licenses[standardLibrary]),
		PackageCopyrightText:      noAssertion,
		PackageExternalReferences: packageReference(packageURL(standardLibrary, strings.TrimPrefix(p.info.GoVersion, "go"))),
	}}
	for i, dep := range p.info.Deps {
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
		packages = append(packages, &v2_3.Package{
			PackageName: linked.Path, PackageSPDXIdentifier: common.ElementID("module-" + strconv.Itoa(i+1)), PackageVersion: linked.Version,
			PackageDownloadLocation: noAssertion, PrimaryPackagePurpose: "LIBRARY", PackageChecksums: []common.Checksum{sum},
			PackageLicenseConcluded: licenseExpression(licenses[dep.Path]), PackageLicenseDeclared: licenseExpression(licenses[dep.Path]),
			PackageCopyrightText:      noAssertion,
			PackageExternalReferences: packageReference(packageURL(linked.Path, linked.Version)),
		})
	}
	document := &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: documentID, DocumentName: p.name,
		DocumentNamespace: "https://" + p.info.Main.Path + "/spdx/" + p.name + "-" + p.sha256,
		CreationInfo: &v2_3.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "a2a-operator-hack-supply"}}, Created: created.UTC().Format(time.RFC3339),
		},
		Packages:      packages,
		Relationships: []*v2_3.Relationship{relationship(documentID, common.TypeRelationshipDescribe, programID)},
	}
	for _, linked := range packages[1:] {
		document.Relationships = append(document.Relationships,
			relationship(programID, common.TypeRelationshipDependsOn, linked.PackageSPDXIdentifier))
	}
	var out bytes.Buffer
	if err := spdxjson.Write(document, &out, spdxjson.Indent("  ")); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return out.Bytes(), nil
}

func relationship(from common.ElementID, kind string, to common.ElementID) *v2_3.Relationship {
	return &v2_3.Relationship{
		RefA: common.DocElementID{ElementRefID: from}, Relationship: kind, RefB: common.DocElementID{ElementRefID: to},
	}
}

// packageReference returns a package URL as an external reference.
func packageReference(url string) []*v2_3.PackageExternalReference {
	return []*v2_3.PackageExternalReference{{
		Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: url,
	}}
}

// packageURL returns the package URL of a module (https://github.com/package-url/purl-spec).
func packageURL(modulePath, version string) string {
	return "pkg:" + path.Join("golang", modulePath) + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// moduleHash returns the hash of a module in go.sum, which covers all its files.
func moduleHash(sum string) (common.Checksum, error) {
	encoded, ok := strings.CutPrefix(sum, "h1:")
	if !ok {
		return common.Checksum{}, fmt.Errorf("the sum is %q, want an h1 sum", sum)
	}
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return common.Checksum{}, fmt.Errorf("decode sum: %w", err)
	}
	return common.Checksum{Algorithm: common.SHA256, Value: hex.EncodeToString(decoded)}, nil
}

// licenseExpression returns the SPDX expression for the conjunction of licenses.
func licenseExpression(ids []string) string {
	if len(ids) == 0 {
		return noAssertion
	}
	return strings.Join(ids, " AND ")
}

// settings returns the build settings of the program on one line.
func settings(info *debug.BuildInfo) string {
	words := []string{"built by " + info.GoVersion}
	for _, s := range info.Settings {
		words = append(words, s.Key+"="+s.Value)
	}
	return strings.Join(words, " ")
}
