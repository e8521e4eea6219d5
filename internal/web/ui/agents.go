// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
)

const (
	// pageSize is the number of agents on a page.
	pageSize = 100
	// maxWords bounds the text of a search, in bytes. The registry has the same limit.
	maxWords = 512
)

// listPage is the data of the page with the list of agents.
type listPage struct {
	Layout
	// Words, Ready, Namespace, Tag and Skill are the search. Scoped is true if the site has only one namespace.
	Words, Ready, Namespace, Tag, Skill string
	Scoped                              bool
	Rows                                []row
	Total                               int
	// Corrections has the words of the search in whose place similar words find agents.
	Corrections []registryapi.Correction
	// Next and Previous are the query strings of the URLs of the next and the previous page, "" if there is none. Start is that
	// of the first page. First is true on the first page.
	Next, Previous, Start string
	First                 bool
}

// list responds with a page of the list of agents. If the request has the header
// Fragment, it responds only with the list, and without the rows that rowsHeader names.
func (s *site) list(w http.ResponseWriter, r *http.Request) {
	parameters := r.URL.Query()
	words := strings.ToValidUTF8(strings.TrimSpace(parameters.Get("q")), "")
	page := listPage{
		Layout: s.Layout(r, "Agents"), Words: words, Ready: parameters.Get("ready"),
		Tag: trimmed(parameters.Get("tag")), Skill: trimmed(parameters.Get("skill")), Scoped: s.options.Namespace != "",
	}
	if !page.Scoped {
		page.Namespace = trimmed(parameters.Get("namespace"))
	}
	query := registryapi.Query{Namespace: cmp.Or(s.options.Namespace, page.Namespace), Limit: pageSize, Cursor: parameters.Get("cursor"), Filters: url.Values{}}
	query.Words = strings.TrimSuffix(safetext.Clip(words, maxWords-len("…")), "…")
	if page.Ready == "true" || page.Ready == "false" {
		query.Filters.Set("ready", page.Ready)
	}
	for name, value := range map[string]string{"tag": page.Tag, "skill": page.Skill} {
		if value != "" {
			query.Filters.Set(name, value)
		}
	}
	page.First = query.Cursor == ""
	back := parameters["back"]
	back = back[max(0, len(back)-maxBack):]
	page.Start = page.link("", nil)
	if n := len(back); n > 0 && !page.First {
		page.Previous = page.link(back[n-1], back[:n-1])
	}
	status := http.StatusOK
	found, err := s.options.Registry.Search(r.Context(), query)
	if err != nil {
		page.Problem = s.options.problemOf(err)
		status = page.Problem.Status
	} else {
		var known []string
		if IsFragment(r) {
			known = strings.Fields(r.Header.Get(rowsHeader))
		}
		page.Rows = rowsOf(found.Agents, known)
		page.Total = found.Total
		page.Corrections = found.Corrections
		if found.NextCursor != "" {
			back = append(slices.Clone(back), query.Cursor)
			page.Next = page.link(found.NextCursor, back[max(0, len(back)-maxBack):])
		}
	}
	name := "list.html"
	if IsFragment(r) {
		name = "agents"
	}
	Render(w, status, name, &page)
}

// maxBack is the number of earlier pages to which a page leads back, one after the other.
const maxBack = 10

// trimmed returns the text of a parameter without spaces around it.
func trimmed(text string) string { return strings.ToValidUTF8(strings.TrimSpace(text), "") }

// link returns the query string of a page of the same search. back has the cursors of the pages before it, "" for the first.
func (p *listPage) link(cursor string, back []string) string {
	values := url.Values{}
	for name, value := range map[string]string{"q": p.Words, "ready": p.Ready, "namespace": p.Namespace, "tag": p.Tag, "skill": p.Skill, "cursor": cursor} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if len(back) > 0 && cursor != "" {
		values["back"] = back
	}
	return "?" + values.Encode()
}

// IsFiltered reports whether the search has a condition.
func (p *listPage) IsFiltered() bool { return p.Words+p.Ready+p.Namespace+p.Tag+p.Skill != "" }

// maxShownCard bounds the text of a card that the page shows, in bytes.
const maxShownCard = 256 << 10

// agentPage is the data of the page of one agent.
type agentPage struct {
	Layout
	Agent *registryapi.Agent
	// Conditions are the conditions of the Agent. If they could not be read, NoConditions is the
	// error, else nil.
	Conditions   []metav1.Condition
	NoConditions *PageError
	// Code are the snippets that send a message to the agent.
	Code []Code
}

// shownExamples is the number of examples of skills above the form for messages.
const shownExamples = 4

// Examples returns the first examples of the skills, one of each skill at first.
func (p *agentPage) Examples() []string {
	var all []string
	for i := range 2 {
		for _, skill := range p.Agent.Skills {
			if i < len(skill.Examples) && len(all) < shownExamples && !slices.Contains(all, skill.Examples[i]) {
				all = append(all, skill.Examples[i])
			}
		}
	}
	return all
}

