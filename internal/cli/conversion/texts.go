// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// Limits of the texts of an Agent, in characters, and of its lists, in elements.
const (
	maxAgentName   = 52
	maxName        = 128
	maxDescription = 4096
	maxVersion     = 64
	maxTag         = 64
	maxTags        = 32
	maxExample     = 1024
	maxExamples    = 16
	maxSkills      = 64
	maxModes       = 32
)

var (
	notInName = regexp.MustCompile(`[^a-z0-9]+`)
	notInID   = regexp.MustCompile(`[^A-Za-z0-9._:/-]+`)
	mediaType = regexp.MustCompile(`^[A-Za-z0-9.+*_-]+/[A-Za-z0-9.+*_-]+( *;.*)?$`)
	atIDStart = regexp.MustCompile(`^[^A-Za-z0-9]+`)
)

// AgentName returns the name for an Agent that is most similar to a text: an RFC 1035 label of at
// most 52 characters that is not "default".
func AgentName(text string) string {
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(text), "-"), "-")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = strings.TrimSuffix("agent-"+name, "-")
	}
	if len(name) > maxAgentName {
		name = strings.TrimRight(name[:maxAgentName], "-")
	}
	if name == "default" {
		return "default-agent"
	}
	return name
}

// Clip returns at most limit characters of a text.
func Clip(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit])
}

// Description returns the description of an Agent: the first 4096 characters of text, because an Agent's description
// cannot be longer, or made if text is empty. It reports if it cuts or replaces the text.
func (s *Source) Description(text, made string, path ...any) string {
	switch {
	case text == "":
		s.Check("the source has no description, and the import made one", "describe what the agent does in spec.description: other agents find it by this text", path...)
		return made
	case utf8.RuneCountInString(text) > maxDescription:
		s.Changed("a description has at most 4096 characters", "shorten spec.description", path...)
		return Clip(text, maxDescription)
	}
	s.Drop(path...)
	return text
}

// SkillTexts are the texts of a skill of a card, with the names that kagent gives them in JSON.
type SkillTexts struct {
	ID          string   `json:"id,omitempty"`
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Examples    []string `json:"examples,omitempty"`
	InputModes  []string `json:"inputModes,omitempty"`
	OutputModes []string `json:"outputModes,omitempty"`
}

// Skills returns skills within the limits of an Agent. It reports its changes at fields below the path.
func (s *Source) Skills(texts []SkillTexts, path ...any) []a2av1alpha1.Skill {
	var skills []a2av1alpha1.Skill
	used := map[a2av1alpha1.SkillID]bool{}
	for i := range texts {
		t := &texts[i]
		here := append(slices.Clone(path), i)
		if len(skills) == maxSkills {
			s.LeftOut("an Agent has at most 64 skills of its own", "put the others into AgentSkills, and name them in spec.skillRefs", here...)
			continue
		}
		skill := a2av1alpha1.Skill{ID: skillID(t)}
		if used[skill.ID] {
			s.LeftOut("another skill has the same id", "give it an id of its own", here...)
			continue
		}
		used[skill.ID] = true
		skill.Name = Clip(cmp.Or(t.Name, t.ID, string(skill.ID)), maxName)
		skill.Description = Clip(cmp.Or(t.Description, skill.Name), maxDescription)
		skill.Tags = distinct(t.Tags, maxTags, maxTag)
		if len(skill.Tags) == 0 {
			s.Check("a skill needs at least one tag, and the import used its id", "choose tags by which people search", append(here, "tags")...)
			skill.Tags = []string{Clip(string(skill.ID), maxTag)}
		}
		skill.Examples = distinct(t.Examples, maxExamples, maxExample)
		skill.InputModes = mediaTypes(t.InputModes)
		skill.OutputModes = mediaTypes(t.OutputModes)
		skills = append(skills, skill)
		s.skillConverted(&skill, t, here)
	}
	return skills
}

// skillConverted marks the fields of a skill as handled, and reports the fields whose value was changed.
func (s *Source) skillConverted(skill *a2av1alpha1.Skill, t *SkillTexts, path []any) {
	s.Converted(skill, path...)
	for name, empty := range map[string]bool{"description": t.Description == "", "tags": len(t.Tags) == 0} {
		if empty {
			s.Drop(append(path, name)...)
		}
	}
	for _, name := range []string{"id", "name", "description", "tags", "examples", "inputModes", "outputModes"} {
		s.Changed("an Agent has limits for this text or list, which "+
			"https://github.com/a2a-operator/a2a-operator/blob/main/docs/reference/api-reference.md lists", "correct the skill in the Agent", append(path, name)...)
	}
}

func skillID(t *SkillTexts) a2av1alpha1.SkillID {
	id := notInID.ReplaceAllString(cmp.Or(t.ID, t.Name), "-")
	id = atIDStart.ReplaceAllString(id, "")
	return a2av1alpha1.SkillID(Clip(cmp.Or(id, "skill"), maxName))
}

// distinct returns the texts that are not empty, without duplicates: at most maxTexts texts of at most maxCharacters
// characters.
func distinct(texts []string, maxTexts, maxCharacters int) []string {
	var out []string
	used := map[string]bool{}
	for _, text := range texts {
		text = Clip(text, maxCharacters)
		if text != "" && !used[text] && len(out) < maxTexts {
			used[text] = true
			out = append(out, text)
		}
	}
	return out
}

// mediaTypes returns the valid media types of a list, each once.
func mediaTypes(modes []string) []a2av1alpha1.MediaType {
	var out []a2av1alpha1.MediaType
	for _, mode := range distinct(modes, maxModes, maxName) {
		if mediaType.MatchString(mode) {
			out = append(out, a2av1alpha1.MediaType(mode))
		}
	}
	return out
}

// cardSkills returns the texts of the skills of a card.
func cardSkills(c *card.Card) []SkillTexts {
	out := make([]SkillTexts, 0, len(c.Skills))
	for i := range c.Skills {
		skill := &c.Skills[i]
		out = append(out, SkillTexts{
			ID: skill.ID, Name: skill.Name, Description: skill.Description, Tags: skill.Tags,
			Examples: skill.Examples, InputModes: skill.InputModes, OutputModes: skill.OutputModes,
		})
	}
	return out
}
