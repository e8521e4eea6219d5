// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agenttools

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/directory"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

const (
	// freshFor is how long a description is used, retryAfter the time until the registry is asked again after a failure, and
	// describeTimeout bounds the wait for it.
	freshFor        = time.Minute
	retryAfter      = 10 * time.Second
	describeTimeout = 3 * time.Second
	// maxDescription bounds a description in bytes.
	maxDescription = 4 << 10
)

// descriptions are those of agents, as the registry lists them.
type descriptions struct {
	options *Options

	mu  sync.Mutex
	all map[directory.Agent]description
}

type description struct {
	text string
	// recognizes is true if the agent recognizes a repeated message, as agents of the cluster do. Remote agents may run it twice.
	recognizes bool
	until      time.Time
}

// of returns the description of an agent. If the registry does not answer, it returns the former one, or only the name: the agent can be
// called even so.
func (d *descriptions) of(ctx context.Context, agent directory.Agent) description {
	d.mu.Lock()
	known := d.all[agent]
	d.mu.Unlock()
	now := d.options.Now()
	if now.Before(known.until) {
		return known
	}
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	item, err := d.options.Registry.Entry(ctx, d.options.Gateway, agent)
	if err == nil {
		entry := readEntry(item)
		known.text = entry.describe()
		known.recognizes = !entry.Remote
		known.until = now.Add(freshFor)
	} else {
		known.text = cmp.Or(known.text, "The agent "+agent.String()+".")
		known.until = now.Add(retryAfter)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[directory.Agent]description{}
	}
	d.all[agent] = known
	return known
}

// entry is what a model reads of an agent in the registry.
type entry struct {
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Remote      bool   `json:"remote"`
	Skills      []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"skills"`
}

func readEntry(item json.RawMessage) *entry {
	e := &entry{}
	_ = json.Unmarshal(item, e) // the registry's entries are of this form; a description is only for the model
	return e
}

// describe returns what an agent does, with its skills.
func (e *entry) describe() string {
	var text strings.Builder
	text.WriteString(e.Description)
	for _, skill := range e.Skills {
		if skill.Description != e.Description {
			text.WriteString(" Skill " + skill.Name + ": " + skill.Description)
		}
	}
	return safetext.Clip(text.String(), maxDescription)
}
