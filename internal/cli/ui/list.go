// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/registryclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
)

const (
	// pageSize is the number of agents on a page.
	pageSize = 100
	// maxWords bounds the text of a search, in bytes: the limit of the registry.
	maxWords = 512
)

// listPage is the data of the list.
type listPage struct {
	common
	Words, Ready string
	Agents       []registryclient.Agent
	Total        int
	// Next is the query of the next page, "" for none. First is true on the first page.
	Next  string
	First bool
}

// list responds with a page of agents. With the header Fragment, it is the list alone.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	parameters := r.URL.Query()
	words := strings.ToValidUTF8(strings.TrimSpace(parameters.Get("q")), "")
	page := listPage{common: s.common("Agents"), Words: words, Ready: parameters.Get("ready")}
	query := registryclient.Query{Namespace: s.options.Namespace, Limit: pageSize, Cursor: parameters.Get("cursor")}
	query.Words = strings.TrimSuffix(terminal.Clip(words, maxWords-len("…")), "…")
	if page.Ready == "true" || page.Ready == "false" {
		query.Ready = new(page.Ready == "true")
	}
	page.First = query.Cursor == ""
	status := http.StatusOK
	found, err := s.options.Registry.Search(r.Context(), query)
	if err != nil {
		page.Problem = failure.Of(err)
		status = statusOf(page.Problem)
	} else {
		page.Agents, page.Total = found.Agents, found.Total
		if found.NextCursor != "" {
			page.Next = "?" + url.Values{"q": {words}, "ready": {page.Ready}, "cursor": {found.NextCursor}}.Encode()
		}
	}
	name := "list.html"
	if r.Header.Get("Fragment") != "" {
		name = "agents"
	}
	render(w, status, name, page)
}
