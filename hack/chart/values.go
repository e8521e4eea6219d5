// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// value is a row of the README's table.
type value struct {
	path        string
	description string
	fallback    string
}

// valuesTable renders the values of a chart as a Markdown table in the order of the file. Every value needs a
// comment that starts with "-- ".
func valuesTable(file []byte) (string, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(file, &document); err != nil {
		return "", err
	}
	values, err := described("", document.Content[0])
	if err != nil {
		return "", err
	}
	var table strings.Builder
	table.WriteString("| value | default | what it is |\n|---|---|---|\n")
	for _, v := range values {
		fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", v.path, v.fallback, strings.ReplaceAll(v.description, "|", `\|`))
	}
	return strings.TrimSuffix(table.String(), "\n"), nil
}

// described lists the values below a node. A mapping with a comment is one value; a mapping without one is a
// group.
func described(prefix string, node *yaml.Node) ([]value, error) {
	var values []value
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, content := node.Content[i], node.Content[i+1]
		path := prefix + key.Value
		text, ok := description(key.HeadComment)
		switch {
		case ok:
			fallback, err := inline(content)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			values = append(values, value{path, text, fallback})
		case content.Kind == yaml.MappingNode && len(content.Content) > 0:
			group, err := described(path+".", content)
			if err != nil {
				return nil, err
			}
			values = append(values, group...)
		default:
			return nil, fmt.Errorf("line %d: %s has no comment that begins with `# -- `", key.Line, path)
		}
	}
	return values, nil
}

// description returns the comment after "-- " on one line.
func description(comment string) (string, bool) {
	_, text, ok := strings.Cut(comment, "# -- ")
	if !ok {
		return "", false
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(strings.TrimPrefix(line, "#"))
	}
	return strings.Join(lines, " "), true
}

// inline returns a value on one line.
func inline(node *yaml.Node) (string, error) {
	var decoded any
	if err := node.Decode(&decoded); err != nil {
		return "", err
	}
	out, err := json.Marshal(decoded)
	return string(out), err
}
