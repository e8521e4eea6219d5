// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package site tests the site that `make site` has built into bin/site.
package site

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dop251/goja"
)

// page is a page in the index of the search.
type page struct {
	Path  string `json:"path"`
	Title string `json:"title"`
}

// finder returns the search of the site.
func finder(t *testing.T) func(query string) []page {
	t.Helper()
	script, err := os.ReadFile("assets/search.js")
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile("../../bin/site/index.json")
	if err != nil {
		t.Fatalf("%v: run make site", err)
	}
	machine := goja.New()
	if _, err := machine.RunString(string(script)); err != nil {
		t.Fatal(err)
	}
	if err := machine.Set("json", string(index)); err != nil {
		t.Fatal(err)
	}
	if _, err := machine.RunString("const prepared = prepare(JSON.parse(json)); const search = (query) => JSON.stringify(find(prepared, query));"); err != nil {
		t.Fatal(err)
	}
	return func(query string) []page {
		t.Helper()
		if err := machine.Set("query", query); err != nil {
			t.Fatal(err)
		}
		value, err := machine.RunString("search(query)")
		if err != nil {
			t.Fatal(err)
		}
		var found []page
		if err := json.Unmarshal([]byte(value.String()), &found); err != nil {
			t.Fatal(err)
		}
		return found
	}
}

// TestQuestionsFindTheirPage checks that each question of a first week has its page among the first three results.
func TestQuestionsFindTheirPage(t *testing.T) {
	find := finder(t)
	for question, want := range map[string]string{
		"my agent does not work":              "troubleshooting/not-ready",
		"my agent is not ready":               "troubleshooting/not-ready",
		"agent stuck pending":                 "troubleshooting/not-ready",
		"debug":                               "troubleshooting/not-ready",
		"caller gets 401":                     "troubleshooting/unauthorized",
		"403 forbidden":                       "troubleshooting/unauthorized",
		"search finds nothing":                "troubleshooting/finds-nothing",
		"kubectl a2a find shows no agents":    "troubleshooting/finds-nothing",
		"the call hangs":                      "troubleshooting/no-answer",
		"answer is cut off":                   "troubleshooting/no-answer",
		"first agent":                         "tutorials/quickstart",
		"try it on my laptop":                 "tutorials/local",
		"install with helm":                   "how-to/install",
		"agent without code":                  "how-to/agents-without-code",
		"give the model tools mcp":            "how-to/mcp-tools",
		"api key of the model":                "how-to/model-keys",
		"who may call my agent":               "how-to/access",
		"expose outside the cluster":          "how-to/exposure",
		"rollback":                            "how-to/rollback",
		"go back to the last version":         "how-to/rollback",
		"autoscaling":                         "how-to/scaling",
		"migrate from kagent":                 "how-to/kagent",
		"upgrade the operator":                "how-to/upgrades",
		"uninstall":                           "how-to/uninstall",
		"alerts and dashboards":               "how-to/monitor",
		"private registry image pull secret":  "how-to/private-images",
		"my own container":                    "how-to/own-container",
		"langgraph":                           "how-to/own-container",
		"corporate proxy":                     "how-to/egress-proxy",
		"argo cd":                             "how-to/gitops",
		"share a skill":                       "how-to/skills",
		"call an agent from another pod":      "how-to/call-from-a-workload",
		"limit tokens per user":               "how-to/token-budgets",
		"two operators":                       "how-to/several-operators",
		"which kubernetes versions supported": "reference/support",
		"spec.limits":                         "reference/limits",
	} {
		found := find(question)
		first := found[:min(3, len(found))]
		if !slices.ContainsFunc(first, func(p page) bool { return p.Path == want+".html" }) {
			t.Errorf("%q finds %v, want %s among them", question, first, want)
		}
	}
}

// TestSearchIsSafe checks queries that no page answers.
func TestSearchIsSafe(t *testing.T) {
	find := finder(t)
	for _, query := range []string{"", " ", "the", "zzzzqqq", "<script>", "((((", strings.Repeat("a", 10_000)} {
		if found := find(query); len(found) > 12 {
			t.Errorf("%q finds %d pages", query, len(found))
		}
	}
	if found := find("zzzzqqq"); len(found) != 0 {
		t.Errorf("a word that no page has finds %v", found)
	}
}

// TestPagesOfSectionsLeadOn checks that the page of each section lists pages of the section: on a small screen, there is no menu beside it.
func TestPagesOfSectionsLeadOn(t *testing.T) {
	sections, err := filepath.Glob("../../docs/*/*.md")
	if err != nil || len(sections) == 0 {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, file := range sections {
		section := filepath.Base(filepath.Dir(file))
		if seen[section] || section == "images" {
			continue
		}
		seen[section] = true
		text, err := os.ReadFile("../../bin/site/" + section + "/index.html")
		if err != nil {
			t.Errorf("%v: run make site", err)
			continue
		}
		_, main, _ := strings.Cut(string(text), "<main")
		main, _, _ = strings.Cut(main, "</main>")
		if !strings.Contains(main, "/"+section+"/") {
			t.Errorf("the page of %s leads to no page of it", section)
		}
	}
}
