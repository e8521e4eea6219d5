// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"
	"strconv"
	"strings"
)

// Level is the severity of a finding.
type Level string

// The levels.
const (
	// LevelOK is the level of a check that found no problem.
	LevelOK Level = "ok"
	// LevelWarning is a fault that does not keep an agent from working, or that may resolve without an action of the user.
	// A check that could not run is a warning, too.
	LevelWarning Level = "warning"
	// LevelProblem is a fault that keeps an agent from working for at least one caller.
	LevelProblem Level = "problem"
)

// Finding is the result of a check.
type Finding struct {
	Level Level `json:"level"`
	// Check names what was checked, such as "condition Available".
	Check string `json:"check"`
	// Reason is the reason of the condition that shows the finding, "" if no condition shows it.
	Reason string `json:"reason,omitempty"`
	// Seen contains the observations, such as the message of the condition.
	Seen []string `json:"seen,omitempty"`
	// Cause and Cure are sentences. They are "" for LevelOK.
	Cause string `json:"cause,omitempty"`
	Cure  string `json:"cure,omitempty"`
	// Command is a command line that shows details or applies the cure, "" if there is none.
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

// merge appends the findings in more to all. If all has a finding with the same reason, merge appends only the
// observations to that finding, up to maxSeen.
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

// sentence returns the hint of an error with a capital first letter and a period.
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

// okay returns a finding of LevelOK for a check.
func okay(check, seen string) []Finding {
	return []Finding{{Level: LevelOK, Check: check, Seen: []string{seen}}}
}

// orOkay returns the findings, or a finding of LevelOK if there are none.
func orOkay(findings []Finding, check, seen string) []Finding {
	if len(findings) > 0 {
		return findings
	}
	return okay(check, seen)
}

// advice is the meaning of a reason and the action of the user, as in
// docs/reference/conditions.md.
type advice struct{ means, action string }

// quantity returns a number with its noun, such as 1 pod or 2 pods.
func quantity(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
