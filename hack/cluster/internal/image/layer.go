// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image writes container images of static programs without a container engine or a registry. The same
// inputs give the same bytes, and so the same digest, on every machine.
package image

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// certificatesPath is the path at which Go programs look for trusted certificate authorities.
const certificatesPath = "/etc/ssl/certs/ca-certificates.crt"

// licensesPath is the directory of the license texts, where scanners of images look for them.
const licensesPath = "/licenses"

// epoch replaces all times in an image, because real times would change the digest with each build.
var epoch = time.Unix(0, 0).UTC()

// file is a regular file of a layer.
type file struct {
	// path is absolute inside the image.
	path string
	// source is the path of the file on this machine.
	source string
	mode   fs.FileMode
}

// writeLayer writes files and their parent directories as a tar archive, sorted, owned by root and without times.
func writeLayer(out io.Writer, files []file) error {
	archive := tar.NewWriter(out)
	for _, directory := range parents(files) {
		header := &tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(directory, "/") + "/", Mode: 0o755, ModTime: epoch, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("write directory %s: %w", directory, err)
		}
	}
	sorted := slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.path, b.path) })
	for _, f := range sorted {
		if err := writeFile(archive, f); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("finish layer: %w", err)
	}
	return nil
}

func writeFile(archive *tar.Writer, f file) error {
	source, err := os.Open(f.source)
	if err != nil {
		return fmt.Errorf("open source of %s: %w", f.path, err)
	}
	defer func() { _ = source.Close() }()
	info, err := source.Stat()
	if err != nil {
		return fmt.Errorf("inspect source of %s: %w", f.path, err)
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(f.path, "/"), Mode: int64(f.mode.Perm()), Size: info.Size(), ModTime: epoch, Format: tar.FormatPAX}
	if err := archive.WriteHeader(header); err != nil {
		return fmt.Errorf("write header of %s: %w", f.path, err)
	}
	if _, err := io.Copy(archive, source); err != nil {
		return fmt.Errorf("write content of %s: %w", f.path, err)
	}
	return nil
}

// licenseTexts returns the files of a directory of license texts; none if the directory is "".
func licenseTexts(directory string) ([]file, error) {
	if directory == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, fmt.Errorf("list license texts: %w", err)
	}
	var files []file
	for _, entry := range entries {
		files = append(files, file{path: path.Join(licensesPath, entry.Name()), source: filepath.Join(directory, entry.Name()), mode: 0o644})
	}
	return files, nil
}

// parents returns the directories above the files, each after its own parent.
func parents(files []file) []string {
	var directories []string
	for _, f := range files {
		for directory := path.Dir(f.path); directory != "/"; directory = path.Dir(directory) {
			directories = append(directories, directory)
		}
	}
	slices.Sort(directories)
	return slices.Compact(directories)
}
