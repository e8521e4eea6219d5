// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ard has the documents and requests of ARD (Agentic Resource Discovery) v0.91, and of the
// AI Catalog: entries, manifests, searches, facets and lists. It is pure: it depends on neither
// HTTP nor the index. It decodes an agent from the JSON that the registry has for the agent in a
// list.
//
// Source: the specification of ARD, sections 4 (data model) and 7 (API).
package ard

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// Media types of artifacts.
const (
	TypeAgentCard = "application/a2a-agent-card+json"
	TypeCatalog   = "application/ai-catalog+json"
	TypeRegistry  = "application/ai-registry+json"
)

// Paths of the registry.
const (
	ManifestPath = "/.well-known/ard.json"
	// CatalogPath is the path of the manifest in the versions of ARD before v0.91.
	CatalogPath = "/.well-known/ai-catalog.json"
	// BasePath is the base of the API of ARD.
	BasePath = "/ard"
	// NamespacePath, with the name of a namespace appended, is the path of its catalog.
	NamespacePath = BasePath + "/catalogs/"
	// CardsPath, with the namespace and the name of an agent appended, is the path of the registry's copy of its
	// card. It needs no token for a public agent.
	CardsPath = BasePath + "/cards/"
)

// Bounds of representativeQueries (section 4.2).
const (
	minQueries = 2
	maxQueries = 5
)

// Entry describes one artifact: an agent, a catalog or a registry.
type Entry struct {
	Identifier            string         `json:"identifier"`
	DisplayName           string         `json:"displayName"`
	Type                  string         `json:"type"`
	URL                   string         `json:"url"`
	Description           string         `json:"description,omitempty"`
	Tags                  []string       `json:"tags,omitempty"`
	Capabilities          []string       `json:"capabilities,omitempty"`
	RepresentativeQueries []string       `json:"representativeQueries,omitempty"`
	Version               string         `json:"version,omitempty"`
	UpdatedAt             string         `json:"updatedAt,omitempty"`
	Metadata              map[string]any `json:"metadata,omitempty"`
}

// Manifest is the document at ManifestPath. The catalog of a namespace has the same format.
type Manifest struct {
	SpecVersion string  `json:"specVersion"`
	Host        Host    `json:"host"`
	Entries     []Entry `json:"entries"`
}

// Host describes the registry that serves a manifest.
type Host struct {
	DisplayName string `json:"displayName"`
	Identifier  string `json:"identifier"`
}

// Publisher makes the identifiers and the URLs of entries.
type Publisher struct {
	// Domain is the fully qualified domain name in the identifiers of all entries.
	Domain string
	// BaseURL is the URL of the registry, without a slash at its end.
	BaseURL string
	// Outside is true for the catalog outside of the cluster. Its entries have the external URLs of
	// agents, and nothing about the state of the agents in the cluster.
	Outside bool
}

// NewPublisher returns the publisher of the registry at a URL. If domain is "", it is the host of
// the URL.
func NewPublisher(domain, registryURL string) (*Publisher, error) {
	u, err := url.Parse(registryURL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("registry URL %q is not absolute", registryURL)
	}
	if domain == "" {
		domain = u.Hostname()
	}
	return &Publisher{Domain: strings.ToLower(domain), BaseURL: strings.TrimSuffix(registryURL, "/")}, nil
}

// Source returns the value of the JSON member "source" of results that this registry has found.
func (p *Publisher) Source() string { return p.BaseURL + BasePath + "/" }

// AgentID returns the identifier of an agent.
func (p *Publisher) AgentID(namespace, name string) string { return p.id(namespace, name) }

// catalogID and registryID use segments that begin with an underscore. No name of Kubernetes
// contains one, so the identifiers differ from the identifiers of agents.
func (p *Publisher) catalogID(namespace string) string { return p.id("_catalog", namespace) }
func (p *Publisher) registryID() string                { return p.id("_registry") }

