// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

var pageLink = regexp.MustCompile(`<a rel="(prev|next)" href="([^"]*)">`)

// linksOf returns the links of a page to the previous and the next one.
func linksOf(body string) map[string]string {
	links := map[string]string{}
	for _, found := range pageLink.FindAllStringSubmatch(body, -1) {
		links[found[1]] = html.UnescapeString(found[2])
	}
	return links
}

// The list leads forward and back over its pages, and keeps the filters.
func TestListLeadsForwardAndBack(t *testing.T) {
	p := startPage(t)
	for i := range 1350 {
		p.set(fmt.Sprintf("agent-%04d", i), nil)
	}
	first := "?q=agent&skill=c+d&tag=a+b"
	query := first
	var visited []string
	for {
		status, body := get(t, p.base+query)
		if status != http.StatusOK || strings.Contains(body, `id="namespace"`) || !strings.Contains(body, `value="a b"`) {
			t.Fatalf("GET %s = %d %.300s", query, status, body)
		}
		visited = append(visited, query)
		next := linksOf(body)["next"]
		if next == "" {
			break
		}
		query = next
	}
	if len(visited) != 14 {
		t.Fatalf("%d pages, want 14", len(visited))
	}
	cursorOf := func(query string) string {
		values, err := url.ParseQuery(strings.TrimPrefix(query, "?"))
		if err != nil || values.Get("q") != "agent" || values.Get("tag") != "a b" || values.Get("skill") != "c d" {
			t.Errorf("link %s: %v", query, err)
		}
		return values.Get("cursor")
	}
	for i := len(visited) - 1; i > len(visited)-11; i-- {
		_, body := get(t, p.base+query)
		query = linksOf(body)["prev"]
		if cursorOf(query) != cursorOf(visited[i-1]) {
			t.Fatalf("before page %d is %s, want %s", i, query, visited[i-1])
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := p.searches[len(p.searches)-1]; !strings.Contains(last, "namespace=team") || !strings.Contains(last, "tag=a+b") || !strings.Contains(last, "skill=c+d") {
		t.Errorf("the registry was asked for %s", last)
	}
}
