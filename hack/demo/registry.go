// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// appears is the time within which a change must appear in the registry.
const appears = 10 * time.Second

// entry holds the members of an agent in the registry that the demo shows.
type entry struct {
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	Description string `json:"description"`
	URL         string `json:"url"`
}

// page is the answer to a search.
type page struct {
	Items []entry `json:"items"`
	Total int     `json:"total"`
}

func (p *page) print() {
	for i, item := range p.Items {
		fmt.Printf("    %d. %s/%s  %s\n       %s\n", i+1, item.Namespace, item.Name, item.URL, item.Description)
	}
}

// forwardRegistry makes the registry reachable until stop is called, and returns a token for it.
func (d *demo) forwardRegistry(ctx context.Context) (url, token string, stop func(), err error) {
	if token, err = d.token(ctx, "a2a-operator.dev"); err != nil {
		return "", "", nil, err
	}
	url, stop, err = forward(ctx, d.operator, "a2a-operator-registry")
	return url, token, stop, err
}

// showRead shows the command that reads a document of the registry.
func showRead(url string) { show(`curl -s -H "Authorization: Bearer $TOKEN" '` + url + "'\n") }

// read reads a document of the registry.
func read(ctx context.Context, url, token string, into any) error {
	status, body, err := fetch(ctx, url, token)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("GET %s: %d %s", url, status, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("GET %s: %w", url, err)
	}
	return nil
}

// clusterCard reads the card of the registry, which lists the skills of all agents that the caller sees.
func (d *demo) clusterCard(ctx context.Context) error {
	url, token, stop, err := d.forwardRegistry(ctx)
	if err != nil {
		return err
	}
	defer stop()
	url += "/.well-known/agent.json"
	showRead(url)
	var card struct {
		Name   string `json:"name"`
		Skills []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"skills"`
	}
	if err := read(ctx, url, token, &card); err != nil {
		return err
	}
	fmt.Printf("    %s\n", card.Name)
	shown := map[string]bool{}
	for _, skill := range card.Skills {
		fmt.Printf("      %-36s %s\n", skill.ID, skill.Name)
		shown[skill.ID] = true
	}
	for _, id := range []string{d.namespace + ".echo.echo", d.namespace + ".researcher.research"} {
		if !shown[id] {
			return fmt.Errorf("the card of the registry lacks the skill %s", id)
		}
	}
	return nil
}

// search finds echo by its skill, and then both agents by words that describe them.
func (d *demo) search(ctx context.Context) error {
	url, token, stop, err := d.forwardRegistry(ctx)
	if err != nil {
		return err
	}
	defer stop()
	var found page
	bySkill := url + "/v1/agents?skill=echo&ready=true"
	showRead(bySkill)
	for begin := time.Now(); found.Total == 0; time.Sleep(200 * time.Millisecond) {
		if time.Since(begin) > appears {
			return fmt.Errorf("the registry does not have the agent with the skill echo after %s", appears)
		}
		if err := read(ctx, bySkill, token, &found); err != nil {
			return err
		}
	}
	found.print()

	fmt.Println("\n  Ranked: any of the words, the best match first.")
	var ranked page
	byWords := url + "/v1/agents?namespace=" + d.namespace + "&q=say+my+words+back"
	showRead(byWords)
	if err := read(ctx, byWords, token, &ranked); err != nil {
		return err
	}
	ranked.print()
	if len(ranked.Items) < 2 || ranked.Items[0].Name != "echo" {
		return fmt.Errorf("the ranked search found %+v, want echo first", ranked.Items)
	}
	return nil
}
