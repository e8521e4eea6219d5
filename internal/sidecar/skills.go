// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"fmt"
	"os"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model/skilltools"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/reload"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/skillfiles"
)

// skills returns the skills that a model may load: those on the card, with the files in the directory of skills. It returns nil
// without a directory.
func (e *environment) skills() *skilltools.Skills {
	if e.options.Skills == "" {
		return nil
	}
	return &skilltools.Skills{Dir: e.options.Skills, Current: func() []skilltools.Skill {
		var skills []skilltools.Skill
		card := e.current().Card
		for i := range card.Skills {
			skill := &card.Skills[i]
			skills = append(skills, skilltools.Skill{ID: skill.ID, Name: skill.Name, Description: skill.Description})
		}
		return skills
	}}
}

// addSkills writes the files of the skills for the containers of the agent, now and whenever they change. The containers start after
// the sidecar, so they find the files. Files that cannot be used do not keep the agent from starting; a later reload may use others.
func (s *Sidecar) addSkills() error {
	dir := s.options.SkillFiles
	if dir == "" {
		return nil
	}
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("--skill-files: %w", err)
	}
	writer := skillfiles.Writer{Dir: s.options.Skills}
	source := &reload.Source{
		Name: "skills", Directories: []string{dir},
		Read: func() (reload.Files, error) { return reload.ReadDirectory(dir) },
		Use:  func(files reload.Files) error { return writer.Write(files) },
	}
	if err := source.Load(); err != nil {
		s.log.Error("skills refused", "error", err)
	}
	s.reloader.Add(source)
	return nil
}
