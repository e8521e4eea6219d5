// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kagent

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
)

// agentTemplate is an AgentTemplate of kagent 1.0: a model, a prompt and tools.
type agentTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ModelConfig      nameOnly        `json:"modelConfig"`
		Description      string          `json:"description,omitempty"`
		SystemPrompt     string          `json:"systemPrompt,omitempty"`
		SystemPromptFrom *valueSource    `json:"systemPromptFrom,omitempty"`
		PromptTemplate   *promptTemplate `json:"promptTemplate,omitempty"`
		Tools            []struct {
			MCP *struct {
				Server struct {
					Kind string `json:"kind"`
					Name string `json:"name"`
				} `json:"server"`
				Tools []string `json:"tools"`
			} `json:"mcp,omitempty"`
			Agent *struct {
				Name        string   `json:"name"`
				Description string   `json:"description"`
				TemplateRef nameOnly `json:"templateRef"`
				Isolation   string   `json:"isolation,omitempty"`
			} `json:"agent,omitempty"`
		} `json:"tools,omitempty"`
		Skills []struct {
			Name   string `json:"name"`
			Source struct {
				OCI    string          `json:"oci,omitempty"`
				Git    json.RawMessage `json:"git,omitempty"`
				Bucket json.RawMessage `json:"bucket,omitempty"`
				Path   string          `json:"path,omitempty"`
			} `json:"source"`
		} `json:"skills,omitempty"`
		Plugins []json.RawMessage `json:"plugins,omitempty"`
	} `json:"spec"`
	Status any `json:"status,omitempty"`
}

type nameOnly struct {
	Name string `json:"name"`
}

// template converts an AgentTemplate.
func (c *conversions) template(t *agentTemplate, source *conversion.Source) {
	spec := &t.Spec
	from := &agent{TypeMeta: t.TypeMeta, ObjectMeta: t.ObjectMeta, Spec: agentSpec{Description: spec.Description}}
	k := c.begin(from, source)
	model, because, do := k.modelOf(spec.ModelConfig.Name)
	if because != "" {
		k.refuse(because, do, []any{"spec", "modelConfig"})
		return
	}
	k.Drop("spec", "modelConfig")
	k.to.Spec.Description = k.Description(spec.Description, t.Name+" of kagent.", "spec", "description")
	var names []string
	for i, tool := range spec.Tools {
		here := func(more ...any) []any { return append([]any{"spec", "tools", i}, more...) }
		switch {
		case tool.MCP != nil:
			names = append(names, tool.MCP.Tools...)
			s := k.servers[serverKey(tool.MCP.Server.Kind, t.Namespace, tool.MCP.Server.Name)]
			if s == nil {
				k.LeftOut("the manifests have no "+tool.MCP.Server.Kind+" "+t.Namespace+"/"+tool.MCP.Server.Name, "add it to the manifests, or set spec.model.tools[].mcp.url by hand", here()...)
				continue
			}
			to, no := k.mcp(s)
			if no != nil {
				k.LeftOut(no.because, no.do, here()...)
				continue
			}
			to.Allow = k.patterns(tool.MCP.Tools, here("mcp", "tools"))
			k.addMCP(model, to, here())
			k.Drop(here()...)
		case tool.Agent != nil:
			names = append(names, tool.Agent.Name)
			k.LeftOut("the description of an agent as a tool is that of the Agent with its skills", "set spec.description of the Agent "+conversion.AgentName(tool.Agent.TemplateRef.Name), here("agent", "description")...)
			k.LeftOut("every Agent has its own pods", conversion.NothingToDo, here("agent", "isolation")...)
			k.agentTool(model, tool.Agent.TemplateRef.Name, "", here())
		}
	}
	k.prompt(&promptFields{
		text: spec.SystemPrompt, from: configMapOf(spec.SystemPromptFrom), template: spec.PromptTemplate,
		textPath: []any{"spec", "systemPrompt"}, fromPath: []any{"spec", "systemPromptFrom"}, tmplPath: []any{"spec", "promptTemplate"},
	}, model, names)
	for i, skill := range spec.Skills {
		here := []any{"spec", "skills", i}
		if skill.Source.OCI != "" && skill.Source.Path == "" && k.ociSkill(skill.Name, skill.Source.OCI) {
			k.Drop(here...)
			continue
		}
		k.LeftOut(skillSource, skillAdvice, here...)
	}
	k.LeftOut("the operator has no bundles of skills", skillAdvice, "spec", "plugins")
	k.finish()
}

