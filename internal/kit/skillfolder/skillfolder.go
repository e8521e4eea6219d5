// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package skillfolder defines the files of skills: the folder of a skill in the Agent Skills format, and the form in which a
// ConfigMap has the files of several skills. The operator writes this form, and the sidecar reads it.
//
// The package is pure. It reads and writes no files.
package skillfolder

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	// Dir is the directory of the skills in the containers of an agent. A skill has the folder of its id.
	Dir = "/a2a/skills"
	// Document is the file of a skill with its name, its description and its instructions.
	Document = "SKILL.md"
	// MaxSize bounds the files of all skills of an agent in a ConfigMap, in bytes: the API server accepts 1 MiB.
	MaxSize = 1<<20 - 4<<10
	// MaxInstructions bounds the instructions of a skill, in characters (the CRDs).
	MaxInstructions = 64 << 10
	// MaxDescription bounds the description of a skill with files, in characters.
	MaxDescription = 1024
	// indexName is the file with the paths of the other files.
	indexName = "index.json"
	// maxPath bounds a path, in bytes (the CRDs).
	maxPath = 255
)

var (
	name = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	path = regexp.MustCompile(`^\.?[A-Za-z0-9_-][A-Za-z0-9._-]*(/\.?[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)
)

// IsName reports whether a skill may have this name in the Agent Skills format. It is also the name of its folder.
func IsName(s string) bool { return len(s) <= 64 && name.MatchString(s) }

// IsPath reports whether a resource of a skill may have this path in the folder of the skill.
func IsPath(s string) bool { return len(s) <= maxPath && path.MatchString(s) && s != Document }

// Compose returns the text of a Document.
func Compose(name, description, instructions string, metadata map[string]string) []byte {
	var text bytes.Buffer
	text.WriteString("---\n")
	write := func(indent, key, value string) {
		text.WriteString(indent + key + ": ")
		encoder := json.NewEncoder(&text) // a string of JSON is a string of YAML, and a line
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(value) // a string has an encoding, and a buffer takes it
	}
	write("", "name", name)
	write("", "description", description)
	if len(metadata) > 0 {
		text.WriteString("metadata:\n")
		for _, key := range slices.Sorted(maps.Keys(metadata)) {
			write("  ", key, metadata[key])
		}
	}
	text.WriteString("---\n\n" + instructions)
	if !strings.HasSuffix(instructions, "\n") {
		text.WriteString("\n")
	}
	return text.Bytes()
}

// Split returns the front matter of a Document, in YAML, and its instructions. It returns false if the text has no front matter.
func Split(text string) (front, instructions string, ok bool) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", "", false
	}
	front, instructions, ok = strings.Cut("\n"+rest+"\n", "\n---\n")
	if !ok {
		return "", "", false
	}
	return front, strings.Trim(instructions, "\n") + "\n", true
}

// Mode returns the mode of a file with a content. Scripts that name their interpreter are executable, because a ConfigMap
// stores no modes.
func Mode(content []byte) uint32 {
	if bytes.HasPrefix(content, []byte("#!")) {
		return 0o755
	}
	return 0o644
}

// Files maps the paths of files below Dir to their contents.
type Files map[string][]byte

// index is the content of indexName.
type index struct {
	// Files maps the paths below Dir to the names of the files with their contents.
	Files map[string]string `json:"files"`
}

// Encode returns the files as the values of a ConfigMap, and the number of bytes that the ConfigMap needs. Equal files have the
// same encoding.
func (f Files) Encode() (values map[string][]byte, size int, err error) {
	names := index{Files: map[string]string{}}
	values = map[string][]byte{}
	for path, content := range f {
		sum := sha256.Sum256(content)
		key := hex.EncodeToString(sum[:16])
		names.Files[path] = key
		values[key] = content
	}
	if values[indexName], err = json.Marshal(names); err != nil {
		return nil, 0, fmt.Errorf("encode the paths of skills: %w", err)
	}
	for key, value := range values {
		size += len(key) + len(value)
	}
	return values, size, nil
}

// Decode is the inverse of Encode. Without values, there are no files. keys maps the paths to names that change with the content.
func Decode(values map[string][]byte) (files Files, keys map[string]string, err error) {
	if len(values) == 0 {
		return Files{}, map[string]string{}, nil
	}
	text, found := values[indexName]
	if !found {
		return nil, nil, errors.New(indexName + " is missing")
	}
	names := index{}
	if err := json.Unmarshal(text, &names); err != nil {
		return nil, nil, fmt.Errorf("decode %s: %w", indexName, err)
	}
	files = Files{}
	for path, key := range names.Files {
		folder, rest, _ := strings.Cut(path, "/")
		if !IsName(folder) || rest != Document && !IsPath(rest) {
			return nil, nil, fmt.Errorf("%s: %q is no path of a file of a skill", indexName, path)
		}
		content, found := values[key]
		if !found {
			return nil, nil, fmt.Errorf("%s: the content of %q is missing", indexName, path)
		}
		files[path] = content
	}
	return files, names.Files, nil
}

// Conflict returns two paths of which one needs a folder where the other has a file, or "" if there are none.
func Conflict(paths []string) (file, below string) {
	sorted := slices.Sorted(slices.Values(paths))
	for _, path := range sorted {
		for parent := path; ; {
			at := strings.LastIndexByte(parent, '/')
			if at < 0 {
				break
			}
			parent = parent[:at]
			if _, found := slices.BinarySearch(sorted, parent); found {
				return parent, path
			}
		}
	}
	return "", ""
}
