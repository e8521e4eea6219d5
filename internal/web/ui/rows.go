// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"crypto/sha256"
	"encoding/base64"

	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
)

// rowsHeader is the header of a request for a fragment of the list. It has the versions of the rows that the browser
// shows, in their order and with spaces between them. The response then names these rows instead of repeating them.
const rowsHeader = "Rows"

// row is a row of the list: an agent, or adjacent rows that the browser has.
type row struct {
	// Agent is the agent of the row, nil for rows that the browser has.
	Agent *registryapi.Agent
	// Version changes with the agent.
	Version string
	// From is the index of the first row in the browser, and Count the number of rows.
	From, Count int
}

// rowsOf returns the rows for agents. known are the versions in rowsHeader.
func rowsOf(agents []registryapi.Agent, known []string) []row {
	shown := make(map[string]int, len(known))
	for i, version := range known {
		shown[version] = i
	}
	rows := make([]row, 0, len(agents))
	for i := range agents {
		version := versionOf(&agents[i])
		at, ok := shown[version]
		if !ok {
			rows = append(rows, row{Agent: &agents[i], Version: version})
			continue
		}
		if n := len(rows); n > 0 && rows[n-1].Agent == nil && rows[n-1].From+rows[n-1].Count == at {
			rows[n-1].Count++
			continue
		}
		rows = append(rows, row{From: at, Count: 1})
	}
	return rows
}

// versionOf returns a short hash of an agent, as the registry describes it. It does not depend on the time, unlike the age
// that a row shows. The script of the page updates ages.
func versionOf(agent *registryapi.Agent) string {
	sum := sha256.Sum256(agent.JSON)
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}
