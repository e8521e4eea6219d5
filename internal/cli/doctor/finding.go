// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"
	"strings"
)

// Level is how bad a finding is.
type Level string

// The levels.
const (
	// LevelOK is a check that found nothing.
	LevelOK Level = "ok"
	// LevelWarning does not keep an agent from working, may go away by itself, or could not be
	// checked.
	LevelWarning Level = "warning"
	// LevelProblem keeps an agent from working for some caller.
	LevelProblem Level = "problem"
)

// Finding is the result of a check.
type Finding struct {
	Level Level `json:"level"`
	// Check names what was checked, such as "condition Available".
	Check string `json:"check"`
	// Reason is that of the condition, "" for a finding that no condition shows.
	Reason string `json:"reason,omitempty"`
	// Seen has the observations, such as the message of the condition.
	Seen []string `json:"seen,omitempty"`
	// Cause and Cure are sentences. They are "" for LevelOK.
	Cause string `json:"cause,omitempty"`
	Cure  string `json:"cure,omitempty"`
	// Command shows more, or is the cure itself. It is "" if there is none.
	Command string `json:"command,omitempty"`
}

var levels = []Level{LevelOK, LevelWarning, LevelProblem}

func worse(a, b Level) Level {
	return levels[max(slices.Index(levels, a), slices.Index(levels, b))]
}

// Worst returns the worst level of findings, LevelOK for none.
func Worst(findings []Finding) Level {
	level := LevelOK
	for i := range findings {
		level = worse(level, findings[i].Level)
	}
	return level
}

// maxSeen bounds the observations of a finding: many pods may have the same fault.
const maxSeen = 10

// merge appends findings. A finding with a reason that another one has adds its observations to
// that one, up to maxSeen.
func merge(all, more []Finding) []Finding {
	for _, each := range more {
		i := slices.IndexFunc(all, func(f Finding) bool { return each.Reason != "" && f.Reason == each.Reason && f.Level != LevelOK })
		if i < 0 {
			all = append(all, each)
			continue
		}
		for _, text := range each.Seen {
			if !slices.Contains(all[i].Seen, text) && len(all[i].Seen) < maxSeen {
				all[i].Seen = append(all[i].Seen, text)
			}
		}
	}
	return all
}

// sentence returns a hint of an error as a sentence.
func sentence(hint string) string {
	if hint == "" {
		return ""
	}
	hint = strings.ToUpper(hint[:1]) + hint[1:]
	if !strings.HasSuffix(hint, ".") {
		hint += "."
	}
	return hint
}

// okay returns the finding of a check that found no problem.
func okay(check, seen string) []Finding {
	return []Finding{{Level: LevelOK, Check: check, Seen: []string{seen}}}
}

// orOkay returns the findings, and okay if there are none.
func orOkay(findings []Finding, check, seen string) []Finding {
	if len(findings) > 0 {
		return findings
	}
	return okay(check, seen)
}