func configMapOf(from *valueSource) *valueSource {
	if from == nil {
		return nil
	}
	return &valueSource{Type: "ConfigMap", Name: from.Name, Key: from.Key}
}

// harness reports a Harness of kagent 1.0, which runs AgentTemplates.
func (c *conversions) harness(o *object) error {
	h := &struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}{}
	if err := json.Unmarshal(o.text, h); err != nil {
		return wrong(o, err)
	}
	for _, name := range []string{"codex", "claude"} {
		if h.Spec[name] != nil {
			c.leaveOut(o, "the operator cannot run the program "+name+" yet", "import the AgentTemplates: the sidecar then calls the model and the tools")
			return nil
		}
	}
	if h.Spec["byo"] != nil {
		c.leaveOut(o, "a container of a Harness gets its agent from kagent", "make an Agent with the image, if it speaks A2A or answers a POST for each turn")
		return nil
	}
	c.leaveOut(o, "the sidecar of each Agent runs the model and the tools", conversion.NothingToDo)
	return nil
}

// Texts about skills.
const (
	skillSource = "the operator loads skills from OCI images that are pinned by a digest, with SKILL.md at the root, and from AgentSkills"
	skillAdvice = "make an AgentSkill from the folder with kubectl a2a import skill, and name it in spec.skillRefs"
)

// skills converts the skills that kagent loads as files.
func (k *conversionOf) skills(from *skillSources) {
	if from == nil {
		return
	}
	here := func(more ...any) []any { return append([]any{"spec", "skills"}, more...) }
	for i, ref := range from.Refs {
		if k.ociSkill("", ref) {
			k.Drop(here("refs", i)...)
			continue
		}
		k.LeftOut(skillSource, skillAdvice, here("refs", i)...)
	}
	pod := &k.to.Spec.Workload.Template.Spec
	for i, secret := range from.ImagePullSecrets {
		if !slices.Contains(pod.ImagePullSecrets, secret) {
			pod.ImagePullSecrets = append(pod.ImagePullSecrets, secret)
		}
		k.Drop(here("imagePullSecrets", i)...)
	}
	k.LeftOut(skillSource, skillAdvice, here("gitRefs")...)
	k.LeftOut(skillSource, skillAdvice, here("s3Refs")...)
	k.LeftOut("the operator downloads nothing", conversion.NothingToDo, here("gitAuthSecretRef")...)
	k.LeftOut("the kubelet pulls images of skills", "configure the registry at the nodes", here("insecureSkipVerify")...)
	k.LeftOut("no init container loads skills", conversion.NothingToDo, here("initContainer")...)
}

// ociSkill adds a skill whose files are in an OCI image, and reports whether it could.
func (k *conversionOf) ociSkill(name, image string) bool {
	if !ociDigest.MatchString(image) {
		return false
	}
	if name == "" {
		name, _, _ = strings.Cut(image, "@")
		name = name[strings.LastIndexByte(name, '/')+1:]
		name, _, _ = strings.Cut(name, ":")
	}
	id := conversion.AgentName(name)
	skills := &k.to.Spec.Skills
	if len(*skills) >= maxSkills || slices.ContainsFunc(*skills, func(s a2av1alpha1.Skill) bool { return s.ID == a2av1alpha1.SkillID(id) }) {
		return false
	}
	*skills = append(*skills, a2av1alpha1.Skill{ID: a2av1alpha1.SkillID(id), SkillDetails: a2av1alpha1.SkillDetails{
		Name: conversion.Clip(name, 128), Description: "The skill " + conversion.Clip(name, 128) + ".", Tags: []string{id}, Image: image,
	}})
	k.Check("the card needs a description of the skill, and the import does not read the image", "copy the description of SKILL.md into the skill "+id+" of spec.skills", "spec", "skills")
	return true
}

// maxSkills bounds spec.skills.
const maxSkills = 64

var ociDigest = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:/-]*@sha256:[0-9a-f]{64}$`)
