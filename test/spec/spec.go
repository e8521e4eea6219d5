// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package spec validates JSON against the official schemas of the protocol in
// testdata. Only tests import it.
package spec

import (
	"bytes"
	"embed"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed testdata/*/a2a.json
var files embed.FS

// Validate validates a JSON text against a definition of a version, such as
// "AgentCard" of "v0.3.0". The name of a definition has no spaces.
func Validate(version, definition string, text []byte) error {
	all, err := load(version)
	if err != nil {
		return err
	}
	all.mu.Lock()
	schema, err := all.compile(definition)
	all.mu.Unlock()
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("validate %s of %s: %w", definition, version, err)
	}
	return nil
}

type schemas struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	url      string
	// place is the name of the member that contains the definitions: "definitions", or "$defs" in 0.1.
	place string
	// names maps the name of a definition in lower case and without spaces to the name in the schema.
	names    map[string]string
	compiled map[string]*jsonschema.Schema
}

var loaded sync.Map

func load(version string) (*schemas, error) {
	once, _ := loaded.LoadOrStore(version, sync.OnceValues(func() (*schemas, error) { return read(version) }))
	return once.(func() (*schemas, error))()
}

func read(version string) (*schemas, error) {
	text, err := files.ReadFile("testdata/" + version + "/a2a.json")
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read schema %s: %w", version, err)
	}
	all := &schemas{
		compiler: jsonschema.NewCompiler(),
		url:      "https://spec.invalid/" + version + "/a2a.json",
		place:    "definitions",
		names:    map[string]string{},
		compiled: map[string]*jsonschema.Schema{},
	}
	root := doc.(map[string]any)
	if root[all.place] == nil {
		all.place = "$defs"
	}
	for name := range root[all.place].(map[string]any) {
		all.names[plain(name)] = name
	}
	if err := all.compiler.AddResource(all.url, all.rewrite(doc)); err != nil {
		return nil, fmt.Errorf("add schema %s: %w", version, err)
	}
	return all, nil
}

// rewrite replaces references to files that do not exist by references to the
// definitions of the same names.
func (s *schemas) rewrite(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			ref, isText := member.(string)
			name, isFile := strings.CutSuffix(ref, ".jsonschema.json")
			if key == "$ref" && isText && isFile {
				name = name[strings.LastIndexByte(name, '.')+1:]
				value[key] = "#/definitions/" + strings.ReplaceAll(s.names[plain(name)], " ", "%20")
				continue
			}
			value[key] = s.rewrite(member)
		}
	case []any:
		for i := range value {
			value[i] = s.rewrite(value[i])
		}
	}
	return value
}

func (s *schemas) compile(definition string) (*jsonschema.Schema, error) {
	if schema := s.compiled[definition]; schema != nil {
		return schema, nil
	}
	name, ok := s.names[plain(definition)]
	if !ok {
		return nil, fmt.Errorf("find definition %s in %s", definition, s.url)
	}
	schema, err := s.compiler.Compile(s.url + "#/" + s.place + "/" + strings.ReplaceAll(name, " ", "%20"))
	if err != nil {
		return nil, fmt.Errorf("compile definition %s of %s: %w", definition, s.url, err)
	}
	s.compiled[definition] = schema
	return schema, nil
}

func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, " ", "")) }
