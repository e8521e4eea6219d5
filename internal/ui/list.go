// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/registryapi"
	"github.com/a2a-operator/a2a-operator/internal/safetext"
)

const (
	// pageSize is the number of agents on a page.
	pageSize = 100
	// maxWords bounds the text of a search, in bytes. It is the limit of the registry.
	maxWords = 512
)

// listPage is the data of the page with the list of agents.
type listPage struct {
	Layout
	Words, Ready string
	Agents       []registryapi.Agent
	Total        int
	// Next is the query of the next page, "" if there is none. First is true on the first
	// page.
	Next  string
	First bool
}

// list responds with a page of the list of agents. If the request has the header
// Fragment, it responds only with the list.
func (s *site) list(w http.ResponseWriter, r *http.Request) {
	parameters := r.URL.Query()
	words := strings.ToValidUTF8(strings.TrimSpace(parameters.Get("q")), "")
	page := listPage{Layout: s.Layout(r, "Agents"), Words: words, Ready: parameters.Get("ready")}
	query := registryapi.Query{Namespace: s.options.Namespace, Limit: pageSize, Cursor: parameters.Get("cursor")}
	query.Words = strings.TrimSuffix(safetext.Clip(words, maxWords-len("…")), "…")
	if page.Ready == "true" || page.Ready == "false" {
		query.Ready = new(page.Ready == "true")
	}
	page.First = query.Cursor == ""
	status := http.StatusOK
	found, err := s.options.Registry.Search(r.Context(), query)
	if err != nil {
		page.Problem = problemOf(err)
		status = page.Problem.Status
	} else {
		page.Agents, page.Total = found.Agents, found.Total
		if found.NextCursor != "" {
			page.Next = "?" + url.Values{"q": {words}, "ready": {page.Ready}, "cursor": {found.NextCursor}}.Encode()
		}
	}
	name := "list.html"
	if IsFragment(r) {
		name = "agents"
	}
	Render(w, status, name, &page)
}
