// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// finding is a violation of a rule.
type finding struct {
	file    string
	line    int
	rule    string
	message string
	// warning is true for a finding in a comment.
	warning bool
}

func (f finding) String() string {
	kind := ""
	if f.warning {
		kind = "warning: "
	}
	return fmt.Sprintf("%s:%d: %s%s (%s)", f.file, f.line, kind, f.message, f.rule)
}

// alert is a finding in the output of Vale. Span has its first and last column, from 1.
type alert struct {
	Line    int    `json:"Line"`
	Span    [2]int `json:"Span"`
	Check   string `json:"Check"`
	Message string `json:"Message"`
}

// vale checks pages and texts with Vale. It returns each finding once, sorted by
// file and line.
func vale(ctx context.Context, pages []string, texts []paragraph) ([]finding, error) {
	dir, err := os.MkdirTemp("", "prose")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "texts.txt")
	if err := os.WriteFile(file, []byte(lines(texts)), 0o600); err != nil {
		return nil, err
	}
	alerts, err := runVale(ctx, append(pages, file))
	if err != nil {
		return nil, err
	}
	var all []finding
	for path, alerts := range alerts {
		for _, a := range alerts {
			if path == file {
				all = append(all, located(a, texts))
			} else {
				all = append(all, finding{file: path, line: a.Line, rule: a.Check, message: a.Message})
			}
		}
	}
	slices.SortFunc(all, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.rule, b.rule), cmp.Compare(a.message, b.message))
	})
	return slices.Compact(all), nil
}

// afterText is the sentence that the function lines appends to each text.
const afterText = "End."

// linesPerText is the number of lines that the function lines writes for each text.
const linesPerText = 4

// lines returns a document with all texts, separated by empty lines. Vale would continue
// a sentence over an empty line. Therefore lines ends each text with punctuation, and
// appends a sentence that begins with a capital letter.
func lines(texts []paragraph) string {
	var out strings.Builder
	for i := range texts {
		text, end := texts[i].text, afterText
		switch text[len(text)-1] {
		case ':':
			end = "" // the text introduces a list, so it is no whole sentence
		case '.', '!', '?':
		default:
			text += "."
		}
		out.WriteString(text + "\n\n" + end + "\n\n")
	}
	return out.String()
}

// located returns the finding for an alert about the document that lines returned.
func located(a alert, texts []paragraph) finding {
	p := &texts[(a.Line-1)/linesPerText]
	message := strings.Replace(a.Message, "  "+afterText, "", 1)
	return finding{file: p.file, line: p.lineAt(a.Span[0] - 1), rule: a.Check, message: message, warning: p.comment}
}

// runVale returns the alerts for each file. It ignores the Vale configuration of the user
// and the machine.
func runVale(ctx context.Context, files []string) (map[string][]alert, error) {
	arguments := []string{
		"tool", "-modfile=hack/tools/prose/go.mod", "vale",
		"--no-global", "--config", "hack/prose/vale.ini", "--output", "JSON", "--no-exit",
	}
	var out, failure bytes.Buffer
	command := exec.CommandContext(ctx, "go", append(arguments, files...)...)
	command.Env, command.Stdout, command.Stderr = environment(), &out, &failure
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("vale: %w\n%s%s", err, out.String(), failure.String())
	}
	alerts := map[string][]alert{}
	if err := json.Unmarshal(out.Bytes(), &alerts); err != nil {
		return nil, errors.Join(fmt.Errorf("vale: %w", err), errors.New(out.String()))
	}
	return alerts, nil
}
