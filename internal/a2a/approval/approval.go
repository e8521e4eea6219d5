// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package approval has what a request for the approval of tool calls and its answer look like in messages, and how people decide.
// It is pure: it neither asks nor decides.
package approval

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// Extension is the URI of the message extension with approvals and questions.
const Extension = "https://kagent.dev/extensions/hitl/v1"

// OwnerHeader is the header in which an approver names the owner of the task, in the form of A2A-Principal.
const OwnerHeader = "A2A-Task-Owner"

// The types of the extension's objects.
const (
	TypeRequest   = "tool_approval_request"
	TypeDecisions = "tool_approval_response"
)

// Members of the metadata of messages and parts.
const (
	// metadataDecidedBy has the principal that decides by a message, and metadataProven By.IsProven. Only the sidecar that has
	// authenticated the principal writes them.
	metadataDecidedBy = "a2a-operator.dev/decidedBy"
	metadataProven    = "a2a-operator.dev/subjectProven"
	// metadataWays marks the part of a request that says how to decide.
	metadataWays = "a2a-operator.dev/waysToDecide"
	// MetadataMore has what a request says beyond the extension.
	MetadataMore = "a2a-operator.dev/approval"
)

// IsRequest reports whether a message asks for decisions. m may be nil.
func IsRequest(m *a2a.Message) bool { return m != nil && typeOf(m) == TypeRequest }

// IsDecision reports whether a message has decisions, of whatever calls. They do not count unless IsDeclared is true, too. But another
// agent could count them, so a caller who may not decide sends it none. It is true for whatever a reader of JSON may take for decisions:
// readers differ about names that differ in case, and about members that are there twice.
func IsDecision(m *a2a.Message) bool {
	return HasDecisions(m) || IsConfirmation(m)
}

// HasDecisions is IsDecision for the object of the extension only.
func HasDecisions(m *a2a.Message) bool { return says(Object(m), "type", TypeDecisions) }

// IsConfirmation reports whether a message has a request of Google ADK to confirm a call, or an answer to one.
func IsConfirmation(m *a2a.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p a2a.Part) bool { return says(p.Data, "name", "adk_request_confirmation") })
}

// says reports whether a member of an object, whose name may differ in case, is a string. It copies nothing of the object.
func says(object []byte, name, value string) bool {
	if !jsonread.MayHave(object, value) {
		return false
	}
	r := jsonread.New(object)
	if r.Kind() != '{' {
		r.Close()
		return r.Err() != nil // members that are there twice
	}
	for member := range r.AllMembers() {
		if strings.EqualFold(string(member), name) && r.Kind() == '"' && r.String() == value {
			r.Close()
			return true
		}
	}
	return r.End() != nil
}

// IsDeclared reports whether a message lists the extension, which the extension requires.
func IsDeclared(m *a2a.Message) bool { return slices.Contains(m.Extensions, Extension) }

func typeOf(m *a2a.Message) string {
	var object struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(Object(m), &object) != nil {
		return ""
	}
	return object.Type
}

// Object returns the extension's object of a message, nil for none.
func Object(m *a2a.Message) json.RawMessage {
	return Member(m.Metadata, Extension)
}

// Call is a call of a tool about which a person decides. Arguments is a JSON object.
type Call struct {
	ID        string          `json:"id"`
	Tool      string          `json:"name"`
	Arguments json.RawMessage `json:"args"`
}

// maxCalls bounds the calls of a request.
const maxCalls = 1024

// Requested returns the calls of a request, nil for another message and for a request that no decision fits. If an agent that is called
// asks, these are its calls.
func Requested(m *a2a.Message) []Call {
	if !IsRequest(m) || !IsDeclared(m) {
		return nil
	}
	request := Object(m)
	if nested := Member(request, "nested"); nested != nil && string(nested) != "null" {
		request = nested
	}
	calls, err := Elements[Call](Member(request, "tools"), maxCalls)
	if err != nil {
		return nil
	}
	seen := map[string]bool{}
	for _, c := range calls {
		if c.ID == "" || c.Tool == "" || seen[c.ID] {
			return nil
		}
		seen[c.ID] = true
	}
	return calls
}

// By is who decides by a message.
type By struct {
	// Principal is "" if the sender of the message may not decide.
	Principal string
	// IsProven says of a decision that an agent passes on whether the registry has verified a token of the subject. It is nil for others.
	IsProven *bool
}

