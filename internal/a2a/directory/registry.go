// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// Registry is the registry that a directory agent reads. Its methods are safe for
// concurrent use. Their errors are *a2a.Error and the errors of ctx.
type Registry interface {
	// Find returns a page of a search. The parameters are those of GET /v1/agents.
	Find(ctx context.Context, parameters url.Values) (*Page, error)
	// Card returns the card of an agent as a JSON object. If version is "1.0", it returns
	// the card of 1.0, and for any other version the union card.
	Card(ctx context.Context, a Agent, version string) (json.RawMessage, error)
}

// Page is a page of a search.
type Page struct {
	// Items are entries of the registry, each a JSON object.
	Items []json.RawMessage `json:"items"`
	// NextCursor is "" on the last page.
	NextCursor string `json:"nextCursor"`
	Total      int    `json:"total"`
	// Corrections has the words of the search in whose place similar words find agents.
	Corrections []Correction `json:"corrections,omitempty"`
}

// Correction is a word of a search that no agent has, and the similar words by which the registry searched.
type Correction struct {
	Word string   `json:"word"`
	As   []string `json:"as"`
}

// Agent is the name of an agent.
type Agent struct{ Namespace, Name string }

// ParseAgent reads a name such as team/echo. It returns true only if both parts are DNS
// labels.
func ParseAgent(text string) (Agent, bool) {
	namespace, name, ok := strings.Cut(text, "/")
	return Agent{namespace, name}, ok && IsLabel(namespace) && IsLabel(name)
}

// IsLabel reports whether s is a DNS label (RFC 1123).
func IsLabel(s string) bool {
	return s != "" && len(s) <= 63 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && s[0] != '-' && s[len(s)-1] != '-'
}

func (a Agent) String() string { return a.Namespace + "/" + a.Name }

// The skills.
const (
	// SkillFind searches the registry.
	SkillFind = "find-agents"
	// SkillCard returns the card of an agent.
	SkillCard = "get-card"
)

// Card returns the card of a directory agent without interfaces.
func Card(name, description, version string) *card.Card {
	modes := []string{"text/plain", "application/json"}
	return &card.Card{
		Name: name, Description: description, Version: version,
		Capabilities:      card.Capabilities{Streaming: true},
		DefaultInputModes: modes, DefaultOutputModes: modes,
		Skills: []card.Skill{
			{
				ID: SkillFind, Name: "Find agents",
				Description: "Searches the registry. Send what the agent must be able to do as text, and get the best matches first, or an object with parameters of the registry's search: " +
					strings.Join(SearchParameters, ", ") + ".",
				Tags: []string{"discovery", "registry"}, Examples: []string{"Will it rain in Paris?", `{"skill":"echo","ready":true}`},
			},
			{
				ID: SkillCard, Name: "Get card",
				Description: `Returns the card of one agent. Send its name as text, such as team/echo, or as an object with "namespace" and "name", ` +
					`and name this skill in the metadata, as "` + a2a.SkillName + `".`,
				Tags: []string{"discovery", "registry"}, Examples: []string{"team/echo", `{"namespace":"team","name":"echo"}`},
			},
		},
	}
}

// SearchParameters are the parameters of the registry's search, without those of a watch.
var SearchParameters = []string{
	"q", "text", "skill", "tag", "inputMode", "outputMode", "capability", "protocol", "binding", "provider",
	"namespace", "remote", "ready", "limit", "cursor", "minRevision",
}

// maxName is the maximum length of an unknown member's name in an error, in bytes.
const maxName = 64

// maxValues bounds the values of the parameters of a search, and maxSize their length in bytes. The registry accepts no more. A short number
// in a list takes many times as much as a parameter.
const (
	maxValues = 64
	maxSize   = 24 << 10
)

// Parameters converts a JSON object to parameters of a search. The names of the members
// must be among accepted. A value is a string, a number, a boolean or a list of these;
// null and "" mean absent. The registry checks the values. If a member is no parameter,
// is repeated, or has a value of another type, the error names the member.
func Parameters(object []byte, accepted []string) (url.Values, error) {
	r := jsonread.New(object)
	defer r.Close()
	if err := r.Err(); err != nil { // a repeated member, or too much nesting
		return nil, Explain(object, err)
	}
	if r.Kind() != '{' {
		return nil, a2a.InvalidParams("", "must be an object with parameters of a search: "+strings.Join(accepted, ", "))
	}
	parameters := url.Values{}
	values := 0
	size := 0
	add := func(name, value string) error {
		values++
		size += len(value)
		switch {
		case values > maxValues:
			return a2a.InvalidParams(name, fmt.Sprintf("has more values than a search, which has %d; omit some", maxValues))
		case size > maxSize:
			return a2a.InvalidParams(name, fmt.Sprintf("has more bytes than a search, which has %d; shorten them", maxSize))
		case value != "":
			parameters.Add(name, value)
		}
		return nil
	}
	for member := range r.Members() {
		name := string(member)
		if !slices.Contains(accepted, name) {
			return nil, UnknownMember(name, "is not a parameter of this search", accepted)
		}
		if r.Kind() != '[' {
			if err := add(name, scalar(r)); err != nil {
				return nil, err
			}
			continue
		}
		for range r.Elements() {
			if err := add(name, scalar(r)); err != nil {
				return nil, err
			}
		}
	}
	return parameters, Explain(object, r.End())
}

// Explain returns a clearer form of err, which is the error of a reader of object. If a member
// of object is repeated, Explain returns an error with the name of this member. Otherwise, it
// returns err, which may be nil.
func Explain(object []byte, err error) error {
	if err == nil {
		return nil
	}
	_, strict := jsontext.NewDecoder(bytes.NewReader(object)).ReadValue()
	mistake, ok := errors.AsType[*jsontext.SyntacticError](strict)
	if !ok || !errors.Is(strict, jsontext.ErrDuplicateName) {
		return err
	}
	return a2a.InvalidParams(safetext.Clip(strings.Join(slices.Collect(mistake.JSONPointer.Tokens()), "."), maxName), "is repeated; use it once")
}

// UnknownMember returns the error for a member whose name is not among accepted.
func UnknownMember(name, problem string, accepted []string) error {
	return a2a.InvalidParams(safetext.Clip(name, maxName), problem+"; use "+strings.Join(accepted, ", "))
}

// scalar reads a string, a number or a boolean, and returns its text. It returns "" for
// null, and makes r fail for any other value.
func scalar(r *jsonread.Reader) string {
	switch r.Kind() {
	case '"':
		return r.String()
	case 't', 'f':
		return strconv.FormatBool(r.Bool())
	case '0':
		return string(r.Raw())
	case 'n':
		r.Skip()
	default:
		r.Skip()
		r.Fail("must be a string, a number, a boolean or a list of these")
	}
	return ""
}
