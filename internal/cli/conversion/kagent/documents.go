// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kagent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	yamldocuments "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

const (
	// MaxInput bounds the manifests, in bytes.
	MaxInput = 8 << 20
	// maxObjects bounds the number of objects.
	maxObjects = 2000
	// maxObject bounds one object, in bytes of JSON after YAML aliases are expanded. It is above the API server's limit.
	maxObject = 4 << 20
)

// object is an object of the manifests.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
	text  []byte
}

func (o *object) String() string {
	name := o.Metadata.Name
	if o.Metadata.Namespace != "" {
		name = o.Metadata.Namespace + "/" + name
	}
	return o.Kind + " " + name
}

// key returns namespace/name, which is unique among the objects of one kind. collect has set the namespace of objects
// without one.
func (o *object) key() string { return o.Metadata.Namespace + "/" + o.Metadata.Name }

// readObjects returns the objects of YAML or JSON documents and the items of lists.
func readObjects(text []byte) ([]*object, error) {
	if len(text) > MaxInput {
		return nil, failure.New(failure.Usage, "the manifests have more than %d MiB", MaxInput>>20).
			WithHint("import fewer objects at a time")
	}
	var all []*object
	reader := yamldocuments.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, failure.Wrap(failure.Usage, err, "read document %d", number)
		}
		text, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return nil, failure.Wrap(failure.Usage, err, "read document %d", number)
		}
		if string(text) == "null" {
			continue
		}
		if all, err = appended(all, text, number, true); err != nil {
			return nil, err
		}
	}
}

// appended appends the object of a document or, if the document is a List, its items.
func appended(all []*object, text []byte, number int, mayBeList bool) ([]*object, error) {
	o := &object{text: text}
	if err := json.Unmarshal(text, o); err != nil || o.Kind == "" || o.APIVersion == "" {
		return nil, failure.New(failure.Usage, "document %d is not a Kubernetes object: it needs apiVersion, kind and metadata.name", number)
	}
	if o.Kind == "List" && mayBeList {
		for _, item := range o.Items {
			var err error
			if all, err = appended(all, item, number, false); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	if o.Metadata.Name == "" {
		return nil, failure.New(failure.Usage, "document %d is not a Kubernetes object: it needs apiVersion, kind and metadata.name", number)
	}
	if len(text) > maxObject {
		return nil, failure.New(failure.Usage, "%s in document %d has more than %d MiB", o.Kind, number, maxObject>>20)
	}
	if len(all) == maxObjects {
		return nil, failure.New(failure.Usage, "the manifests have more than %d objects", maxObjects).WithHint("import fewer objects at a time")
	}
	return append(all, o), nil
}
