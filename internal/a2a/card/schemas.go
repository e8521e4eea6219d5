// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card

import (
	"encoding/json"
	"fmt"
)

// SchemasExtension is the URI of the extension with the JSON Schemas of the skills on
// a card. Its params are
//
//	{"skills": {"<skill id>": {"inputSchema": {…}, "outputSchema": {…}}}}
//
// with the skills on the same card only. The extension changes no message, so
// clients need not activate it.
const SchemasExtension = "https://a2a-operator.dev/extensions/skill-schemas/v1"

type skillSchemas struct {
	Input  RawObject `json:"inputSchema,omitempty"`
	Output RawObject `json:"outputSchema,omitempty"`
}

// schemasExtension returns the extension in a slice. The slice is nil if no skill has a
// schema.
func schemasExtension(skills []Skill) ([]Extension, error) {
	declared := map[string]skillSchemas{}
	for i := range skills {
		if s := &skills[i]; s.InputSchema != nil || s.OutputSchema != nil {
			declared[s.ID] = skillSchemas{s.InputSchema, s.OutputSchema}
		}
	}
	if len(declared) == 0 {
		return nil, nil
	}
	params, err := json.Marshal(map[string]any{"skills": declared})
	if err != nil {
		return nil, fmt.Errorf("encode skill schemas: %w", err)
	}
	return []Extension{{
		URI:         SchemasExtension,
		Description: "JSON Schemas of the structured input and output of skills, by skill id",
		Params:      params,
	}}, nil
}
