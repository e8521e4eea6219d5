// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package mcptools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/kit/jsonweight"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

const (
	// maxQuestions bounds the questions of one call.
	maxQuestions = 16
	// maxQuestionWeight bounds what they take when an answer arrives, and they are decoded again (jsonweight), in bytes: two thousand choices.
	maxQuestionWeight = 128 << 10
)

// resume is what a call needs to go on after its questions (MCP 2026-07-28, multi round-trip requests).
type resume struct {
	State    string              `json:"state"`
	Requests mcp.InputRequestMap `json:"requests"`
}

// question is a question to the client: a field of a form, or an URL to visit.
type question struct {
	request, field string
	text           string
	kind           string
	choices        []string
}

// errQuestions is the error for questions that the client cannot answer.
var errQuestions = errors.New("the MCP server asks for more than a person can answer: it may ask for at most 16 texts, numbers and choices")

// questionsOf returns the questions in requests of a server, in a fixed order.
func questionsOf(requests mcp.InputRequestMap) (all []question, urls []string, err error) {
	for _, id := range slices.Sorted(maps.Keys(requests)) {
		elicited, ok := requests[id].(*mcp.ElicitParams)
		if !ok {
			return nil, nil, errQuestions
		}
		if elicited.URL != "" {
			urls = append(urls, safetext.Line(elicited.Message)+": "+safetext.Line(elicited.URL))
			continue
		}
		fields, err := fieldsOf(id, elicited)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, fields...)
	}
	if len(all)+len(urls) > maxQuestions {
		return nil, nil, errQuestions
	}
	return all, urls, nil
}

// fieldsOf returns the fields of a form as questions.
func fieldsOf(id string, elicited *mcp.ElicitParams) (all []question, err error) {
	text, err := json.Marshal(elicited.RequestedSchema)
	if err != nil {
		return nil, errQuestions
	}
	var schema struct {
		Properties map[string]struct {
			Type        string   `json:"type"`
			Title       string   `json:"title"`
			Description string   `json:"description"`
			Enum        []string `json:"enum"`
		} `json:"properties"`
	}
	if json.Unmarshal(text, &schema) != nil {
		return nil, errQuestions
	}
	for _, field := range slices.Sorted(maps.Keys(schema.Properties)) {
		p := schema.Properties[field]
		q := question{request: id, field: field, kind: p.Type, choices: p.Enum}
		q.text = strings.Join(slices.DeleteFunc([]string{elicited.Message, p.Title, p.Description, field}, func(s string) bool { return s == "" }), " - ")
		switch p.Type {
		case "boolean":
			q.choices = []string{"true", "false"}
		case "string", "number", "integer":
		default:
			return nil, errQuestions
		}
		all = append(all, q)
	}
	return all, nil
}

// pauseFor returns the pause for the questions of a server.
func pauseFor(c *model.Call, answer *mcp.CallToolResult) (*model.Pause, error) {
	all, urls, err := questionsOf(answer.InputRequests)
	if err != nil {
		return nil, err
	}
	state, err := plainjson.Marshal(resume{State: answer.RequestState, Requests: answer.InputRequests})
	if err != nil {
		return nil, fmt.Errorf("store the questions of an MCP server: %w", err)
	}
	if jsonweight.Of(state, maxQuestionWeight) > maxQuestionWeight {
		return nil, errQuestions
	}
	pause := &model.Pause{State: a2a.StateInputRequired, Resume: state}
	var text strings.Builder
	fmt.Fprintf(&text, "%s (%s) asks:\n", safetext.Line(c.Tool.Name), safetext.Line(c.Tool.Source))
	for _, url := range urls {
		fmt.Fprintf(&text, "\n%s\n", url)
	}
	type asked struct {
		Question string   `json:"question"`
		Choices  []string `json:"choices"`
		Multiple bool     `json:"multiple"`
	}
	questions := []asked{}
	for _, q := range all {
		fmt.Fprintf(&text, "\n%s", safetext.Line(q.text))
		if len(q.choices) > 0 {
			fmt.Fprintf(&text, " (%s)", safetext.Line(strings.Join(q.choices, ", ")))
		}
		questions = append(questions, asked{Question: q.text, Choices: q.choices})
	}
	pause.Message = &a2a.Message{Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(text.String())}}
	if len(questions) == 0 {
		pause.State = a2a.StateAuthRequired
		return pause, nil
	}
	pause.Message.Extensions = []string{model.Extension}
	pause.Message.Metadata, err = plainjson.Marshal(map[string]any{model.Extension: map[string]any{"type": "ask_user_request", "id": c.ID, "questions": questions}})
	if err != nil {
		return nil, fmt.Errorf("write the questions of an MCP server: %w", err)
	}
	return pause, nil
}

