// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/a2a-operator/a2a-operator/test/docs/blocks"
)

// agent is the Agent into which complete inserts blocks with a part of a spec.
const agent = `{"apiVersion": "a2a-operator.dev/v1alpha1", "kind": "Agent", "metadata": {"name": "part"}, "spec": {"description": "Answers."}}`

// workload is the workload that complete adds to an Agent without a workload.
const workload = `{"template": {"spec": {"containers": [{"name": "agent", "image": "example/agent:1.0.0"}]}}}`

// TestAPIServerAcceptsTheManifestsOfThePages sends each YAML block to an API server, which
// validates it and stores nothing. A block that starts with `spec` is a part of an Agent, and
// one with `rules` a part of a Role.
func TestAPIServerAcceptsTheManifestsOfThePages(t *testing.T) {
	pages := byPage(t, "yaml")
	c := startCluster(t)
	sent := 0
	for _, all := range pages {
		for _, b := range all {
			if b.Marked(blocks.NoApply) || b.Marked(blocks.Values) {
				continue
			}
			documents, err := decode(b.Text)
			if err != nil || len(documents) == 0 {
				t.Errorf("%s: %d documents, %v", b, len(documents), err)
			}
			for _, document := range documents {
				sent++
				object, err := complete(document)
				if err != nil {
					t.Errorf("%s: %v", b, err)
					continue
				}
				if err := c.dryRun(t.Context(), object); err != nil {
					t.Errorf("%s: %v", b, err)
				}
			}
		}
	}
	if sent < 30 {
		t.Errorf("the pages have %d manifests", sent)
	}
}

// decode returns the documents of a block.
func decode(text string) ([]map[string]any, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	var all []map[string]any
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		object := map[string]any{}
		if err := yaml.UnmarshalStrict(document, &object); err != nil {
			return nil, err
		}
		if len(object) > 0 {
			all = append(all, object)
		}
	}
}

// complete returns the object of a document, or an object around a part of one.
func complete(document map[string]any) (*unstructured.Unstructured, error) {
	object := document
	spec, partial := document["spec"].(map[string]any)
	switch {
	case document["kind"] != nil:
	case document["rules"] != nil:
		document["apiVersion"], document["kind"] = "rbac.authorization.k8s.io/v1", "Role"
		document["metadata"] = map[string]any{"name": "part"}
	case partial:
		object = map[string]any{}
		if err := json.Unmarshal([]byte(agent), &object); err != nil {
			return nil, err
		}
		merge(object["spec"].(map[string]any), spec)
		if spec["remote"] == nil {
			part := map[string]any{}
			if err := json.Unmarshal([]byte(workload), &part); err != nil {
				return nil, err
			}
			named, _ := object["spec"].(map[string]any)["workload"].(map[string]any)
			merge(part, named)
			object["spec"].(map[string]any)["workload"] = part
		}
	default:
		return nil, fmt.Errorf("the block has no kind, spec or rules: complete it, or mark it with no-apply")
	}
	// The JSON numbers of an Unstructured are int64 and float64.
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	result := &unstructured.Unstructured{}
	if err := result.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	if result.GetNamespace() == "" {
		result.SetNamespace("default")
		if strings.HasPrefix(result.GetKind(), "Cluster") || result.GetKind() == "Namespace" {
			result.SetNamespace("")
		}
	}
	return result, nil
}

// merge copies the members of source to target. If a member is an object in both, merge merges the objects. Otherwise,
// it replaces the member of target.
func merge(target, source map[string]any) {
	for key, value := range source {
		inner, ok := value.(map[string]any)
		if existing, both := target[key].(map[string]any); ok && both {
			merge(existing, inner)
			continue
		}
		target[key] = value
	}
}

// TestChartAcceptsTheValuesOfThePages checks the blocks marked with values.
func TestChartAcceptsTheValuesOfThePages(t *testing.T) {
	const schemaFile = "values.schema.json"
	folder := filepath.Join(root, "charts", "a2a-operator")
	text, err := os.ReadFile(filepath.Join(folder, schemaFile))
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(schemaFile, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	defaults, err := os.ReadFile(filepath.Join(folder, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, all := range byPage(t, "yaml") {
		for _, b := range all {
			if !b.Marked(blocks.Values) {
				continue
			}
			checked++
			values, named := map[string]any{}, map[string]any{}
			if err := yaml.Unmarshal(defaults, &values); err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict([]byte(b.Text), &named); err != nil {
				t.Errorf("%s: %v", b, err)
				continue
			}
			merge(values, named)
			if err := schema.Validate(values); err != nil {
				t.Errorf("%s: %v", b, err)
			}
		}
	}
	if checked == 0 {
		t.Error("no page has values of the chart")
	}
}
