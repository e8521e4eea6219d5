// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package corpus contains 1,000 descriptions of agents in four languages, and questions that they answer, for
// benchmarks of search.
//
// Each file contains 10 tasks and 25 subjects in one language. A line contains the kind, the words of a card, a detail of a
// card, the words of a question and, for a task, a tag. An agent does one task for one subject. A question is phrased like
// the question of a person who has not read the card: in another form, and often with other words.
package corpus

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.txt
var files embed.FS

// Languages are the languages of the corpus, in the order of Agents.
var Languages = []string{"en", "de", "es", "zh"}

// Agent contains the texts of a card, and a question to which the agent is the answer.
type Agent struct {
	Language    string
	Name        string
	Description string
	Skill       string
	Detail      string
	Tags        []string
	Question    string
}

// part is a task or a subject.
type part struct{ words, detail, question, tag string }

// Agents returns all agents, sorted by language in the order of Languages.
func Agents() ([]Agent, error) {
	var agents []Agent
	for _, language := range Languages {
		text, err := files.ReadFile(language + ".txt")
		if err != nil {
			return nil, fmt.Errorf("read corpus: %w", err)
		}
		tasks, subjects, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("read corpus %s: %w", language, err)
		}
		space := " "
		if language == "zh" {
			space = ""
		}
		for _, s := range subjects {
			for _, t := range tasks {
				agents = append(agents, Agent{
					Language:    language,
					Name:        s.words + " " + t.tag,
					Description: t.words + space + s.words + ". " + s.detail + ".",
					Skill:       t.words + space + s.words,
					Detail:      t.words + space + s.words + ", " + t.detail + ".",
					Tags:        []string{t.tag},
					Question:    t.question + space + s.question,
				})
			}
		}
	}
	return agents, nil
}

func parse(text string) (tasks, subjects []part, err error) {
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), " | ")
		switch {
		case len(fields) == 5 && fields[0] == "task":
			tasks = append(tasks, part{fields[1], fields[2], fields[3], fields[4]})
		case len(fields) == 4 && fields[0] == "subject":
			subjects = append(subjects, part{words: fields[1], detail: fields[2], question: fields[3]})
		default:
			return nil, nil, fmt.Errorf("line %q is neither a task nor a subject", line)
		}
	}
	return tasks, subjects, nil
}
