// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// agentCard returns the card of an Agent with the interfaces of base, which is the base for
// callers inside the cluster.
func agentCard(agent *a2av1alpha1.Agent, base card.Base, skills []card.Skill) card.Card {
	spec := &agent.Spec
	c := card.Card{
		Name:               displayName(agent),
		Description:        spec.Description,
		Version:            spec.Version,
		IconURL:            spec.IconURL,
		DocumentationURL:   spec.DocumentationURL,
		Bindings:           cardBindings(spec.Protocol.Bindings),
		Capabilities:       card.Capabilities{Extensions: cardExtensions(spec.Extensions)},
		DefaultInputModes:  texts[string](spec.DefaultInputModes),
		DefaultOutputModes: texts[string](spec.DefaultOutputModes),
		Skills:             skills,
	}
	if p := spec.Provider; p != nil {
		c.Provider = &card.Provider{Organization: p.Organization, URL: p.URL}
	}
	return *c.At(base)
}

// cardBindings returns the bindings with their names on the card, or nil for the default
// bindings.
func cardBindings(bindings []a2av1alpha1.CardBinding) []card.Binding {
	var all []card.Binding
	for _, b := range bindings {
		all = append(all, map[a2av1alpha1.CardBinding]card.Binding{
			a2av1alpha1.CardBindingJSONRPC:  card.JSONRPC,
			a2av1alpha1.CardBindingHTTPJSON: card.HTTPJSON,
			a2av1alpha1.CardBindingGRPC:     card.GRPC,
		}[b])
	}
	if slices.Equal(all, card.DefaultBindings) {
		return nil
	}
	return all
}

// displayName returns the name on the card.
func displayName(agent *a2av1alpha1.Agent) string {
	return cmp.Or(agent.Spec.DisplayName, agent.Name)
}

func cardExtensions(extensions []a2av1alpha1.AgentExtension) []card.Extension {
	var declared []card.Extension
	for _, e := range extensions {
		declared = append(declared, card.Extension{URI: e.URI, Description: e.Description, Params: rawObject(e.Params)})
	}
	return declared
}

// texts converts a list of texts to another type.
func texts[To, From ~string](list []From) []To {
	var converted []To
	for _, text := range list {
		converted = append(converted, To(text))
	}
	return converted
}

func hasSkill(skills []card.Skill, id string) bool {
	return slices.ContainsFunc(skills, func(s card.Skill) bool { return s.ID == id })
}

func rawObject(raw *runtime.RawExtension) card.RawObject {
	if raw == nil {
		return nil
	}
	return card.RawObject(raw.Raw)
}
