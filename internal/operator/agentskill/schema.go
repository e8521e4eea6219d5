// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agentskill decides which Agents refer to an AgentSkill and which of them may use it, and
// validates the JSON Schemas of a skill.
//
// The package is pure: it refuses a schema that refers to another document, and never
// loads another document.
package agentskill

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/runtime"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/kit/sharedcache"
)

// MaxSize is the maximum size of a schema in bytes. It is small compared with the maximum
// size of a card, because a card can have many schemas.
const MaxSize = 64 << 10

// checked caches the verdict on a schema by its SHA-256 hash, because every reconcile of an Agent
// that is not in sync checks its schemas. The namespaces share it.
var checked = sharedcache.New[string, [sha256.Size]byte, verdict](4096)

// maxError bounds an error in bytes, because it can quote the schema.
const maxError = 512

type verdict struct {
	// nodes is the number of values of the schema.
	nodes int
	err   error
}

// Budget bounds the work for the schemas of one Agent. Its zero value is the budget of an Agent of
// which no schema was checked yet.
type Budget struct {
	// Namespace is that of the Agent. It uses its share of the cached verdicts.
	Namespace string

	nodes int
}

// Check returns an error if a schema of a skill is invalid or exceeds a bound, or if the schemas that were
// checked with this budget have more than MaxTotalNodes values together. The error begins
// with the name of the field.
func (b *Budget) Check(details *a2av1alpha1.SkillDetails) error {
	if err := b.check(details.InputSchema); err != nil {
		return fmt.Errorf("inputSchema %w", err)
	}
	if err := b.check(details.OutputSchema); err != nil {
		return fmt.Errorf("outputSchema %w", err)
	}
	return nil
}

func (b *Budget) check(raw *runtime.RawExtension) error {
	if raw == nil {
		return nil
	}
	if len(raw.Raw) > MaxSize {
		return fmt.Errorf("has %d bytes, the limit is %d", len(raw.Raw), MaxSize)
	}
	key := sha256.Sum256(raw.Raw)
	v, ok := checked.Get(key)
	if !ok {
		document, nodes, err := read(raw.Raw)
		if err == nil && b.nodes+nodes > MaxTotalNodes {
			return errTotal // before the expensive part
		}
		if err == nil {
			err = compile(document)
		}
		v = verdict{nodes, clipped(err)}
		checked.Put(b.Namespace, key, v, 1)
	}
	b.nodes += v.nodes
	if v.err == nil && b.nodes > MaxTotalNodes {
		return errTotal
	}
	return v.err
}

var errTotal = fmt.Errorf("is too much: the schemas of the Agent have more than %d values together; make them smaller, or divide the skills among several Agents", MaxTotalNodes)

// clipped returns the error with at most maxError bytes.
func clipped(err error) error {
	if err == nil || len(err.Error()) <= maxError {
		return err
	}
	return errors.New(safetext.Clip(err.Error(), maxError))
}

// read decodes a schema and checks its bounds.
func read(text []byte) (document any, nodes int, err error) {
	document, err = jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, 0, fmt.Errorf("is not JSON: %w", err)
	}
	nodes, err = measure(document)
	return document, nodes, err
}

// schemaURL is the URL that stands for the checked schema in the compiler. The compiler loads no
// document from this URL.
const schemaURL = "schema:///"

// compile returns the mistake of a schema within the bounds. If the compiler panics, the schema has
// a mistake: the panic must not end the manager, and would repeat.
func compile(document any) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("is not a JSON Schema: the compiler failed on it: %v", cause)
		}
	}()
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(anyPattern)
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return fmt.Errorf("is not a JSON Schema: %w", err)
	}
	_, err = compiler.Compile(schemaURL)
	var loadErr *jsonschema.LoadURLError
	var wrong *jsonschema.SchemaValidationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &loadErr):
		return fmt.Errorf("refers to %s: move the definition into the schema", loadErr.URL)
	case errors.As(err, &wrong):
		return fmt.Errorf("is not a JSON Schema: %w", first(wrong.Err))
	default:
		return errors.New("is not a JSON Schema: " + strings.ReplaceAll(err.Error(), schemaURL, ""))
	}
}

// first returns the innermost cause of an error. The messages of the outer causes quote the
// meta-schema instead of naming the mistake.
func first(err error) error {
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	for len(invalid.Causes) > 0 {
		invalid = invalid.Causes[0]
	}
	return invalid
}

type noLoader struct{}

var errElsewhere = errors.New("documents are not loaded")

// Load implements jsonschema.URLLoader.
func (noLoader) Load(string) (any, error) { return nil, errElsewhere }

// anyPattern accepts every regular expression. Schemas use the regular expressions of
// ECMA-262, which Go supports only in part, and the package never evaluates them.
func anyPattern(text string) (jsonschema.Regexp, error) { return pattern(text), nil }

type pattern string

// MatchString implements jsonschema.Regexp.
func (pattern) MatchString(string) bool { return true }

func (p pattern) String() string { return string(p) }
