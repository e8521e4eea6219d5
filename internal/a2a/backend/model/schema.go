// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/kit/jsonweight"
)

// Schema is the JSON Schema of an answer.
type Schema struct {
	source   a2a.Object
	resolved *jsonschema.Resolved
}

// NewSchema returns the schema in a text. It resolves no reference outside of the text.
func NewSchema(text []byte) (*Schema, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolve schema: %w", err)
	}
	return &Schema{source: text, resolved: resolved}, nil
}

// text returns the schema for a request, nil for none.
func (s *Schema) text() a2a.Object {
	if s == nil {
		return nil
	}
	return s.source
}

// check returns why an answer does not meet the schema, nil if it does.
func (s *Schema) check(answer []byte) error {
	var value any
	if err := json.Unmarshal(answer, &value); err != nil {
		return fmt.Errorf("the answer is not JSON: %w", err)
	}
	if err := s.resolved.Validate(value); err != nil {
		return fmt.Errorf("the answer does not meet the schema: %w", err)
	}
	return nil
}

// freeWeight is what the values of an answer may weigh without a reservation, in bytes.
const freeWeight = 64 << 10

// checkSchema is Schema.check with a reservation for the values of the answer, which take up to two hundred times as much memory as its text.
func (l *loop) checkSchema(answer []byte) (problem, err error) {
	weight := jsonweight.Of(answer, freeWeight)
	if weight <= freeWeight {
		return l.options.Schema.check(answer), nil
	}
	if err := l.reserve(weight); err != nil {
		return nil, err
	}
	problem = l.options.Schema.check(answer)
	return problem, l.reserve(0)
}

// repair asks the model once for another answer if the last one does not meet the schema. Then the turn fails.
func (l *loop) repair(ctx context.Context, final *answerEntry) (isAsked bool, err error) {
	if l.options.Schema == nil {
		return false, nil
	}
	problem, err := l.checkSchema([]byte(final.Text))
	switch {
	case err != nil:
		return false, err
	case problem == nil:
		return false, nil
	case l.transcript.isRepaired:
		return false, backend.Failed("The model gave no answer that meets the schema", problem)
	}
	return true, l.record(ctx, entry{Repair: "Answer again, with JSON only: " + backend.Excerpt([]byte(problem.Error()))})
}
