// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import "net/http"

// Approval is a page with the calls of tools for which a task waits, or with the outcome of a decision.
type Approval struct {
	Layout
	// Task is the id of the task, Owner its owner, and Until the end of the request, "" if it is not known.
	Task, Owner, Until string
	// Form identifies what the page shows. The browser sends it with the decisions.
	Form  string
	Calls []ApprovalCall
	// Outcome says what has happened, "" for nothing yet.
	Outcome string
	// Command is the command that does the same, "" if it does not help.
	Command string
}

// ApprovalCall is a call that waits for a decision. Index is its position, and Arguments is formatted JSON of clean text.
type ApprovalCall struct {
	Index                          int
	Agent, Tool, Source, Arguments string
}

// RenderApproval writes an Approval.
func RenderApproval(w http.ResponseWriter, status int, a *Approval) {
	Render(w, status, "approval.html", a)
}
