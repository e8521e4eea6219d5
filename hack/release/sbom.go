// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// project supplies the programs, and is the author of their SBOMs.
var project = cdx.OrganizationalEntity{
	BOMRef: "supplier", Name: "The a2a-operator Authors", URL: &[]string{"https://github.com/a2a-operator/a2a-operator"},
}

// rootsModule is the module of the certificate authorities.
const rootsModule = "golang.org/x/crypto/x509roots/fallback"

// completeFile completes the SBOM of a program in place. If authorities names the bundle of an image, the SBOM describes this bundle, too.
func completeFile(time, file, authorities string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var bom cdx.BOM
	err = cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bom)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	complete(&bom, time)
	if authorities != "" {
		err = addAuthorities(&bom, authorities)
		if err != nil {
			return err
		}
	}
	err = missing(&bom)
	if err != nil {
		return fmt.Errorf("%s lacks minimum elements of an SBOM: %w", file, err)
	}
	var out bytes.Buffer
	err = cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(&bom, cdx.SpecVersion1_6)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// complete adds the author, the time and the suppliers, which the minimum elements of the NTIA require.
func complete(bom *cdx.BOM, time string) {
	if bom.Metadata == nil {
		bom.Metadata = &cdx.Metadata{}
	}
	bom.Metadata.Timestamp = time
	bom.Metadata.Supplier = &project
	bom.Metadata.Authors = &[]cdx.OrganizationalContact{{Name: project.Name}}
	if bom.Metadata.Component != nil {
		bom.Metadata.Component.Supplier = &project
	}
	if bom.Components == nil {
		return
	}
	for i := range *bom.Components {
		c := &(*bom.Components)[i]
		if c.Supplier == nil {
			c.Supplier = supplierOf(c.Name)
		}
	}
	// cyclonedx-gomod names no module that depends on the standard library.
	for _, c := range *bom.Components {
		if !related(bom)[c.BOMRef] {
			dependOn(bom, c.BOMRef)
		}
	}
}

// related returns the references of the components of which the SBOM names a dependent.
func related(bom *cdx.BOM) map[string]bool {
	all := map[string]bool{}
	if bom.Dependencies == nil {
		return all
	}
	for _, d := range *bom.Dependencies {
		if d.Dependencies == nil {
			continue
		}
		for _, ref := range *d.Dependencies {
			all[ref] = true
		}
	}
	return all
}

// dependOn adds a component to those on which the main component depends.
func dependOn(bom *cdx.BOM, ref string) {
	if bom.Metadata.Component == nil {
		return
	}
	main := bom.Metadata.Component.BOMRef
	dependencies := []cdx.Dependency{}
	if bom.Dependencies != nil {
		dependencies = *bom.Dependencies
	}
	at := slices.IndexFunc(dependencies, func(d cdx.Dependency) bool { return d.Ref == main })
	if at < 0 {
		at = len(dependencies)
		dependencies = append(dependencies, cdx.Dependency{Ref: main})
	}
	refs := []string{}
	if dependencies[at].Dependencies != nil {
		refs = *dependencies[at].Dependencies
	}
	refs = append(refs, ref)
	dependencies[at].Dependencies = &refs
	if !slices.ContainsFunc(dependencies, func(d cdx.Dependency) bool { return d.Ref == ref }) {
		dependencies = append(dependencies, cdx.Dependency{Ref: ref})
	}
	bom.Dependencies = &dependencies
}

// supplierOf returns the supplier of a Go module by its path: the owner of the repository, or the host.
func supplierOf(module string) *cdx.OrganizationalEntity {
	host, rest, _ := strings.Cut(module, "/")
	owner, _, _ := strings.Cut(rest, "/")
	switch {
	case module == "std", host == "golang.org", host == "google.golang.org":
		return &cdx.OrganizationalEntity{Name: "The Go Authors", URL: &[]string{"https://go.dev"}}
	case host == "k8s.io", host == "sigs.k8s.io":
		return &cdx.OrganizationalEntity{Name: "The Kubernetes Authors", URL: &[]string{"https://" + host}}
	case (host == "github.com" || host == "gitlab.com") && owner != "":
		return &cdx.OrganizationalEntity{Name: owner, URL: &[]string{"https://" + host + "/" + owner}}
	default:
		return &cdx.OrganizationalEntity{Name: host, URL: &[]string{"https://" + host}}
	}
}

// addAuthorities adds the bundle of certificate authorities of an image.
func addAuthorities(bom *cdx.BOM, file string) error {
	digest, err := digestOf(file)
	if err != nil {
		return err
	}
	version, err := versionOf(rootsModule)
	if err != nil {
		return err
	}
	c := cdx.Component{
		BOMRef: "file:ca-certificates.crt", Type: cdx.ComponentTypeData, Name: "/etc/ssl/certs/ca-certificates.crt", Version: version,
		Description: "The certificate authorities that Mozilla trusts, as the Go project publishes them in " + rootsModule,
		Supplier:    &cdx.OrganizationalEntity{Name: "Mozilla", URL: &[]string{"https://wiki.mozilla.org/CA"}},
		Hashes:      &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: digest}},
		Licenses:    &cdx.Licenses{{License: &cdx.License{ID: "MPL-2.0"}}},
		PackageURL:  "pkg:golang/" + rootsModule + "@" + version,
	}
	components := []cdx.Component{}
	if bom.Components != nil {
		components = *bom.Components
	}
	components = append(components, c)
	bom.Components = &components
	dependOn(bom, c.BOMRef)
	return nil
}

// versionOf returns the version of a module that this program links.
func versionOf(module string) (string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", errors.New("this program has no build information")
	}
	for _, m := range info.Deps {
		if m.Path == module {
			return m.Version, nil
		}
	}
	return "", fmt.Errorf("this program does not link %s", module)
}

// missing returns an error for each minimum element of the NTIA that an SBOM lacks: its author and time, and the supplier, name, version,
// identifier and relation of each component.
func missing(bom *cdx.BOM) error {
	var errs []error
	if bom.Metadata.Timestamp == "" || bom.Metadata.Authors == nil || bom.Metadata.Component == nil {
		return errors.New("time, author or main component")
	}
	dependents := related(bom)
	dependents[bom.Metadata.Component.BOMRef] = true
	all := []cdx.Component{*bom.Metadata.Component}
	if bom.Components != nil {
		all = append(all, *bom.Components...)
	}
	for _, c := range all {
		switch {
		case c.Name == "":
			errs = append(errs, fmt.Errorf("%s has no name", c.BOMRef))
		case c.Supplier == nil || c.Supplier.Name == "":
			errs = append(errs, fmt.Errorf("%s has no supplier", c.Name))
		case c.Version == "":
			errs = append(errs, fmt.Errorf("%s has no version", c.Name))
		case c.PackageURL == "":
			errs = append(errs, fmt.Errorf("%s has no identifier", c.Name))
		case !dependents[c.BOMRef]:
			errs = append(errs, fmt.Errorf("nothing is said to depend on %s", c.Name))
		}
	}
	return errors.Join(errs...)
}