// DecidedBy returns who decides by a message.
func DecidedBy(m *a2a.Message) (by By) {
	if json.Unmarshal(Member(m.Metadata, metadataDecidedBy), &by.Principal) != nil {
		return By{}
	}
	_ = json.Unmarshal(Member(m.Metadata, metadataProven), &by.IsProven)
	return by
}

// WithDecidedBy returns the message with who decides by it. It removes what the sender of the message has written there.
func WithDecidedBy(m *a2a.Message, by By) *a2a.Message {
	isForged := Member(m.Metadata, metadataDecidedBy) != nil || Member(m.Metadata, metadataProven) != nil
	if !isForged && by.Principal == "" {
		return m
	}
	out := *m
	if isForged {
		out.Metadata = m.Metadata.Without(metadataDecidedBy, metadataProven)
	}
	if by.Principal == "" {
		return &out
	}
	// The other members stay as the client has written them.
	name, _ := json.Marshal(by.Principal) // a string has a JSON form
	text := append([]byte(`{"`+metadataDecidedBy+`":`), name...)
	if by.IsProven != nil {
		text = strconv.AppendBool(append(text, `,"`+metadataProven+`":`...), *by.IsProven)
	}
	if rest := bytes.TrimSpace(out.Metadata); hasMembers(rest) {
		text = append(append(text, ','), rest[1:]...)
	} else {
		text = append(text, '}')
	}
	out.Metadata = text
	return &out
}

// Decisions returns a message with the decisions of another one and nothing else.
func Decisions(m *a2a.Message) *a2a.Message {
	object := append([]byte(`{"`+Extension+`":`), Object(m)...)
	object = append(object, '}')
	return &a2a.Message{
		ID: m.ID, TaskID: m.TaskID, Role: a2a.RoleUser, Extensions: []string{Extension}, Metadata: object,
		Parts: []a2a.Part{a2a.TextPart("A person has decided.")},
	}
}

// Ways are the ways in which people decide about the calls of an agent.
type Ways struct {
	// Name is the name of the agent for people, such as team/deployer, and Arguments name it on a command line of kubectl a2a.
	Name, Arguments string
	// Page is the URL of the page on which people decide about calls of the agent, "" for none. PageIssuer is the issuer of these people.
	Page, PageIssuer string
	// HasApprovers is true if a rule says who may decide.
	HasApprovers bool
}

// Part returns the part of a request that says how to decide.
func (w Ways) Part(taskID string, owner a2a.Owner) a2a.Part {
	var text strings.Builder
	if w.Arguments == "" {
		text.WriteString("To decide, answer with the extension " + Extension + ".")
		return wayPart(text.String())
	}
	name := safetext.Line(w.Arguments)
	text.WriteString("To decide, ")
	if w.Page != "" && (w.HasApprovers || owner.IsPersonOf(w.PageIssuer)) { // a person cannot sign in to the page as another owner
		text.WriteString("open " + w.Page + "/" + url.PathEscape(taskID) + "?owner=" + url.QueryEscape(owner.Principal()) + " and sign in, or ")
	}
	text.WriteString("run kubectl a2a approve " + name + " " + taskID + " (or kubectl a2a reject).")
	if w.HasApprovers {
		text.WriteString(" A rule of the agent says who may decide. An approver who does not own the task adds --owner " + quoted(owner.Principal()) + ".")
	}
	text.WriteString(" Programs answer with the extension " + Extension + ".")
	return wayPart(text.String())
}

func wayPart(text string) a2a.Part {
	part := a2a.TextPart(text)
	part.Metadata = a2a.Object(`{"` + metadataWays + `":true}`)
	return part
}

// quoted returns an argument in the quotes of a shell.
func quoted(text string) string {
	return "'" + strings.ReplaceAll(safetext.Line(text), "'", `'\''`) + "'"
}

// Passed returns the request of a called agent as this agent passes it on: the ways to decide are those of this agent.
func (w Ways) Passed(m *a2a.Message, taskID string, owner a2a.Owner) *a2a.Message {
	if !IsRequest(m) {
		return m
	}
	out := *m
	out.Parts = nil
	for i := range m.Parts {
		if string(Member(m.Parts[i].Metadata, metadataWays)) != "true" {
			out.Parts = append(out.Parts, m.Parts[i])
		}
	}
	out.Parts = append(out.Parts, w.Part(taskID, owner))
	return &out
}