// RegistryEntry returns the entry of a registry that has another publisher.
func RegistryEntry(publisher, displayName, url string) Entry {
	return Entry{
		Identifier: (&Publisher{Domain: publisher}).registryID(), DisplayName: displayName, Type: TypeRegistry, URL: url,
		Description: "Searches the agents of another cluster.", RepresentativeQueries: registryQueries,
	}
}

func (p *Publisher) id(segments ...string) string {
	return strings.Join(append([]string{"urn", "air", p.Domain}, segments...), ":")
}

// ParseAgentID returns the namespace and the name in the identifier of an agent. ok is false if the
// identifier has another format or another publisher. ParseAgentID does not validate the names.
func (p *Publisher) ParseAgentID(id string) (namespace, name string, ok bool) {
	parts := strings.Split(id, ":")
	if len(parts) != 5 || !strings.EqualFold(parts[0], "urn") || !strings.EqualFold(parts[1], "air") || !strings.EqualFold(parts[2], p.Domain) {
		return "", "", false
	}
	return parts[3], parts[4], true
}

// agent has the fields that an entry needs from the JSON of an agent in a list of the registry.
type agent struct {
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	Description string `json:"description"`
	Version     string `json:"version"`
	URL         string `json:"url"`
	ExternalURL string `json:"externalURL"`
	Ready       bool   `json:"ready"`
	Remote      bool   `json:"remote"`
	UpdatedAt   string `json:"updatedAt"`
	Provider    *struct {
		Organization string `json:"organization"`
	} `json:"provider"`
	Capabilities struct {
		Streaming bool `json:"streaming"`
	} `json:"capabilities"`
	Skills []struct {
		ID          string   `json:"id"`
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Tags        []string `json:"tags"`
		Examples    []string `json:"examples"`
	} `json:"skills"`
}

// AgentEntry returns the entry of an agent. item is the JSON of the agent in a list of the
// registry.
func (p *Publisher) AgentEntry(item []byte) (Entry, error) {
	var a agent
	if err := json.Unmarshal(item, &a); err != nil {
		return Entry{}, fmt.Errorf("decode agent: %w", err)
	}
	e := Entry{
		Identifier: p.AgentID(a.Namespace, a.Name), DisplayName: a.DisplayName, Type: TypeAgentCard, URL: p.cardURL(&a),
		Description: a.Description, Version: a.Version, Metadata: map[string]any{"streaming": a.Capabilities.Streaming},
	}
	if e.DisplayName == "" {
		e.DisplayName = a.Name
	}
	if !p.Outside {
		p.addState(&e, &a)
	}
	if a.Provider != nil && a.Provider.Organization != "" {
		e.Metadata["provider"] = a.Provider.Organization
	}
	known := map[string]bool{}
	for i := range a.Skills {
		e.Capabilities = append(e.Capabilities, a.Skills[i].ID)
		for _, tag := range a.Skills[i].Tags {
			if !known[tag] {
				known[tag] = true
				e.Tags = append(e.Tags, tag)
			}
		}
	}
	e.RepresentativeQueries = a.queries()
	return e, nil
}

// addState adds the state of the agent in the cluster, which only clients inside the cluster may see.
func (p *Publisher) addState(e *Entry, a *agent) {
	e.UpdatedAt = a.UpdatedAt
	maps.Copy(e.Metadata, map[string]any{"namespace": a.Namespace, "name": a.Name, "ready": a.Ready, "remote": a.Remote})
	if a.ExternalURL != "" {
		e.Metadata["externalURL"] = a.ExternalURL
	}
}

// ExternalEntry returns the entry of an agent for clients outside of the cluster. Its URL is that
// of the card below the external URL of the agent. ok is false if the agent has no external URL.
func (p *Publisher) ExternalEntry(item []byte) (e Entry, ok bool, err error) {
	if e, err = p.AgentEntry(item); err != nil {
		return Entry{}, false, err
	}
	external, ok := e.Metadata["externalURL"].(string)
	e.URL = strings.TrimSuffix(external, "/") + cardPath
	return e, ok, nil
}