// responses returns the answers of the client to the questions of a server. A client that does not know the extension answers a single
// question by its text, unless it is one of yes or no: a text is no decision. Answers that do not fit decline.
func (r *resume) responses(m *a2a.Message, id string) mcp.InputResponseMap {
	all, _, err := questionsOf(r.Requests)
	responses := mcp.InputResponseMap{}
	answers := answersIn(m, id, len(all))
	if answers == nil && len(all) == 1 && all[0].kind != "boolean" {
		answers = []string{textOf(m)}
	}
	isValid := err == nil && (len(all) == 0 || len(answers) == len(all))
	for id := range r.Requests {
		responses[id] = &mcp.ElicitResult{Action: "decline"}
		if isValid {
			responses[id] = &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}
		}
	}
	for i, q := range all {
		result, _ := responses[q.request].(*mcp.ElicitResult)
		if result == nil || result.Action != "accept" {
			continue
		}
		value, ok := q.value(answers[i])
		if !ok {
			responses[q.request] = &mcp.ElicitResult{Action: "decline"}
			continue
		}
		result.Content[q.field] = value
	}
	return responses
}

// value returns an answer as the type of its field.
func (q *question) value(answer string) (any, bool) {
	if len(q.choices) > 0 && !slices.Contains(q.choices, answer) {
		return nil, false
	}
	switch q.kind {
	case "boolean":
		return answer == "true", true
	case "number":
		number, err := strconv.ParseFloat(strings.TrimSpace(answer), 64)
		return number, err == nil
	case "integer":
		number, err := strconv.ParseInt(strings.TrimSpace(answer), 10, 64)
		return number, err == nil
	default:
		return answer, true
	}
}

// answersIn returns the first answer to each question in a message of the extension, nil if it has none for the id, or more than there are
// questions.
func answersIn(m *a2a.Message, id string, questions int) (all []string) {
	var response struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}
	object := approval.Object(m)
	if json.Unmarshal(object, &response) != nil || response.Type != "ask_user_response" || response.ID != id {
		return nil
	}
	answers, err := approval.Elements[struct {
		Answer *oneText `json:"answer"`
	}](approval.Member(object, "answers"), questions)
	if err != nil {
		return nil
	}
	for _, each := range answers {
		if each.Answer == nil {
			return nil
		}
		all = append(all, string(*each.Answer))
	}
	return all
}

// oneText is the only text of an array.
type oneText string

// UnmarshalJSON implements json.Unmarshaler.
func (o *oneText) UnmarshalJSON(array []byte) error {
	texts, err := approval.Elements[string](array, 1)
	if err != nil {
		return err
	}
	if len(texts) != 1 {
		return errNoAnswer
	}
	*o = oneText(texts[0])
	return nil
}

var errNoAnswer = errors.New("an answer has one text")

func textOf(m *a2a.Message) string {
	var texts []string
	for i := range m.Parts {
		if m.Parts[i].Content == a2a.ContentText {
			texts = append(texts, m.Parts[i].Text)
		}
	}
	return strings.Join(texts, "\n")
}
