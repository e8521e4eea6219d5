// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// SearchParameters are the parameters of the registry's search, without those of a watch.
var SearchParameters = []string{
	"q", "text", "skill", "tag", "inputMode", "outputMode", "capability", "protocol", "binding", "provider",
	"namespace", "remote", "ready", "limit", "cursor", "minRevision",
}

// maxName is the maximum length of an unknown member's name in an error, in bytes.
const maxName = 64

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
	add := func(name, value string) {
		if value != "" {
			parameters.Add(name, value)
		}
	}
	for member := range r.Members() {
		name := string(member)
		if !slices.Contains(accepted, name) {
			return nil, UnknownMember(name, "is not a parameter of this search", accepted)
		}
		if r.Kind() != '[' {
			add(name, scalar(r))
			continue
		}
		for range r.Elements() {
			add(name, scalar(r))
		}
	}
	return parameters, Explain(object, r.End())
}

// Explain returns a clearer form of err, the error of a reader of object: if a member is
// repeated, it returns an error with the name of this member, and else err. It returns
// nil if err is nil.
func Explain(object []byte, err error) error {
	if err == nil {
		return nil
	}
	_, strict := jsontext.NewDecoder(bytes.NewReader(object)).ReadValue()
	mistake, ok := errors.AsType[*jsontext.SyntacticError](strict)
	if !ok || !errors.Is(strict, jsontext.ErrDuplicateName) {
		return err
	}
	return a2a.InvalidParams(shortened(strings.Join(slices.Collect(mistake.JSONPointer.Tokens()), ".")), "is repeated; use it once")
}

// UnknownMember returns the error for a member whose name is not among accepted.
func UnknownMember(name, problem string, accepted []string) error {
	return a2a.InvalidParams(shortened(name), problem+"; use "+strings.Join(accepted, ", "))
}

func shortened(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.ToValidUTF8(name[:maxName], "") + "…"
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
