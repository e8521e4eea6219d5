// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// archived is an archive of the plugin.
type archived struct {
	target target
	name   string
	sha256 string
}

// packedFile is a file of an archive.
type packedFile struct {
	name    string
	mode    fs.FileMode
	content []byte
}

// writeArchives writes an archive of the plugin for each target, an SBOM for each archive, and the manifest of krew.
func (r *release) writeArchives(ctx context.Context) error {
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	licenses, err := r.writeLicenses(ctx)
	if err != nil {
		return err
	}
	var archives []archived
	for _, t := range pluginTargets {
		file := filepath.Join(r.output, "programs", t.directory(), t.executable(plugin))
		if err := r.build(ctx, plugin, t, file); err != nil {
			return err
		}
		base := plugin.name + "_" + r.version + "_" + t.directory()
		sboms := filepath.Join(r.output, "sbom", t.directory())
		if err := r.writeSBOMs(ctx, sboms, file); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(sboms, t.executable(plugin)+".spdx.json"), filepath.Join(r.output, base+".spdx.json")); err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		pack, suffix := packTarGz, ".tar.gz"
		if t.system == "windows" {
			pack, suffix = packZip, ".zip"
		}
		completion, err := r.completionProgram(t)
		if err != nil {
			return err
		}
		packed, err := pack(r.date, []packedFile{{t.executable(plugin), 0o755, content}, completion, {"LICENSE", 0o644, license}, {"licenses.txt", 0o644, licenses}})
		if err != nil {
			return err
		}
		name := base + suffix
		if err := os.WriteFile(filepath.Join(r.output, name), packed, 0o644); err != nil {
			return err
		}
		r.reportf("archive  %s", filepath.Join(r.output, name))
		archives = append(archives, archived{target: t, name: name, sha256: fmt.Sprintf("%x", sha256.Sum256(packed))})
	}
	return os.WriteFile(filepath.Join(r.output, "a2a.yaml"), []byte(krewManifest(r.version, archives)), 0o644)
}

// completionProgram returns the program that kubectl runs to complete the words after the name of the plugin.
func (r *release) completionProgram(t target) (packedFile, error) {
	name := "kubectl_complete-a2a"
	if t.system == "windows" {
		name += ".cmd"
	}
	content, err := os.ReadFile(filepath.Join(r.root, "internal/cli/completion", name))
	return packedFile{name, 0o755, content}, err
}

// writeLicenses writes the license texts of all linked modules, which must accompany the programs, and returns them.
func (r *release) writeLicenses(ctx context.Context) ([]byte, error) {
	file, err := filepath.Abs(filepath.Join(r.output, "licenses.txt"))
	if err != nil {
		return nil, err
	}
	if _, err := r.run(ctx, r.root, "go", "run", "./hack/supply", "licenses", "--texts", file); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

func packTarGz(date time.Time, files []packedFile) ([]byte, error) {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	for _, file := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: file.name, Mode: int64(file.mode), Size: int64(len(file.content)), ModTime: date}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(file.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func packZip(date time.Time, files []packedFile) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, file := range files {
		header := &zip.FileHeader{Name: file.name, Method: zip.Deflate, Modified: date}
		header.SetMode(file.mode)
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(file.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// krewManifest returns the manifest by which krew, the plugin manager of kubectl, installs the archives.
func krewManifest(version string, archives []archived) string {
	var out strings.Builder
	fmt.Fprintf(&out, `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: a2a
spec:
  version: %s
  homepage: %s
  shortDescription: Call, inspect and debug A2A agents
  description: |
    Finds the A2A agents of a cluster, calls them, shows their tasks and cards, and explains why an
    agent of a2a-operator does not work.
  caveats: |
    krew installs no programs for completion. To complete the words after "kubectl a2a", run once:
      kubectl a2a completion kubectl
  platforms:
`, version, sourceURL)
	for _, a := range archives {
		fmt.Fprintf(&out, `    - selector:
        matchLabels:
          os: %s
          arch: %s
      uri: %s/releases/download/%s/%s
      sha256: %s
      bin: %s
`, a.target.system, a.target.architecture, sourceURL, version, a.name, a.sha256, a.target.executable(plugin))
	}
	return out.String()
}

// writeChecksums lists the SHA-256 of the files that users download.
func (r *release) writeChecksums() error {
	entries, err := os.ReadDir(r.output)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(r.output, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	return os.WriteFile(filepath.Join(r.output, "checksums.txt"), []byte(list.String()), 0o644)
}
