// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kagent

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
)

// promptFields are the fields with the prompt of an Agent. The paths are those of the fields in the object.
type promptFields struct {
	text                         string
	from                         *valueSource
	template                     *promptTemplate
	textPath, fromPath, tmplPath []any
}

// prompt converts the prompt to the instructions of the model. A prompt in a ConfigMap stays there. Directives of a template
// are replaced by their texts, because the sidecar expands none.
func (k *conversionOf) prompt(p *promptFields, model *a2av1alpha1.AgentModel, tools []string) {
	text := p.text
	defer k.Drop(p.textPath...)
	if from := p.from; from != nil && from.Type == "ConfigMap" {
		if p.template == nil {
			model.InstructionsFrom = &a2av1alpha1.ConfigMapKeyReference{Name: from.Name, Key: from.Key}
			k.Drop(p.fromPath...)
			return
		}
		text = k.configMaps[k.from.Namespace+"/"+from.Name][from.Key]
		if text != "" {
			k.Check("the import copied the text of the ConfigMap with its template, and an edit of the ConfigMap has no effect", "edit spec.model.instructions", p.fromPath...)
			k.Drop(p.fromPath...)
		}
	}
	k.LeftOut("the manifests do not have the text, or it is in a Secret", "copy it into spec.model.instructions, or into a ConfigMap for spec.model.instructionsFrom", p.fromPath...)
	if p.template != nil {
		text = k.expanded(text, p, tools)
	}
	model.Instructions = conversion.Clip(text, maxPrompt)
	if model.Instructions != text {
		k.Changed("instructions have at most 65536 characters", "shorten them", p.textPath...)
	}
}

// expanded returns a prompt with the texts of its directives or, if that fails, the prompt. It reports what it did.
func (k *conversionOf) expanded(text string, p *promptFields, tools []string) string {
	expanded, err := k.expand(text, p.template, tools)
	switch {
	case err != nil:
		k.LeftOut("the import cannot expand the template: "+err.Error(), "replace the directives in spec.model.instructions by their texts", p.tmplPath...)
		return text
	case expanded == text:
		k.LeftOut("no directive of the prompt uses it", conversion.NothingToDo, p.tmplPath...)
	default:
		k.Check("the import replaced the directives of the template by their texts, and an edit of the ConfigMaps has no effect", "edit spec.model.instructions", p.tmplPath...)
		k.Drop(p.tmplPath...)
	}
	return expanded
}

// maxExpanded bounds an expanded prompt, in bytes.
const maxExpanded = 1 << 20

var (
	anyRange = regexp.MustCompile(`\{\{-?\s*range\b`)
	// listRange matches loops over the lists that a template of kagent has.
	listRange = regexp.MustCompile(`\{\{-?\s*range\s+(\$\w+\s*(,\s*\$\w+\s*)?:=\s*)?\.(ToolNames|SkillNames)\b`)
)

// expand expands a prompt as kagent does: a template with the function include and facts about the Agent.
func (k *conversionOf) expand(text string, t *promptTemplate, tools []string) (string, error) {
	if len(anyRange.FindAllString(text, -1)) != len(listRange.FindAllString(text, -1)) || len(anyRange.FindAllString(text, -1)) > 2 {
		return "", errors.New("it has loops over other lists than .ToolNames and .SkillNames, or more than two")
	}
	parsed, err := template.New("systemMessage").Option("missingkey=error").Funcs(template.FuncMap{"include": func(path string) (string, error) { return k.include(path, t) }}).Parse(text)
	if err != nil {
		return "", errors.New("it is not valid")
	}
	var skills []string
	if d := k.from.Spec.Declarative; d != nil && d.A2AConfig != nil {
		for _, s := range d.A2AConfig.Skills {
			skills = append(skills, s.Name)
		}
	}
	out := &boundedText{}
	err = parsed.Execute(out, map[string]any{
		"AgentName": k.from.Name, "AgentNamespace": k.from.Namespace, "Description": k.from.Spec.Description, "ToolNames": tools, "SkillNames": skills,
	})
	if err != nil {
		if missing, ok := errors.AsType[*missingFragmentError](err); ok {
			return "", missing
		}
		return "", errors.New("a directive of it fails")
	}
	return out.String(), nil
}

// missingFragmentError is the error for a fragment that the manifests do not have.
type missingFragmentError struct{ path string }

// Error names the fragment.
func (m *missingFragmentError) Error() string {
	return fmt.Sprintf("the manifests have no ConfigMap with the fragment %q", conversion.Clip(m.path, 128))
}

// include returns a fragment, by the alias or the name of its ConfigMap and by its key.
func (k *conversionOf) include(path string, t *promptTemplate) (string, error) {
	source, key, _ := strings.Cut(path, "/")
	at := slices.IndexFunc(t.DataSources, func(s promptSource) bool { return s.Alias == source || s.Alias == "" && s.Name == source })
	if at >= 0 {
		if text, ok := k.configMaps[k.from.Namespace+"/"+t.DataSources[at].Name][key]; ok {
			return text, nil
		}
	}
	return "", &missingFragmentError{path}
}

// boundedText is a text of at most maxExpanded bytes.
type boundedText struct{ strings.Builder }

// Write fails if the text becomes too long.
func (b *boundedText) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxExpanded {
		return 0, errors.New("the text is too long")
	}
	return b.Builder.Write(p)
}
