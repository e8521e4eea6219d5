// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registryapi has the types of the registry's API for its clients: agents, queries, pages
// and the events of a watch. It sends no requests.
package registryapi

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Agent is an agent in a response of the registry.
type Agent struct {
	Namespace        string   `json:"namespace"`
	Name             string   `json:"name"`
	DisplayName      string   `json:"displayName"`
	Description      string   `json:"description"`
	Version          string   `json:"version"`
	Provider         Provider `json:"provider"`
	DocumentationURL string   `json:"documentationUrl"`
	URL              string   `json:"url"`
	ExternalURL      string   `json:"externalURL"`
	// Ready is true if the agent takes calls. Something else, such as a rollout, may fail.
	Ready bool `json:"ready"`
	// Reason is the reason of the condition Ready, "" if the agent is ready and nothing fails.
	Reason       string       `json:"reason"`
	Remote       bool         `json:"remote"`
	Capabilities Capabilities `json:"capabilities"`
	InputModes   []string     `json:"defaultInputModes"`
	OutputModes  []string     `json:"defaultOutputModes"`
	Skills       []Skill      `json:"skills"`
	// UpdatedAt is the time of the last transition of a condition of the Agent, or of the
	// creation of the Agent if that is later. It is zero if the registry does not know it.
	UpdatedAt time.Time `json:"updatedAt"`
	// JSON is the agent as encoded in the response.
	JSON json.RawMessage `json:"-"`
}

// UnmarshalJSON implements json.Unmarshaler. It also stores a copy of text in the field JSON.
func (a *Agent) UnmarshalJSON(text []byte) error {
	type plain Agent
	var out plain
	if err := json.Unmarshal(text, &out); err != nil {
		return err
	}
	out.JSON = slices.Clone(text)
	*a = Agent(out)
	return nil
}

// Provider is the organization that provides an agent.
type Provider struct {
	Organization string `json:"organization"`
	URL          string `json:"url"`
}

// Capabilities are the optional features of an agent.
type Capabilities struct {
	Streaming         bool `json:"streaming"`
	PushNotifications bool `json:"pushNotifications"`
	ExtendedCard      bool `json:"extendedCard"`
}

// Skill is a skill of an agent.
type Skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Examples    []string `json:"examples"`
	InputModes  []string `json:"inputModes"`
	OutputModes []string `json:"outputModes"`
}

// Query selects agents of the registry.
type Query struct {
	// Words is the text of a ranked search, which returns the best matches first. If it is "",
	// the query selects all agents, in the order of namespace and name.
	Words string
	// Namespace is the namespace of the agents, "" for all namespaces.
	Namespace string
	// Filters has further parameters of GET /v1/agents that select agents, such as skill and
	// ready.
	Filters url.Values
	// Limit is the maximum number of agents on a page, from 1 to 200. A watch ignores it.
	Limit int
	// Cursor is the NextCursor of the previous page, "" for the first page.
	Cursor string
}

// Parameters returns all parameters of GET /v1/agents for the query, except limit and watch.
func (q *Query) Parameters() url.Values {
	values := url.Values{}
	maps.Copy(values, q.Filters)
	for name, value := range map[string]string{"q": q.Words, "namespace": q.Namespace, "cursor": q.Cursor} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return values
}

// PageParameters returns the parameters of GET /v1/agents for a page.
func (q *Query) PageParameters() url.Values {
	values := q.Parameters()
	values.Set("limit", strconv.Itoa(q.Limit))
	return values
}

// WatchParameters returns the parameters of GET /v1/agents for a watch. Words and Cursor must be
// "", because the registry rejects them for a watch.
func (q *Query) WatchParameters() url.Values {
	values := q.Parameters()
	values.Set("watch", "true")
	return values
}

// Page is a page of agents.
type Page = PageOf[Agent]

// PageOf is a page of agents that are decoded as A.
type PageOf[A any] struct {
	Agents     []A    `json:"items"`
	NextCursor string `json:"nextCursor"`
	// Total is the number of agents on all pages.
	Total int `json:"total"`
	// Corrections has the words of the query in whose place similar words find agents.
	Corrections []Correction `json:"corrections,omitempty"`
	// Revision is the state of the cluster that the page includes.
	Revision string `json:"revision"`
}

// Correction is a word of a query that no agent has, and the similar words by which the registry searched.
type Correction struct {
	Word string   `json:"word"`
	As   []string `json:"as"`
}

// EventType is the type of an event of a watch.
type EventType string

// Types of events.
const (
	// Reset is followed by all agents. The registry sends it at the start of a watch, and when it
	// cannot determine the changes since the id at which a watch resumes. The client must drop
	// the agents that it has.
	Reset EventType = "reset"
	// Upsert reports a new or changed agent.
	Upsert EventType = "upsert"
	// Remove reports an agent that was deleted, that does not match the query any more, or that
	// the caller does not see any more.
	Remove EventType = "remove"
	// Synced means that the client has the present state: it follows the initial agents or, if
	// the watch resumes, the missed changes.
	Synced EventType = "synced"
	// Bookmark has only an id, at which a watch can resume later.
	Bookmark EventType = "bookmark"
)

// Event is an event of a watch.
type Event struct {
	Type EventType
	// ID is the id of this event or, if it has none, of the latest earlier event that has one. A
	// watch can resume after this id.
	ID string
	// Agent is the agent of Upsert and Remove. For Remove, only the namespace and the name are
	// set.
	Agent
}

// DecodeEvent returns the event with a type, an id and data. It decodes the data of Upsert and
// Remove only.
func DecodeEvent(eventType, id string, data []byte) (Event, error) {
	e := Event{Type: EventType(eventType), ID: id}
	if e.Type == Upsert || e.Type == Remove {
		if err := json.Unmarshal(data, &e.Agent); err != nil {
			return Event{}, err
		}
	}
	return e, nil
}

// EventHead is how many bytes of the data of an event DecodeEventHead needs. The namespace and the name of an agent are the first
// members of its JSON, and have at most 63 and 253 bytes.
const EventHead = 1 << 10

// DecodeEventHead is DecodeEvent for the first EventHead bytes of the data. Of the agent, it decodes only the namespace and the name.
func DecodeEventHead(eventType, id string, head []byte) (Event, error) {
	e := Event{Type: EventType(eventType), ID: id}
	if e.Type != Upsert && e.Type != Remove {
		return e, nil
	}
	members := json.NewDecoder(bytes.NewReader(head))
	if _, err := members.Token(); err != nil { // the brace
		return Event{}, err
	}
	for e.Namespace == "" || e.Name == "" {
		member, err := members.Token()
		if err != nil {
			return Event{}, err
		}
		var value any = new(json.RawMessage)
		switch member {
		case "namespace":
			value = &e.Namespace
		case "name":
			value = &e.Name
		}
		if err := members.Decode(value); err != nil {
			return Event{}, err
		}
	}
	return e, nil
}
