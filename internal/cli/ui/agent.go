// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/registryclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
)

// maxShownCard bounds the text of a card on the page, in bytes.
const maxShownCard = 256 << 10

// agentPage is the data of the page of one agent.
type agentPage struct {
	common
	Agent *registryclient.Agent
	// Conditions are those of the Agent. NoConditions is why there are none, nil if they were read.
	Conditions   []metav1.Condition
	NoConditions *failure.Error
}

// agent responds with the page of an agent. With the header Fragment, it is the description alone.
func (s *Server) agent(w http.ResponseWriter, r *http.Request) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	page := agentPage{common: s.common(namespace + "/" + name)}
	var err error
	if page.Agent, err = s.options.Registry.Agent(r.Context(), namespace, name); err != nil {
		s.problem(w, r, page.common, err)
		return
	}
	object, err := s.options.Object(r.Context(), namespace, name)
	if err != nil {
		page.NoConditions = failure.Of(err)
	} else {
		page.Conditions = object.Status.Conditions
	}
	template := "agent.html"
	if r.Header.Get("Fragment") != "" {
		template = "description"
	}
	render(w, http.StatusOK, template, page)
}

// problem responds with a page that has only an error.
func (*Server) problem(w http.ResponseWriter, r *http.Request, page common, err error) {
	page.Problem = failure.Of(err)
	template := "problem.html"
	if r.Header.Get("Fragment") != "" {
		template = "problem"
	}
	render(w, statusOf(page.Problem), template, page)
}

// cardPage is the data of the page of a card.
type cardPage struct {
	common
	Namespace, Name string
	// Version is the version of A2A, "" for the union card.
	Version string
	// JSON is the formatted card. Clipped is true if it is not whole.
	JSON    string
	Clipped bool
}

// card responds with a page that has a card of an agent, or with the card itself.
func (s *Server) card(w http.ResponseWriter, r *http.Request) {
	page := cardPage{Namespace: r.PathValue("namespace"), Name: r.PathValue("name"), Version: r.URL.Query().Get("version")}
	page.common = s.common("Card of " + page.Namespace + "/" + page.Name)
	if page.Version != "" && page.Version != "1.0" {
		s.problem(w, r, page.common, failure.New(failure.Usage, "there is no card of version %q: the registry has the card of 1.0 and the union card", page.Version))
		return
	}
	text, err := s.options.Registry.Card(r.Context(), page.Namespace, page.Name, page.Version)
	if err != nil {
		s.problem(w, r, page.common, err)
		return
	}
	if r.URL.Query().Has("download") {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Disposition", "attachment; filename*=UTF-8''"+url.PathEscape(page.Namespace+"-"+page.Name)+"-card.json")
		_, _ = w.Write(text)
		return
	}
	var formatted bytes.Buffer
	if json.Indent(&formatted, text, "", "  ") != nil {
		formatted.Reset()
		formatted.Write(text)
	}
	safe := string(terminal.JSON(formatted.Bytes()))
	page.JSON = terminal.Clip(safe, maxShownCard)
	page.Clipped = len(page.JSON) < len(safe)
	render(w, http.StatusOK, "card.html", page)
}
