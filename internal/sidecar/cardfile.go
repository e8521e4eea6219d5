// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// readCard reads a card written by hand. Every mistake is named with its line.
func readCard(path string) (*card.Card, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the file that the user named
	if err != nil {
		return nil, fmt.Errorf("read card: %w", err)
	}
	c, err := parseCard(text)
	if err != nil {
		return nil, fmt.Errorf("read card %s: %w", path, err)
	}
	return c, nil
}

func parseCard(text []byte) (*card.Card, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return nil, errors.New("file is empty: it needs name, description and version")
	}
	c := &card.Card{}
	var p cardParser
	p.value(document.Content[0], reflect.ValueOf(c).Elem(), "card")
	if c.Name == "" && len(p.problems) == 0 {
		p.problems = append(p.problems, errors.New("name is required"))
	}
	if c.Version == "" {
		c.Version = "0.0.0"
	}
	for i, s := range c.Skills {
		if s.ID == "" || s.Name == "" {
			p.problems = append(p.problems, fmt.Errorf("skills[%d]: id and name are required", i))
		}
	}
	p.problems = append(p.problems, c.CheckSecurity(), c.CheckBindings())
	return c, errors.Join(p.problems...)
}

// cardParser fills a value from YAML by the names of its JSON form. It exists
// because a decoder that knows lines knows no JSON names, and the other way
// round.
type cardParser struct {
	problems []error
}

func (p *cardParser) refusef(n *yaml.Node, format string, args ...any) {
	p.problems = append(p.problems, fmt.Errorf("line %d: "+format, append([]any{n.Line}, args...)...))
}

var rawObject = reflect.TypeFor[card.RawObject]()

func (p *cardParser) value(n *yaml.Node, v reflect.Value, name string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Tag == "!!null":
	case v.Type() == rawObject:
		p.raw(n, v, name)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		p.value(n, v.Elem(), name)
	case v.Kind() == reflect.Struct:
		p.object(n, v, name)
	case v.Kind() == reflect.Slice:
		p.list(n, v, name)
	case v.Kind() == reflect.Map:
		p.mapping(n, v, name)
	default:
		p.scalar(n, v, name)
	}
}

func (p *cardParser) object(n *yaml.Node, v reflect.Value, name string) {
	if n.Kind != yaml.MappingNode {
		p.refusef(n, "%s must be a mapping", name)
		return
	}
	fields := jsonFields(v.Type())
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		field, known := fields[key.Value]
		if !known {
			p.refusef(key, "unknown key %q in %s; known are %s", key.Value, name, strings.Join(sortedKeys(fields), ", "))
			continue
		}
		if seen[key.Value] {
			p.refusef(key, "key %q stands in %s twice", key.Value, name)
		}
		seen[key.Value] = true
		p.value(n.Content[i+1], v.Field(field), key.Value)
	}
}

// mapping fills a map from text, whose keys are the user's own.
func (p *cardParser) mapping(n *yaml.Node, v reflect.Value, name string) {
	if n.Kind != yaml.MappingNode {
		p.refusef(n, "%s must be a mapping", name)
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := reflect.ValueOf(n.Content[i].Value)
		if v.MapIndex(key).IsValid() {
			p.refusef(n.Content[i], "key %q stands in %s twice", key, name)
		}
		member := reflect.New(v.Type().Elem()).Elem()
		p.value(n.Content[i+1], member, n.Content[i].Value)
		v.SetMapIndex(key, member)
	}
}

func (p *cardParser) list(n *yaml.Node, v reflect.Value, name string) {
	if n.Kind != yaml.SequenceNode {
		p.refusef(n, "%s must be a list", name)
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, element := range n.Content {
		p.value(element, v.Index(i), fmt.Sprintf("%s[%d]", name, i))
	}
}

func (p *cardParser) scalar(n *yaml.Node, v reflect.Value, name string) {
	if n.Kind != yaml.ScalarNode {
		p.refusef(n, "%s must be a single value", name)
		return
	}
	if v.Kind() == reflect.String {
		// A version such as 1.0 is a number in YAML and meant as text.
		v.SetString(n.Value)
		return
	}
	var b bool
	if err := n.Decode(&b); err != nil {
		p.refusef(n, "%s must be true or false", name)
		return
	}
	v.SetBool(b)
}

func (p *cardParser) raw(n *yaml.Node, v reflect.Value, name string) {
	var object map[string]any
	if err := n.Decode(&object); err != nil {
		p.refusef(n, "%s must be a mapping with text keys", name)
		return
	}
	text, err := json.Marshal(object)
	if err != nil {
		p.refusef(n, "%s must be expressible in JSON", name)
		return
	}
	v.SetBytes(text)
}

// jsonFields maps the names of the JSON form to the indexes of the fields.
func jsonFields(t reflect.Type) map[string]int {
	fields := map[string]int{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = i
	}
	return fields
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