// maxShownSkills bounds the skills that the page shows.
const maxShownSkills = 200

// shownSkill is a skill as the page shows it.
type shownSkill struct {
	registryapi.Skill

	// Sends is true if a click on an example sends it.
	Sends bool
}

// Skills returns the first skills.
func (p *agentPage) Skills() []shownSkill {
	all := p.Agent.Skills[:min(len(p.Agent.Skills), maxShownSkills)]
	out := make([]shownSkill, 0, len(all))
	for i := range all {
		out = append(out, shownSkill{all[i], p.CallsAs != ""})
	}
	return out
}

// Hidden returns the number of skills that the page does not show.
func (p *agentPage) Hidden() int { return max(0, len(p.Agent.Skills)-maxShownSkills) }

// Cause returns the condition Ready if it has a message and the agent has a problem, else nil.
func (p *agentPage) Cause() *metav1.Condition {
	for i := range p.Conditions {
		if c := &p.Conditions[i]; c.Type == "Ready" && c.Message != "" && (p.Agent.Reason != "" || !p.Agent.Ready) {
			return c
		}
	}
	return nil
}

// step is a condition as the page shows it.
type step struct {
	metav1.Condition

	// Fine is true if the condition describes no problem.
	Fine bool
	// Repeats is true if the page has shown the message already.
	Repeats bool
}

// Steps returns the conditions. The message of Cause is above them.
func (p *agentPage) Steps() []step {
	shown := map[string]bool{"": true}
	if cause := p.Cause(); cause != nil {
		shown[cause.Message] = true
	}
	out := make([]step, 0, len(p.Conditions))
	for _, c := range p.Conditions {
		good := metav1.ConditionTrue
		if c.Type == "Stalled" {
			good = metav1.ConditionFalse
		}
		out = append(out, step{Condition: c, Fine: c.Status == good, Repeats: shown[c.Message]})
		shown[c.Message] = true
	}
	return out
}

// Troubled returns the number of conditions that describe a problem.
func (p *agentPage) Troubled() int {
	n := 0
	for _, each := range p.Steps() {
		if !each.Fine {
			n++
		}
	}
	return n
}

// agent responds with the page of an agent. If the request has the header Fragment, it responds
// only with the parts that change with the agent.
func (s *site) agent(w http.ResponseWriter, r *http.Request) {
	namespace := r.PathValue("namespace")
	name := r.PathValue("name")
	page := agentPage{Layout: s.Layout(r, namespace+"/"+name)}
	// The conditions are first: from then on, which reads the agent, a server may bound how many pages are made at a time.
	conditions, noConditions := s.options.Registry.Conditions(r.Context(), namespace, name)
	agent, err := s.options.Registry.Agent(r.Context(), namespace, name)
	if err != nil {
		s.Fail(w, r, page.Layout, err)
		return
	}
	page.Agent = agent
	page.Conditions = conditions
	if noConditions != nil {
		page.NoConditions = s.options.problemOf(noConditions)
	}
	page.Code = codeFor(page.Agent)
	template := "agent.html"
	if IsFragment(r) {
		template = "agent"
	}
	Render(w, http.StatusOK, template, &page)
}

// cardPage is the data of the page of a card.
type cardPage struct {
	Layout
	Namespace, Name string
	// Version is the A2A version of the card, "" for the union card.
	Version string
	// JSON is the formatted card. Clipped is true if JSON does not contain the whole card.
	JSON    string
	Clipped bool
}

// card responds with a page that shows a card of an agent. With the parameter download, it responds
// with the card itself.
func (s *site) card(w http.ResponseWriter, r *http.Request) {
	page := cardPage{Namespace: r.PathValue("namespace"), Name: r.PathValue("name"), Version: r.URL.Query().Get("version")}
	page.Layout = s.Layout(r, "Card of "+page.Namespace+"/"+page.Name)
	if page.Version != "" && page.Version != "1.0" {
		s.Fail(w, r, page.Layout, &PageError{
			Status: http.StatusBadRequest, Message: "there is no card of version " + page.Version + ": the registry has the card of 1.0 and the union card",
		})
		return
	}
	text, err := s.options.Registry.Card(r.Context(), page.Namespace, page.Name, page.Version)
	if err != nil {
		s.Fail(w, r, page.Layout, err)
		return
	}
	if r.URL.Query().Has("download") {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Disposition", "attachment; filename*=UTF-8''"+url.PathEscape(page.Namespace+"-"+page.Name)+"-card.json")
		_, _ = w.Write(text)
		return
	}
	formatted, ok := safetext.Indent(text, "")
	if !ok {
		formatted = text
	}
	safe := string(safetext.JSON(formatted))
	page.JSON = safetext.Clip(safe, maxShownCard)
	page.Clipped = len(page.JSON) < len(safe)
	Render(w, http.StatusOK, "card.html", &page)
}
