// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

// rowsHeader is the header of a request for a fragment of the list. It has the versions of the rows that the browser
// shows, in their order and with spaces between them. The response then names these rows instead of repeating them.
const rowsHeader = "Rows"

// row is a row of the list: an agent, or adjacent rows that the browser has.
type row struct {
	// Agent is the agent of the row, nil for rows that the browser has.
	Agent *Listed
	// Version changes with the agent.
	Version string
	// From is the index of the first row in the browser, and Count the number of rows.
	From, Count int
}

// rowsOf returns the rows for agents. known are the versions in rowsHeader.
func rowsOf(agents []Listed, known []string) []row {
	shown := make(map[string]int, len(known))
	for i, version := range known {
		shown[version] = i
	}
	rows := make([]row, 0, len(agents))
	for i := range agents {
		version := agents[i].version
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
