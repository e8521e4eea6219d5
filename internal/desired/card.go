// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// agentCard is what an Agent says about itself. bases are where it is served,
// those for callers from outside the cluster first.
func agentCard(agent *a2av1alpha1.Agent, bases []card.Base, skills []card.Skill) card.Card {
	spec := &agent.Spec
	c := card.Card{
		Name:               displayName(agent),
		Description:        spec.Description,
		Version:            spec.Version,
		IconURL:            spec.IconURL,
		DocumentationURL:   spec.DocumentationURL,
		Interfaces:         card.InterfacesAt(bases...),
		Capabilities:       card.Capabilities{Extensions: cardExtensions(spec.Extensions)},
		DefaultInputModes:  mediaTypes(spec.DefaultInputModes),
		DefaultOutputModes: mediaTypes(spec.DefaultOutputModes),
		Skills:             skills,
	}
	if p := spec.Provider; p != nil {
		c.Provider = &card.Provider{Organization: p.Organization, URL: p.URL}
	}
	return c
}

// displayName is the name on the card.
func displayName(agent *a2av1alpha1.Agent) string {
	if agent.Spec.DisplayName != "" {
		return agent.Spec.DisplayName
	}
	return agent.Name
}

func cardExtensions(extensions []a2av1alpha1.AgentExtension) []card.Extension {
	var declared []card.Extension
	for _, e := range extensions {
		extension := card.Extension{URI: e.URI, Description: e.Description}
		if e.Params != nil {
			extension.Params = card.RawObject(e.Params.Raw)
		}
		declared = append(declared, extension)
	}
	return declared
}
