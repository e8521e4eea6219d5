// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package skilltools lets a model load the instructions and resources of the agent's skills when it needs them, in the manner of
// the Agent Skills format. The model sees name and description of each skill, and reads the rest by a tool.
//
// The text of a skill is data. It gives the agent no tool and no right that the agent does not have.
package skilltools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/kit/skillfolder"
)

// ToolName is the name of the tool.
const ToolName = "load_skill"

const (
	// maxText bounds a file that the model loads, in bytes.
	maxText = 1 << 20
	// maxNames bounds the names of resources that the model sees of a skill, and maxEntries the entries of the folder that are read for
	// them.
	maxNames   = 256
	maxEntries = 4096
)

// Skill is a skill on the card of the agent.
type Skill struct{ ID, Name, Description string }

// Skills are the skills of an agent.
type Skills struct {
	// Current returns the skills now. Those without a folder are not offered.
	Current func() []Skill
	// Dir is the directory with a folder for each skill that has files, named after its id.
	Dir string
}

var _ model.Toolset = Skills{}

// Tools implements model.Toolset.
func (s Skills) Tools(context.Context, *backend.Turn) ([]*model.Tool, error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the directory of skills: %w", err)
	}
	defer root.Close()
	var list strings.Builder
	var ids []string
	for _, skill := range s.Current() {
		if !skillfolder.IsName(skill.ID) {
			continue
		}
		if info, err := root.Stat(path.Join(skill.ID, skillfolder.Document)); err != nil || !info.Mode().IsRegular() {
			continue
		}
		ids = append(ids, skill.ID)
		fmt.Fprintf(&list, "\n- %s: %s. %s", skill.ID, oneLine(skill.Name), oneLine(skill.Description))
	}
	if len(ids) == 0 {
		return nil, nil
	}
	schema, err := json.Marshal(map[string]any{
		"type": "object",
		"properties": map[string]any{
			"skill":    map[string]any{"type": "string", "enum": ids},
			"resource": map[string]any{"type": "string", "description": "The path of a resource of the skill. Without it, the instructions are loaded, with the paths of the resources."},
		},
		"required": []string{"skill"},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the schema of %s: %w", ToolName, err)
	}
	return []*model.Tool{{
		Name: ToolName, Key: ToolName, Parameters: a2a.Object(schema), Source: "the skills of this agent", IsRepeatable: true, Toolset: s,
		Description: "Loads the instructions of a skill of this agent. Load them before you do what the skill describes." + list.String(),
	}}, nil
}

// oneLine returns a text without line breaks, so that it cannot look like another skill of the list.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Call implements model.Toolset.
func (s Skills) Call(_ context.Context, c *model.Call, _ func(string)) (*model.Result, error) {
	var arguments struct {
		Skill    string `json:"skill"`
		Resource string `json:"resource"`
	}
	if err := json.Unmarshal(c.Arguments, &arguments); err != nil {
		return mistake("The arguments must be skill and resource, both texts"), nil
	}
	isKnown := slices.ContainsFunc(s.Current(), func(skill Skill) bool { return skill.ID == arguments.Skill })
	if !isKnown || !skillfolder.IsName(arguments.Skill) {
		return mistake("The agent has no skill %q", arguments.Skill), nil
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the directory of skills: %w", err)
	}
	defer root.Close()
	folder, err := root.OpenRoot(arguments.Skill)
	if err != nil {
		return mistake("Skill %s has no instructions", arguments.Skill), nil
	}
	defer folder.Close()
	resources := resourcesOf(folder)
	if arguments.Resource != "" {
		return load(folder, arguments.Skill, path.Clean(arguments.Resource), resources), nil
	}
	result := load(folder, arguments.Skill, skillfolder.Document, nil)
	if _, instructions, ok := skillfolder.Split(result.Text); ok {
		result.Text = instructions
	}
	if len(resources) > 0 && !result.IsError {
		result.Text = strings.TrimRight(result.Text, "\n") + "\n\nResources: " + strings.Join(resources, ", ")
	}
	return result, nil
}

// load reads a file of a skill. It follows no link out of the folder.
func load(folder *os.Root, skill, file string, resources []string) *model.Result {
	info, err := folder.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return mistake("Skill %s has no resource %q; its resources are: %s", skill, file, strings.Join(resources, ", "))
	}
	text, err := read(folder, file)
	switch {
	case err != nil:
		return mistake("%s of skill %s cannot be read: %v", file, skill, err)
	case !utf8.Valid(text):
		return mistake("%s of skill %s is no text", file, skill)
	default:
		return &model.Result{Text: string(text)}
	}
}

func read(folder *os.Root, name string) ([]byte, error) {
	file, err := folder.Open(name)
	if err != nil {
		return nil, errors.New("it cannot be opened") // the error would have the path
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("it is larger than %d KiB", maxText>>10)
	}
	return text, err
}

// resourcesOf returns the paths of the files of a skill besides the document, sorted.
func resourcesOf(folder *os.Root) []string {
	var paths []string
	entries := 0
	_ = fs.WalkDir(folder.FS(), ".", func(at string, entry fs.DirEntry, err error) error {
		entries++
		switch {
		case len(paths) == maxNames || entries > maxEntries:
			return fs.SkipAll
		case err != nil:
			return nil //nolint:nilerr // the rest of the folder may be readable
		case entry.Type().IsRegular() && at != skillfolder.Document:
			paths = append(paths, at)
		}
		return nil
	})
	return paths
}

func mistake(format string, args ...any) *model.Result {
	return &model.Result{Text: fmt.Sprintf(format, args...), IsError: true}
}
