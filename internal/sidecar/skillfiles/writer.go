// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package skillfiles writes the files of the skills to the directory from which the containers of the agent read them.
//
// The files and folders are real, unlike those of a mounted ConfigMap, which are symbolic links: many programs that look for skills
// do not follow links. The package changes only what it has written itself, so that images may be mounted beside the files.
package skillfiles

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/kit/skillfolder"
)

const (
	// written is the file with the paths and keys of the files that the Writer has written.
	written = ".a2a-files.json"
	// temporary is the name of a file that is not complete yet.
	temporary = ".a2a-temporary"
)

// Writer writes the files of the skills. It is not safe for concurrent use.
type Writer struct {
	// Dir is the directory. It must exist, and no other program writes there.
	Dir string
}

// Write replaces the files of the skills. values are the values of the ConfigMap (skillfolder.Files.Encode). Each file is replaced as a whole, and
// the document of a skill last. If values are not valid, Write changes nothing. If Write fails, a call with the same values continues.
func (w Writer) Write(values map[string][]byte) error {
	files, keys, err := skillfolder.Decode(values)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(w.Dir)
	if err != nil {
		return fmt.Errorf("open the directory of skills: %w", err)
	}
	defer root.Close()
	former, err := readWritten(root)
	if err != nil {
		return err
	}
	if maps.Equal(former, keys) {
		return nil
	}
	// Until the end, the list has all files that may exist, and no key for those that may differ.
	if err := replace(root, written, unsettled(former, keys)); err != nil {
		return err
	}
	for at := range former {
		if _, wanted := keys[at]; !wanted {
			if err := remove(root, at); err != nil {
				return err
			}
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(files), documentsLast) {
		if former[at] == keys[at] {
			continue
		}
		if err := makeFolders(root, at); err != nil {
			return err
		}
		if err := writeFile(root, at, files[at], fs.FileMode(skillfolder.Mode(files[at]))); err != nil {
			return err
		}
	}
	return replace(root, written, keys)
}

// documentsLast orders paths, with the documents of skills behind the files to which they refer.
func documentsLast(a, b string) int {
	rank := func(at string) int {
		if path.Base(at) == skillfolder.Document {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}

// unsettled returns the paths of both lists, without the keys that differ.
func unsettled(former, keys map[string]string) map[string]string {
	both := maps.Clone(former)
	for at, key := range keys {
		if former[at] != key {
			both[at] = ""
		}
	}
	return both
}

func readWritten(root *os.Root) (map[string]string, error) {
	text, err := root.ReadFile(written)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of files: %w", err)
	}
	former := map[string]string{}
	if err := json.Unmarshal(text, &former); err != nil {
		return nil, fmt.Errorf("read the list of files: %w", err)
	}
	return former, nil
}

func replace(root *os.Root, name string, list map[string]string) error {
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode the list of files: %w", err)
	}
	return writeFile(root, name, text, 0o600)
}

// writeFile replaces a file as a whole. Readers see the former content or the new one.
func writeFile(root *os.Root, at string, content []byte, mode fs.FileMode) error {
	if err := root.WriteFile(temporary, content, mode); err != nil {
		return fmt.Errorf("write %s: %w", at, err)
	}
	if err := root.Chmod(temporary, mode); err != nil { // regardless of the umask, and of a file that a crash left
		return fmt.Errorf("write %s: %w", at, err)
	}
	if err := root.Rename(temporary, at); err != nil {
		return fmt.Errorf("write %s: %w", at, err)
	}
	return nil
}

// makeFolders creates the folders of a file. Other users may read them.
func makeFolders(root *os.Root, at string) error {
	for i, r := range at {
		if r != '/' {
			continue
		}
		err := root.Mkdir(at[:i], 0o755)
		if err == nil {
			err = root.Chmod(at[:i], 0o755)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("create folder %s: %w", at[:i], err)
		}
	}
	return nil
}

// remove removes a file and the folders that are empty without it.
func remove(root *os.Root, at string) error {
	if err := root.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", at, err)
	}
	for folder := path.Dir(at); folder != "." && strings.Contains(at, "/"); folder = path.Dir(folder) {
		if err := root.Remove(folder); err != nil {
			return nil //nolint:nilerr // the folder has other files, or an image is mounted there
		}
	}
	return nil
}
