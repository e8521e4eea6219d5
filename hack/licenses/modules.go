// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// platforms are the platforms of the released programs, with the programs that are released for each. All platforms
// are listed, because some modules are linked on one platform only.
var platforms = []struct{ system, architecture, programs string }{
	{"linux", "amd64", "./cmd/..."},
	{"linux", "arm64", "./cmd/..."},
	{"darwin", "amd64", plugin},
	{"darwin", "arm64", plugin},
	{"windows", "amd64", plugin},
	{"windows", "arm64", plugin},
}

// plugin is the program that is also released for platforms without images.
const plugin = "./cmd/kubectl-a2a"

// module is a module with packages that are linked into a program.
type module struct {
	path, version string
	// files are the license files of the module and of its linked packages.
	files []string
	// licenses are the licenses in files, as SPDX identifiers.
	licenses []string
	// programs are the programs that link the module.
	programs []string
}

// standardLibrary is the name of the module for the standard library.
const standardLibrary = "std"

// listed is a package in the output of `go list`.
type listed struct {
	ImportPath string        `json:"ImportPath"`
	Name       string        `json:"Name"`
	Dir        string        `json:"Dir"`
	Standard   bool          `json:"Standard"`
	Deps       []string      `json:"Deps"`
	Module     *listedModule `json:"Module"`
}

type listedModule struct {
	Path    string        `json:"Path"`
	Version string        `json:"Version"`
	Dir     string        `json:"Dir"`
	Main    bool          `json:"Main"`
	Replace *listedModule `json:"Replace"`
}

// shipped returns the modules of all programs, sorted by path.
func shipped() ([]module, error) {
	found := map[string]*module{}
	root, err := goroot()
	if err != nil {
		return nil, err
	}
	for _, p := range platforms {
		packages, err := list(p.system, p.architecture, p.programs)
		if err != nil {
			return nil, err
		}
		if err := collect(packages, root, found); err != nil {
			return nil, err
		}
	}
	modules := make([]module, 0, len(found))
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(found)) {
		m := *found[path]
		slices.Sort(m.files)
		slices.Sort(m.programs)
		m.files, m.programs = slices.Compact(m.files), slices.Compact(m.programs)
		licenses, err := licensesOf(m)
		if err != nil {
			errs = append(errs, err)
		}
		m.licenses = licenses
		modules = append(modules, m)
	}
	return modules, errors.Join(errs...)
}

func list(system, architecture, programs string) ([]listed, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Name,Dir,Standard,Deps,Module", programs)
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+architecture, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", programs, err)
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("read go list: %w", err)
		}
		packages = append(packages, p)
	}
}

// goroot returns the directory of the standard library. A program that was built with -trimpath does not contain
// it.
func goroot() (string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// collect adds to found each module that a program in packages links.
func collect(packages []listed, goroot string, found map[string]*module) error {
	byPath := map[string]listed{}
	for _, p := range packages {
		byPath[p.ImportPath] = p
	}
	for _, program := range packages {
		if program.Name != "main" || program.Module == nil || !program.Module.Main {
			continue
		}
		for _, path := range program.Deps {
			p := byPath[path]
			if p.Module != nil && p.Module.Main {
				continue
			}
			m, files, err := moduleOf(p, goroot)
			if err != nil {
				return err
			}
			if found[m.path] == nil {
				found[m.path] = &m
			}
			found[m.path].files = append(found[m.path].files, files...)
			found[m.path].programs = append(found[m.path].programs, filepath.Base(program.ImportPath))
		}
	}
	return nil
}

// moduleOf returns the module of a package, and the license files of the package.
func moduleOf(p listed, goroot string) (module, []string, error) {
	if p.Standard {
		files, err := licenseFiles(goroot, goroot)
		return module{path: standardLibrary}, files, err
	}
	if p.Module == nil {
		return module{}, nil, fmt.Errorf("package %s is in no module", p.ImportPath)
	}
	m := module{path: p.Module.Path, version: p.Module.Version}
	if p.Module.Replace != nil {
		m.version = strings.TrimSpace(p.Module.Replace.Path + " " + p.Module.Replace.Version)
	}
	files, err := licenseFiles(p.Module.Dir, p.Dir)
	return m, files, err
}
