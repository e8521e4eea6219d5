// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files maps the paths of files, or their names in one directory, to their contents.
type Files map[string][]byte

// maxFile bounds the size of a file, in bytes. A Secret or a ConfigMap is smaller.
const maxFile = 2 << 20

// ReadFiles reads the required files of a directory, and the optional files that exist.
// The keys of the result are the names.
func ReadFiles(dir string, required []string, optional ...string) (Files, error) {
	files := Files{}
	for i, name := range slices.Concat(required, optional) {
		text, err := readFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) && i >= len(required) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[name] = text
	}
	return files, nil
}

// ReadDirectory reads all files of a mounted volume. It skips the entries whose names
// begin with two dots, which the kubelet creates for its own use. For a directory that
// does not exist, it returns no files.
func ReadDirectory(dir string) (Files, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), "..") && !entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return ReadFiles(dir, nil, names...)
}

func readFile(name string) ([]byte, error) {
	file, err := os.Open(name) //nolint:gosec // a file that the user or the operator named
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxFile)
	}
	return text, err
}

// digest identifies the content of files, or the error from reading them.
type digest [sha256.Size]byte

func digestOf(files Files, err error) (sum digest) {
	if err != nil {
		return sha256.Sum256([]byte(err.Error()))
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintf(h, "%q %d ", name, len(files[name]))
		h.Write(files[name])
	}
	h.Sum(sum[:0])
	return sum
}