// cardPath is the path of the card below the URL of an agent.
const cardPath = "/.well-known/agent-card.json"

// cardURL returns the URL of the agent's card. Inside the cluster, it is the URL at which the agent
// serves the card without a credential or, if no pod of the agent would answer there, the URL of the
// registry's copy. Outside of the cluster, it is below the external URL of the agent.
func (p *Publisher) cardURL(a *agent) string {
	if p.Outside {
		return strings.TrimSuffix(a.ExternalURL, "/") + cardPath
	}
	if a.Remote || a.URL == "" || !a.Ready {
		return p.BaseURL + CardsPath + a.Namespace + "/" + a.Name
	}
	return strings.TrimSuffix(a.URL, "/") + cardPath
}

// queries returns sample queries for the agent from the examples of its skills: the first example
// of each skill, then the second ones, and so on. If there are fewer than minQueries examples, it
// adds descriptions and names. If these do not suffice either, it returns nil.
func (a *agent) queries() []string {
	var queries []string
	add := func(text string) {
		text = strings.TrimSpace(text)
		if text != "" && len(queries) < maxQueries && !slices.Contains(queries, text) {
			queries = append(queries, text)
		}
	}
	for n := range maxQueries {
		for i := range a.Skills {
			if n < len(a.Skills[i].Examples) {
				add(a.Skills[i].Examples[n])
			}
		}
	}
	for _, text := range a.others() {
		if len(queries) < minQueries {
			add(text)
		}
	}
	if len(queries) < minQueries {
		return nil
	}
	return queries
}

func (a *agent) others() []string {
	var texts []string
	for i := range a.Skills {
		texts = append(texts, a.Skills[i].Description, a.Skills[i].Name)
	}
	return append(texts, a.Description, a.DisplayName, a.Name)
}

// registryQueries are the sample queries in the entry of a registry.
var registryQueries = []string{"find an agent that can do a task", "which agents run in this cluster"}

// Root returns the manifest of the registry, with an entry for the registry itself and one for the
// catalog of each namespace.
func (p *Publisher) Root(namespaces []string) Manifest {
	m := p.manifest(1 + len(namespaces))
	description := "Searches the A2A agents of a Kubernetes cluster. A request without a bearer token finds public agents only."
	if p.Outside {
		description = "Searches the public A2A agents of a Kubernetes cluster."
	}
	m.Entries = append(m.Entries, Entry{
		Identifier: p.registryID(), DisplayName: "Registry of A2A agents", Type: TypeRegistry, URL: p.Source(),
		Description:           description,
		RepresentativeQueries: registryQueries,
	})
	for _, namespace := range namespaces {
		m.Entries = append(m.Entries, Entry{
			Identifier: p.catalogID(namespace), DisplayName: "Agents of namespace " + namespace, Type: TypeCatalog,
			URL: p.BaseURL + NamespacePath + namespace, Metadata: map[string]any{"namespace": namespace},
		})
	}
	return m
}

// Catalog returns the manifest of a namespace with one page of its agents. next is the page token
// of the next page. If next is not empty, the last entry is a catalog with the URL of the next
// page.
func (p *Publisher) Catalog(namespace string, agents []Entry, next string) Manifest {
	m := p.manifest(len(agents) + 1)
	m.Entries = append(m.Entries, agents...)
	if next != "" {
		m.Entries = append(m.Entries, Entry{
			Identifier: p.catalogID(namespace) + ":" + next, DisplayName: "More agents of namespace " + namespace, Type: TypeCatalog,
			URL: p.BaseURL + NamespacePath + namespace + "?pageToken=" + url.QueryEscape(next), Metadata: map[string]any{"namespace": namespace},
		})
	}
	return m
}

func (p *Publisher) manifest(capacity int) Manifest {
	return Manifest{
		SpecVersion: "1.0", Host: Host{DisplayName: "a2a-operator registry", Identifier: p.Domain},
		Entries: make([]Entry, 0, capacity),
	}
}
