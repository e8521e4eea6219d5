// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
)

const chartDir = "charts/a2a-operator/"

// chartTexts returns the lines of NOTES.txt, and the comments of values.yaml, a
// comment on a line.
func chartTexts() ([]text, error) {
	notes, err := os.ReadFile(chartDir + "templates/NOTES.txt")
	if err != nil {
		return nil, err
	}
	values, err := os.ReadFile(chartDir + "values.yaml")
	if err != nil {
		return nil, err
	}
	return append(noteTexts(chartDir+"templates/NOTES.txt", string(notes)), valueTexts(chartDir+"values.yaml", string(values))...), nil
}

// noteTexts returns the lines of a template that have at least two words and begin
// neither with an action of the template nor with a kubectl command.
func noteTexts(path, template string) []text {
	var texts []text
	for i, line := range strings.Split(template, "\n") {
		if line = strings.TrimSpace(line); prose(line) && !strings.HasPrefix(line, "{{") && !strings.HasPrefix(line, "kubectl ") {
			texts = append(texts, text{path, i + 1, line})
		}
	}
	return texts
}

// valueTexts returns the comments of a YAML file.
func valueTexts(path, values string) []text {
	var texts []text
	inComment := false
	for i, line := range strings.Split(values, "\n") {
		comment, is := strings.CutPrefix(strings.TrimSpace(line), "#")
		if comment = strings.TrimSpace(strings.TrimPrefix(comment, " --")); is && inComment && !strings.Contains(line, "# -- ") {
			texts[len(texts)-1].text += " " + comment
		} else if is {
			texts = append(texts, text{path, i + 1, comment})
		}
		inComment = is
	}
	return texts
}
