// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregatecard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

func ownCard() *card.Card {
	return &card.Card{
		Name: "Registry", Description: "Finds agents.", Version: "1",
		Capabilities: card.Capabilities{Extensions: []card.Extension{{URI: "urn:own"}}},
		Skills:       []card.Skill{{ID: "find-agents", Name: "Find"}},
	}
}

func TestSkillsNameTheirAgents(t *testing.T) {
	own := ownCard()
	got, err := New(own, Agents{Total: 2, Items: [][]byte{
		[]byte(`{"namespace":"team","name":"echo","url":"http://echo.team/","externalURL":"https://x.example/","defaultInputModes":["text/plain"],"defaultOutputModes":["image/png"],` +
			`"skills":[{"id":"a.b","name":"A","description":"Does a","tags":["t"],"examples":["e"],"inputModes":["audio/mp3"]}]}`),
		[]byte(`{"namespace":"team","name":"new","skills":[{"id":"s","name":"S","description":"","tags":[]}]}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []card.Skill{
		own.Skills[0],
		{
			ID: "team.echo.a.b", Name: "A", Description: "Does a\nAgent team/echo at http://echo.team/", Tags: []string{"t"}, Examples: []string{"e"},
			InputModes: []string{"audio/mp3"}, OutputModes: []string{"image/png"},
		},
		{ID: "team.new.s", Name: "S", Description: "Agent team/new, which has no URL yet", Tags: []string{}},
	}
	if diff := cmp.Diff(want, got.Skills); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	params := `{"agents":[{"namespace":"team","name":"echo","url":"http://echo.team/","externalURL":"https://x.example/"},{"namespace":"team","name":"new"}],"total":2}`
	if all := got.Capabilities.Extensions; len(all) != 2 || all[1].URI != AgentsExtension || string(all[1].Params) != params {
		t.Errorf("extensions = %+v", all)
	}
	if strings.Contains(got.Description, "cursor") {
		t.Errorf("description = %q, but all agents are on the card", got.Description)
	}
	if diff := cmp.Diff(ownCard(), own); diff != "" {
		t.Errorf("the own card has changed (-want +got):\n%s", diff)
	}
}

func TestUnreadableAgentIsAnError(t *testing.T) {
	if got, err := New(ownCard(), Agents{Items: [][]byte{[]byte(`x`)}}); err == nil {
		t.Errorf("New() = %+v, want an error", got)
	}
}

// BenchmarkCard makes and renders the card of as many agents as a card may have.
func BenchmarkCard(b *testing.B) {
	agents := Agents{Total: MaxAgents}
	for i := range MaxAgents {
		agents.Items = append(agents.Items, fmt.Appendf(nil, `{"namespace":"team","name":"agent-%d","displayName":"Agent","description":"Answers questions about the weather","url":"http://agent-%d.team/",`+
			`"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"weather","name":"Weather","description":"Says what the weather will be","tags":["weather"],"examples":["Will it rain?"]}]}`, i, i))
	}
	for b.Loop() {
		c, err := New(ownCard(), agents)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := card.Render(c, card.FormV10); err != nil {
			b.Fatal(err)
		}
	}
}
