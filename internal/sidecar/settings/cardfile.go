// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// cardFile is the content of the file that describes an agent in standalone mode. It has
// the fields of an Agent's spec that describe a card, with the same names. It also has
// the interfaces and the security schemes, which the operator derives for an Agent.
type cardFile struct {
	DisplayName        string           `json:"displayName"`
	Description        string           `json:"description"`
	Version            string           `json:"version"`
	Provider           *card.Provider   `json:"provider"`
	IconURL            string           `json:"iconURL"`
	DocumentationURL   string           `json:"documentationURL"`
	DefaultInputModes  []string         `json:"defaultInputModes"`
	DefaultOutputModes []string         `json:"defaultOutputModes"`
	Extensions         []card.Extension `json:"extensions"`
	Skills             []skillOfFile    `json:"skills"`
	Protocol           protocolOfFile   `json:"protocol"`

	Interfaces      []card.Interface      `json:"interfaces"`
	SecuritySchemes []card.SecurityScheme `json:"securitySchemes"`
}

// skillOfFile has the fields of a skill of an Agent, and the security requirements of a
// skill on a card.
type skillOfFile struct {
	ID           string             `json:"id"`
	Name         string             `json:"name"`
	Description  string             `json:"description"`
	Tags         []string           `json:"tags"`
	Examples     []string           `json:"examples"`
	InputModes   []string           `json:"inputModes"`
	OutputModes  []string           `json:"outputModes"`
	InputSchema  card.RawObject     `json:"inputSchema"`
	OutputSchema card.RawObject     `json:"outputSchema"`
	Visibility   string             `json:"visibility"`
	Security     []card.Requirement `json:"security"`
}

type protocolOfFile struct {
	Bindings []string `json:"bindings"`
}

// The values of visibility.
const (
	visibilityPublic   = "Public"
	visibilityExtended = "Extended"
)

// readCard reads a card file, in YAML or JSON. If the file is not valid YAML, the error
// is the first mistake. Otherwise it contains every mistake with its line or its field.
func readCard(path string) (*card.Card, error) {
	text, err := os.ReadFile(path)
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
		return nil, errors.New("file is empty: it needs displayName, description and version")
	}
	var file cardFile
	var p cardParser
	p.value(document.Content[0], reflect.ValueOf(&file).Elem(), "card")
	if file.DisplayName == "" && len(p.problems) == 0 {
		p.problems = append(p.problems, errors.New("displayName is required"))
	}
	c, err := file.card()
	return c, errors.Join(append(p.problems, err, c.CheckSecurity())...)
}

// card converts the file to a card. The error names all invalid fields.
func (f *cardFile) card() (*card.Card, error) {
	c := &card.Card{
		Name: f.DisplayName, Description: f.Description, Version: cmp.Or(f.Version, "0.0.0"), Provider: f.Provider,
		IconURL: f.IconURL, DocumentationURL: f.DocumentationURL, Interfaces: f.Interfaces,
		Capabilities:      card.Capabilities{Extensions: f.Extensions},
		DefaultInputModes: f.DefaultInputModes, DefaultOutputModes: f.DefaultOutputModes, SecuritySchemes: f.SecuritySchemes,
	}
	var errs []error
	for i, s := range f.Skills {
		if s.ID == "" || s.Name == "" {
			errs = append(errs, fmt.Errorf("skills[%d]: id and name are required", i))
		}
		if !slices.Contains([]string{"", visibilityPublic, visibilityExtended}, s.Visibility) {
			errs = append(errs, fmt.Errorf("skills[%d]: visibility is %q, must be %s or %s", i, s.Visibility, visibilityPublic, visibilityExtended))
		}
		c.Skills = append(c.Skills, card.Skill{
			ID: s.ID, Name: s.Name, Description: s.Description, Tags: s.Tags, Examples: s.Examples,
			InputModes: s.InputModes, OutputModes: s.OutputModes, InputSchema: s.InputSchema, OutputSchema: s.OutputSchema,
			Security: s.Security, Extended: s.Visibility == visibilityExtended,
		})
	}
	for i, name := range f.Protocol.Bindings {
		binding, known := bindingsByName[name]
		switch {
		case !known:
			errs = append(errs, fmt.Errorf("protocol.bindings[%d] is %q, must be JSONRPC, HTTPJSON or GRPC", i, name))
		case slices.Contains(f.Protocol.Bindings[:i], name):
			errs = append(errs, fmt.Errorf("protocol.bindings[%d] repeats %s: name each binding once", i, name))
		}
		c.Bindings = append(c.Bindings, binding)
	}
	return c, errors.Join(errs...)
}

// cardParser fills a value from YAML by the JSON names of its fields, and reports each
// mistake with its line. It exists because the YAML library does not support JSON names
// and the JSON library does not report lines.
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
			p.refusef(key, "unknown key %q in %s; known are %s", key.Value, name, strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
			continue
		}
		if seen[key.Value] {
			p.refusef(key, "key %q is in %s twice", key.Value, name)
		}
		seen[key.Value] = true
		p.value(n.Content[i+1], v.Field(field), key.Value)
	}
}

// mapping fills a map whose keys the user chooses.
func (p *cardParser) mapping(n *yaml.Node, v reflect.Value, name string) {
	if n.Kind != yaml.MappingNode {
		p.refusef(n, "%s must be a mapping", name)
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := reflect.ValueOf(n.Content[i].Value)
		if v.MapIndex(key).IsValid() {
			p.refusef(n.Content[i], "key %q is in %s twice", key, name)
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
		// YAML parses a version such as 1.0 as a number. n.Value is its original text.
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

// jsonFields returns the indexes of fields by their JSON names.
func jsonFields(t reflect.Type) map[string]int {
	fields := map[string]int{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = i
	}
	return fields
}
