// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kagent

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	yamldocuments "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// group is the API group of kagent, and version the version of kagent 0.10.
const (
	group   = "kagent.dev/"
	version = group + "v1alpha2"
	// nextVersion is the version of kagent 1.0.
	nextVersion = group + "v1alpha3"
)

// Convert returns the Agents for the manifests of kagent in YAML or JSON documents.
func Convert(text []byte, o Options) (*conversion.Result, error) {
	objects, err := readObjects(text)
	if err != nil {
		return nil, err
	}
	c := &conversions{
		Options: o, result: &conversion.Result{},
		models: map[string]*model{}, servers: map[string]*server{}, configMaps: map[string]map[string]string{},
	}
	if err := c.collect(objects); err != nil {
		return nil, err
	}
	for _, each := range objects {
		if err := c.convert(each); err != nil {
			return nil, err
		}
	}
	c.reportModels()
	c.reportServers()
	c.reportHistory()
	if len(c.result.Agents) == 0 {
		return c.result, failure.New(failure.Usage, "the manifests have no Agent of kagent that can be converted").
			WithHint("kubectl get agents.kagent.dev,modelconfigs.kagent.dev,remotemcpservers.kagent.dev -o yaml writes those of a namespace, and -A imports those of the cluster")
	}
	return c.result, nil
}

// ConfigMapName names a ConfigMap.
type ConfigMapName struct{ Namespace, Name string }

// ConfigMaps returns the ConfigMaps whose texts the import copies into Agents: those of prompts with a template. It ignores objects that
// Convert refuses.
func ConfigMaps(objects []json.RawMessage, namespace string) []ConfigMapName {
	var all []ConfigMapName
	for _, text := range objects {
		o := &struct {
			Metadata struct {
				Namespace string `json:"namespace"`
			} `json:"metadata"`
			Spec struct {
				promptSources `json:",inline"`
				Declarative   promptSources `json:"declarative"`
			} `json:"spec"`
		}{}
		if json.Unmarshal(text, o) != nil {
			continue
		}
		for _, p := range []promptSources{o.Spec.promptSources, o.Spec.Declarative} {
			for _, name := range p.names() {
				at := ConfigMapName{cmp.Or(o.Metadata.Namespace, namespace), name}
				if !slices.Contains(all, at) {
					all = append(all, at)
				}
			}
		}
	}
	return all
}

// promptSources are the fields with the ConfigMaps of a prompt.
type promptSources struct {
	PromptTemplate    *promptTemplate `json:"promptTemplate"`
	SystemMessageFrom *valueSource    `json:"systemMessageFrom"`
	SystemPromptFrom  *valueSource    `json:"systemPromptFrom"`
}

// names returns the names of the ConfigMaps; none without a template.
func (p *promptSources) names() []string {
	if p.PromptTemplate == nil {
		return nil
	}
	var names []string
	for _, source := range p.PromptTemplate.DataSources {
		names = append(names, source.Name)
	}
	for _, from := range []*valueSource{p.SystemMessageFrom, p.SystemPromptFrom} {
		if from != nil && from.Type != "Secret" {
			names = append(names, from.Name)
		}
	}
	return names
}

// collect reads the objects to which Agents refer, and rejects names that occur twice.
func (c *conversions) collect(objects []*object) error {
	seen := map[string]bool{}
	for _, o := range objects {
		if o.Metadata.Namespace == "" {
			o.Metadata.Namespace = c.Namespace
		}
		id := o.APIVersion + " " + o.String()
		if seen[id] {
			return failure.New(failure.Usage, "the manifests have %s twice", o).WithHint("remove one of the two")
		}
		seen[id] = true
		switch o.versioned() {
		case version + "/ModelConfig":
			m, unknown, err := conversion.Decode[modelConfig](o.text)
			if err != nil {
				return wrong(o, err)
			}
			c.models[o.key()] = &model{modelConfig: m, source: conversion.NewSource(o.String(), m, unknown, &c.result.Report)}
		case version + "/RemoteMCPServer":
			s, unknown, err := conversion.Decode[remoteServer](o.text)
			if err != nil {
				return wrong(o, err)
			}
			s.Namespace = o.Metadata.Namespace
			c.servers[serverKey(o.Kind, s.Namespace, s.Name)] = &server{remote: s, source: conversion.NewSource(o.String(), s, unknown, &c.result.Report)}
		case group + "v1alpha1/MCPServer":
			s, unknown, err := conversion.Decode[localServer](o.text)
			if err != nil {
				return wrong(o, err)
			}
			s.Namespace = o.Metadata.Namespace
			c.servers[serverKey(o.Kind, s.Namespace, s.Name)] = &server{local: s, source: conversion.NewSource(o.String(), s, unknown, &c.result.Report)}
		case "v1/ConfigMap":
			m := &struct {
				Data map[string]string `json:"data"`
			}{}
			if err := json.Unmarshal(o.text, m); err != nil {
				return wrong(o, err)
			}
			c.configMaps[o.key()] = m.Data
		}
	}
	return nil
}

