// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table is a generated table, and the name of its place on a page.
type table struct {
	place  string
	header []string
	rows   [][]string
}

func (t table) markdown() string {
	var out strings.Builder
	line := func(cells []string) { out.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(t.header)
	out.WriteString("|" + strings.Repeat("---|", len(t.header)) + "\n")
	for _, row := range t.rows {
		line(row)
	}
	return out.String()
}

// publish writes each table to its place in a file, between "<!-- kind: place -->"
// and the next "<!-- end -->". It returns an error if a table has no place, or if a
// place has no table.
func publish(file, kind string, tables []table) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	page, err := fill(string(text), kind, tables)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(page), 0o644)
}

func fill(page, kind string, tables []table) (string, error) {
	const end = "<!-- end -->"
	var failed error
	var filled []string
	places := regexp.MustCompile(`(?s)(<!-- ` + kind + `: ([^\n]*) -->\n).*?` + end)
	page = places.ReplaceAllStringFunc(page, func(found string) string {
		match := places.FindStringSubmatch(found)
		begin, place := match[1], match[2]
		i := slices.IndexFunc(tables, func(t table) bool { return t.place == place })
		if i < 0 {
			failed = fmt.Errorf("there are no %s of %q", kind, place)
			return found
		}
		filled = append(filled, place)
		return begin + tables[i].markdown() + end
	})
	for _, t := range tables {
		if !slices.Contains(filled, t.place) {
			return "", fmt.Errorf("there is no place %q", "<!-- "+kind+": "+t.place+" -->")
		}
	}
	return page, failed
}

// cell returns the text of a comment as a sentence for a table cell.
func cell(text string) string {
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	if first == '`' {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
