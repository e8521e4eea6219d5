// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package inputform

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Extension is the URI of the message extension with approvals and questions. An agent sends its forms only to clients
// that activate the extension.
const Extension = "https://kagent.dev/extensions/hitl/v1"

// metadataApproval has what agents of this project add to a request for approvals.
const metadataApproval = "a2a-operator.dev/approval"

// The types of the extension's objects.
const (
	typeApprovals = "tool_approval_request"
	typeDecisions = "tool_approval_response"
	typeQuestions = "ask_user_request"
	typeAnswers   = "ask_user_response"
)

type requestedCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"args"`
}

// request is an object of the extension from an agent.
type request struct {
	Type   string          `json:"type"`
	ID     string          `json:"id"`
	Hint   string          `json:"hint"`
	Tools  []requestedCall `json:"tools"`
	Asked  []requestedText `json:"questions"`
	Nested *struct {
		Agent string          `json:"subagent_name"`
		Tools []requestedCall `json:"tools"`
	} `json:"nested"`
}

type requestedText struct {
	Question string   `json:"question"`
	Choices  []string `json:"choices"`
	Multiple bool     `json:"multiple"`
}

// ofExtension returns the form of a message with Extension, nil for none. If another agent asks by way of the agent of the
// task, the answer names the ids of the other agent's calls.
func ofExtension(m *a2a.Message) *Form {
	var metadata map[string]json.RawMessage
	var r request
	if !slices.Contains(m.Extensions, Extension) || json.Unmarshal(m.Metadata, &metadata) != nil || json.Unmarshal(metadata[Extension], &r) != nil {
		return nil
	}
	var more struct {
		Agent   string            `json:"agent"`
		Sources map[string]string `json:"sources"`
	}
	_ = json.Unmarshal(metadata[metadataApproval], &more) // agents of other projects have none
	f := &Form{Agent: more.Agent, Hint: r.Hint, TakesReasons: true}
	if r.Nested != nil {
		f.Agent = r.Nested.Agent
		r.Tools = r.Nested.Tools
	}
	switch r.Type {
	case typeApprovals:
		for _, each := range r.Tools {
			call := each.call()
			call.Source = more.Sources[call.ID]
			f.Calls = append(f.Calls, call)
		}
		f.write = func(m *a2a.Message, decisions []Decision, _ [][]string) {
			extend(m, describeDecisions(f, decisions), map[string]any{"type": typeDecisions, "approvals": approvals(decisions)})
		}
	case typeQuestions:
		if r.Nested != nil && len(r.Tools) > 0 {
			r.ID = r.Tools[0].ID
		}
		for _, each := range r.Asked {
			f.Questions = append(f.Questions, Question{Text: each.Question, Choices: each.Choices, Multiple: each.Multiple})
		}
		f.write = func(m *a2a.Message, _ []Decision, answers [][]string) {
			extend(m, describeAnswers(answers), map[string]any{"type": typeAnswers, "id": r.ID, "answers": answerObjects(answers)})
		}
	default:
		return nil
	}
	return f
}

func (c *requestedCall) call() Call {
	arguments := c.Arguments
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage("{}")
	}
	return Call{ID: c.ID, Tool: c.Name, Arguments: arguments}
}

// extend adds an object of the extension to a message, and a text for those who read the history of the task.
func extend(m *a2a.Message, text string, object map[string]any) {
	m.Parts = append(m.Parts, a2a.TextPart(text))
	m.Extensions = append(m.Extensions, Extension)
	metadata := map[string]json.RawMessage{}
	_ = json.Unmarshal(m.Metadata, &metadata)     // absent, or an object
	metadata[Extension], _ = json.Marshal(object) // strings and booleans have a JSON form
	m.Metadata, _ = json.Marshal(metadata)        // it was valid JSON
}

func approvals(decisions []Decision) []map[string]any {
	all := make([]map[string]any, 0, len(decisions))
	for _, d := range decisions {
		object := map[string]any{"id": d.ID, "approved": d.Approved}
		if d.Reason != "" && !d.Approved {
			object["rejection_reason"] = d.Reason
		}
		all = append(all, object)
	}
	return all
}

func answerObjects(answers [][]string) []map[string][]string {
	all := make([]map[string][]string, 0, len(answers))
	for _, each := range answers {
		all = append(all, map[string][]string{"answer": each})
	}
	return all
}

// describeDecisions returns a line for each decision, such as "Approved: deploy".
func describeDecisions(f *Form, decisions []Decision) string {
	var lines []string
	for _, d := range decisions {
		i := slices.IndexFunc(f.Calls, func(c Call) bool { return c.ID == d.ID })
		line := "Rejected: " + f.Calls[i].Tool
		if d.Approved {
			line = "Approved: " + f.Calls[i].Tool
		} else if d.Reason != "" {
			line += " (" + d.Reason + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func describeAnswers(answers [][]string) string {
	var lines []string
	for _, each := range answers {
		lines = append(lines, strings.Join(each, ", "))
	}
	return strings.Join(lines, "\n")
}

// The data parts with which Google's ADK asks for the confirmation of a tool call, and their answers.
const (
	adkType         = "adk_type"
	adkCall         = "function_call"
	adkResponse     = "function_response"
	adkConfirmation = "adk_request_confirmation"
)

// ofADK returns the form of a message with calls of adk_request_confirmation, nil for none. A tool that wants more than
// yes or no has a payload, for which there is no form.
func ofADK(m *a2a.Message) *Form {
	f := &Form{}
	var hints []string
	for i := range m.Parts {
		p := &m.Parts[i]
		var metadata map[string]json.RawMessage
		var data struct {
			ID   string `json:"id"`
			Name string `json:"name"`
			Args struct {
				Original     requestedCall `json:"originalFunctionCall"`
				Confirmation struct {
					Hint    string          `json:"hint"`
					Payload json.RawMessage `json:"payload"`
				} `json:"toolConfirmation"`
			} `json:"args"`
		}
		if p.Content != a2a.ContentData || json.Unmarshal(p.Metadata, &metadata) != nil || string(metadata[adkType]) != `"`+adkCall+`"` ||
			json.Unmarshal(p.Data, &data) != nil || data.Name != adkConfirmation {
			continue
		}
		if payload := data.Args.Confirmation.Payload; len(payload) > 0 && string(payload) != "null" {
			return nil
		}
		if data.Args.Confirmation.Hint != "" {
			hints = append(hints, data.Args.Confirmation.Hint)
		}
		call := data.Args.Original.call()
		call.ID = data.ID
		f.Calls = append(f.Calls, call)
	}
	f.Hint = strings.Join(hints, "\n")
	f.write = func(m *a2a.Message, decisions []Decision, _ [][]string) {
		for _, d := range decisions {
			data, _ := json.Marshal(map[string]any{"id": d.ID, "name": adkConfirmation, "response": map[string]bool{"confirmed": d.Approved}}) // strings and booleans have a JSON form
			m.Parts = append(m.Parts, a2a.Part{Content: a2a.ContentData, Data: data, Metadata: a2a.Object(`{"` + adkType + `":"` + adkResponse + `"}`)})
		}
	}
	return f
}