func wrong(o *object, err error) error {
	return failure.New(failure.Usage, "%s is invalid: %s", o, strings.TrimPrefix(err.Error(), "read the object: ")).
		WithHint("kubectl apply --dry-run=server validates manifests of kagent in a cluster with its CRDs")
}

// versioned returns the version and the kind of an object. The kinds of kagent 1.0 that have the fields of kagent 0.10 get the version of
// 0.10. The group of kagent 1.0 may have the prefix api.
func (o *object) versioned() string {
	o.APIVersion = strings.TrimPrefix(o.APIVersion, "api.")
	if o.APIVersion == nextVersion && (o.Kind == "ModelConfig" || o.Kind == "RemoteMCPServer") {
		return version + "/" + o.Kind
	}
	return o.APIVersion + "/" + o.Kind
}

// convert converts an Agent or an AgentTemplate, and reports objects of other kinds.
func (c *conversions) convert(o *object) error {
	const why = "the operator has no such kind"
	switch o.versioned() {
	case version + "/Agent", version + "/SandboxAgent", nextVersion + "/Agent", nextVersion + "/SandboxAgent":
		a, unknown, err := conversion.Decode[agent](o.text)
		if err != nil {
			return wrong(o, err)
		}
		a.Namespace = o.Metadata.Namespace
		a.APIVersion = o.APIVersion
		c.agent(a, conversion.NewSource(o.String(), a, unknown, &c.result.Report))
	case nextVersion + "/AgentTemplate":
		t, unknown, err := conversion.Decode[agentTemplate](o.text)
		if err != nil {
			return wrong(o, err)
		}
		t.Namespace = o.Metadata.Namespace
		c.template(t, conversion.NewSource(o.String(), t, unknown, &c.result.Report))
	case nextVersion + "/Harness":
		return c.harness(o)
	case version + "/ModelConfig", version + "/RemoteMCPServer", group + "v1alpha1/MCPServer": // reportModels and reportServers report them
	case "v1/ConfigMap", "v1/Secret", "v1/Namespace", "v1/ServiceAccount":
		c.leaveOut(o, "it stays as it is", "apply it, if the cluster does not have it")
	case "v1/Service":
		c.leaveOut(o, "the import does not know the path of an MCP server behind a Service", "set spec.model.tools[].mcp.url of the Agents that use it")
	case version + "/ModelProviderConfig", nextVersion + "/ModelProviderConfig":
		c.leaveOut(o, why, "list models with the API of the provider")
	case version + "/AgentHarness", nextVersion + "/AgentHarness":
		c.leaveOut(o, why, "run the program in a container of its own, and import its Deployment")
	case version + "/ScheduledRun", nextVersion + "/ScheduledRun":
		c.leaveOut(o, why, "send the prompt from a CronJob, with kubectl a2a send or a client of A2A")
	case group + "v1alpha1/Memory", version + "/Memory":
		c.leaveOut(o, "the sidecar keeps tasks and contexts, and no memory across contexts", "give the model an MCP server with a memory, in spec.model.tools")
	default:
		if strings.HasPrefix(o.APIVersion, group) && o.APIVersion != version && o.APIVersion != nextVersion {
			c.leaveOut(o, "the import reads "+version+" and "+nextVersion, "get it in that version with kubectl get "+strings.ToLower(o.Kind)+"s.v1alpha2.kagent.dev "+o.Metadata.Name+" -o yaml")
			return nil
		}
		c.leaveOut(o, "the import does not know the kind "+o.APIVersion+" "+o.Kind, "keep the object, or replace it by hand")
	}
	return nil
}

func (c *conversions) leaveOut(o *object, because, do string) {
	c.result.Report = append(c.result.Report, conversion.Note{Object: o.String(), Field: "the whole object", Action: conversion.LeftOut, Because: because, Do: do})
}

// reportModels reports unused models, and the fields of used models that were not converted, in the order of the names.
func (c *conversions) reportModels() {
	for _, key := range slices.Sorted(maps.Keys(c.models)) {
		m := c.models[key]
		if !m.used {
			m.source.LeftOut("no Agent of the manifests uses it", conversion.NothingToDo, "spec")
		}
		m.source.Metadata()
		m.source.Close()
	}
}

// reportServers reports unused MCP servers, and the fields of used ones that were not converted, in the order of the names.
func (c *conversions) reportServers() {
	for _, key := range slices.Sorted(maps.Keys(c.servers)) {
		s := c.servers[key]
		if !s.used {
			s.source.LeftOut("no Agent of the manifests uses it", conversion.NothingToDo, "spec")
		}
		s.source.Metadata()
		s.source.Close()
	}
}

// reportHistory reports what is in the database of kagent and not in manifests.
func (c *conversions) reportHistory() {
	if len(c.result.Agents) == 0 {
		return
	}
	c.result.Report = append(c.result.Report, conversion.Note{
		Object: "the database of kagent", Field: "sessions, tasks, memories and shared links", Action: conversion.LeftOut,
		Because: "they are in no manifest, and the ids of contexts differ", Do: "keep the database of kagent for as long as people need its history; conversations begin again",
	})
}

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
