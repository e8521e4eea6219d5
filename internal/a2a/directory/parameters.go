// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// SearchParameters are the parameters of the registry's search.
var SearchParameters = []string{
	"q", "text", "skill", "tag", "inputMode", "outputMode", "capability", "protocol", "binding", "provider",
	"namespace", "remote", "ready", "limit", "cursor", "minRevision",
}

// Parameters returns the members of a JSON object as parameters of a search. A value is a
// string, a number, a boolean or a list of these; null and "" mean absent. The registry checks
// the values. The error names the member that is no parameter, or has no such value.
func Parameters(object []byte) (url.Values, error) {
	var members map[string]any
	d := json.NewDecoder(strings.NewReader(string(object)))
	d.UseNumber()
	if err := d.Decode(&members); err != nil || members == nil {
		return nil, a2a.InvalidParams("", "must be an object with parameters of a search: "+strings.Join(SearchParameters, ", "))
	}
	parameters := url.Values{}
	for name, value := range members {
		if !slices.Contains(SearchParameters, name) {
			return nil, a2a.InvalidParams(name, "is not a parameter of this search; use "+strings.Join(SearchParameters, ", "))
		}
		list, ok := value.([]any)
		if !ok {
			list = []any{value}
		}
		for _, v := range list {
			text, ok := scalar(v)
			if !ok {
				return nil, a2a.InvalidParams(name, "must be a string, a number, a boolean or a list of these")
			}
			if text != "" {
				parameters.Add(name, text)
			}
		}
	}
	return parameters, nil
}

func scalar(value any) (text string, ok bool) {
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return v.String(), true
	default:
		return "", false
	}
}
