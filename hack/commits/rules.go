// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxSubject bounds a subject, in characters.
const maxSubject = 72

var (
	// form matches a subject: an area, which may name several packages, and a
	// description, whose first word is a submatch.
	form = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ,./_-]*: ([A-Z][a-z]+)( .*[^. ]|)$`)
	// trailer is a line at the end of a message for programs, such as Signed-off-by.
	trailer = regexp.MustCompile(`^[A-Z][A-Za-z-]*-(by|Id): `)
)

// check returns a text for each rule that a message violates, with the correction.
func check(message string) []string {
	var broken []string
	head, body, _ := strings.Cut(message, "\n")
	if n := utf8.RuneCountInString(head); n > maxSubject {
		broken = append(broken, fmt.Sprintf("the subject has %d characters: shorten it to %d at most", n, maxSubject))
	}
	if found := form.FindStringSubmatch(head); found == nil {
		broken = append(broken, `the subject is not "area: Do the thing": begin with the package or page, a colon and a capitalized verb, without a period at the end`)
	} else if !imperative(found[1]) {
		broken = append(broken, fmt.Sprintf("the subject begins with %q: use a verb in the imperative, such as Add, Fix or Remove", found[1]))
	}
	rest := strings.Split(body, "\n")
	if strings.TrimSpace(rest[0]) != "" {
		broken = append(broken, "the second line is not empty: put an empty line between subject and body")
	}
	if !slices.ContainsFunc(rest, func(line string) bool {
		return strings.TrimSpace(line) != "" && !trailer.MatchString(line)
	}) {
		broken = append(broken, "the body is empty: say why the change is made")
	}
	return broken
}

func subject(message string) string {
	head, _, _ := strings.Cut(message, "\n")
	return head
}

// noVerbs are words that begin subjects without a verb.
var noVerbs = []string{
	"A", "All", "An", "And", "Another", "Any", "Both", "Each", "Every", "For", "From", "How", "In", "Less", "More", "New",
	"No", "Not", "Of", "On", "One", "Only", "Our", "Some", "That", "The", "These", "They", "This", "Those", "To", "Two",
	"What", "When", "Where", "Which", "Who", "Why", "With", "Without",
}

// imperatives are verbs whose base form looks like another form.
var imperatives = []string{
	"Bleed", "Breed", "Bring", "Embed", "Exceed", "Feed", "Focus", "Heed", "Need", "Ping", "Proceed", "Ring", "Seed",
	"Shed", "Speed", "Spring", "String", "Succeed", "Swing", "Wed", "Weed", "Alias", "Bias", "Canvas",
}

// imperative reports whether a word can be the imperative of a verb. It recognizes other
// forms by their endings: Added, Adding and Adds.
func imperative(word string) bool {
	switch {
	case slices.Contains(imperatives, word):
		return true
	case slices.Contains(noVerbs, word):
		return false
	case strings.HasSuffix(word, "ed"), strings.HasSuffix(word, "ing"):
		return false
	default:
		return !strings.HasSuffix(word, "s") || strings.HasSuffix(word, "ss")
	}
}
