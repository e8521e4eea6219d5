// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acts

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// absent is the actual value of a member that does not exist.
type absent struct{}

// operators are the members of an expectation that are not names of members of the actual value.
var operators map[string]func(expected, actual any) error

func init() {
	operators = map[string]func(expected, actual any) error{
		"type": isType, "exists": exists, "absent": isAbsent, "one_of": oneOf, "any_of": oneOf, "all_of": allOf,
		"matches":     onText(func(text, pattern string) bool { return regexp.MustCompile(pattern).MatchString(text) }),
		"starts_with": onText(strings.HasPrefix), "contains": onText(strings.Contains),
		"count":     onCount(func(n, want float64) bool { return n == want }),
		"count_gte": onCount(func(n, want float64) bool { return n >= want }),
		"count_lte": onCount(func(n, want float64) bool { return n <= want }),
		"items":     items,
		"gte":       onNumber(func(n, want float64) bool { return n >= want }),
		"lt":        onNumber(func(n, want float64) bool { return n < want }),
	}
}

// match compares a value of a response with an expectation of the suite: a value, an object of operators, or an
// object with an expectation for each named member.
func match(expected, actual any) error {
	object, ok := expected.(map[string]any)
	if !ok {
		if !reflect.DeepEqual(expected, actual) {
			return fmt.Errorf("is %s, want %s", show(actual), show(expected))
		}
		return nil
	}
	members, _ := actual.(map[string]any)
	var all []error
	for name, want := range object {
		if check, ok := operators[name]; ok {
			all = append(all, check(want, actual))
			continue
		}
		value, ok := members[name]
		if !ok {
			value = absent{}
		}
		if err := match(want, value); err != nil {
			all = append(all, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(all...)
}

func show(v any) string {
	if _, ok := v.(absent); ok {
		return "absent"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(text) > 300 {
		text = append(text[:300], "..."...)
	}
	return string(text)
}

func isType(expected, actual any) error {
	kind := "absent"
	switch actual.(type) {
	case nil:
		kind = "null"
	case string:
		kind = "string"
	case float64:
		kind = "number"
	case bool:
		kind = "boolean"
	case []any:
		kind = "array"
	case map[string]any:
		kind = "object"
	}
	if kind != expected {
		return fmt.Errorf("is %s, want a value of type %v", show(actual), expected)
	}
	return nil
}

func exists(expected, actual any) error { return isAbsent(expected != true, actual) }

func isAbsent(expected, actual any) error {
	if _, is := actual.(absent); is != expected {
		return fmt.Errorf("is %s, want absent: %v", show(actual), expected)
	}
	return nil
}

func oneOf(expected, actual any) error {
	alternatives, _ := expected.([]any)
	var all []error
	for _, each := range alternatives {
		err := match(each, actual)
		if err == nil {
			return nil
		}
		all = append(all, err)
	}
	return fmt.Errorf("no alternative: %w", errors.Join(all...))
}

func allOf(expected, actual any) error {
	parts, _ := expected.([]any)
	var all []error
	for _, each := range parts {
		all = append(all, match(each, actual))
	}
	return errors.Join(all...)
}

// items compares each item of a list with one expectation, or the first items with a list of expectations.
func items(expected, actual any) error {
	list, ok := actual.([]any)
	if !ok {
		return fmt.Errorf("is %s, want a list", show(actual))
	}
	firsts, inOrder := expected.([]any)
	if inOrder && len(firsts) > len(list) {
		return fmt.Errorf("has %d items, want %d", len(list), len(firsts))
	}
	var all []error
	for i, item := range list {
		want := expected
		if inOrder {
			if i >= len(firsts) {
				break
			}
			want = firsts[i]
		}
		if err := match(want, item); err != nil {
			all = append(all, fmt.Errorf("item %d: %w", i, err))
		}
	}
	return errors.Join(all...)
}

func onText(holds func(text, want string) bool) func(expected, actual any) error {
	return func(expected, actual any) error {
		text, ok := actual.(string)
		want, isText := expected.(string)
		if !ok || !isText || !holds(text, want) {
			return fmt.Errorf("is %s, want a text for %s", show(actual), show(expected))
		}
		return nil
	}
}

func onNumber(holds func(n, want float64) bool) func(expected, actual any) error {
	return func(expected, actual any) error {
		n, ok := actual.(float64)
		want, isNumber := expected.(float64)
		if !ok || !isNumber || !holds(n, want) {
			return fmt.Errorf("is %s, want a number for %s", show(actual), show(expected))
		}
		return nil
	}
}

func onCount(holds func(n, want float64) bool) func(expected, actual any) error {
	number := onNumber(holds)
	return func(expected, actual any) error {
		list, ok := actual.([]any)
		if !ok {
			return fmt.Errorf("is %s, want a list", show(actual))
		}
		return number(expected, float64(len(list)))
	}
}

var segment = regexp.MustCompile(`^([^\[]*)(?:\[(\*|\d+)\])?$`)

// find returns the values at a path such as history[0].parts[*].
func find(path string, value any) []any {
	found := []any{value}
	for part := range strings.SplitSeq(path, ".") {
		split := segment.FindStringSubmatch(part)
		if split == nil {
			return nil
		}
		var next []any
		for _, each := range found {
			object, _ := each.(map[string]any)
			member, ok := object[split[1]]
			if !ok {
				continue
			}
			list, _ := member.([]any)
			switch split[2] {
			case "":
				next = append(next, member)
			case "*":
				next = append(next, list...)
			default:
				if i, _ := strconv.Atoi(split[2]); i < len(list) {
					next = append(next, list[i])
				}
			}
		}
		found = next
	}
	return found
}

// TestMatch checks that expectations accept what they describe, and nothing else.
func TestMatch(t *testing.T) {
	const actual = `{"task":{"id":"t","status":{"state":"DONE"},"artifacts":[{"n":1},{"n":2}],"empty":[],"none":null},"code":-3}`
	for expected, want := range map[string]bool{
		`{"task":{"id":{"type":"string"},"status":{"state":"DONE"}}}`: true,
		`{"task":{"id":"u"}}`:                                                               false,
		`{"task":{"id":{"type":"array"}}}`:                                                  false,
		`{"task":{"status":{"state":{"one_of":["A","DONE"]}}}}`:                             true,
		`{"task":{"status":{"state":{"one_of":["A","B"]}}}}`:                                false,
		`{"message":{"absent":true}}`:                                                       true,
		`{"task":{"absent":true}}`:                                                          false,
		`{"message":{"exists":true}}`:                                                       false,
		`{"task":{"exists":true}}`:                                                          true,
		`{"task":{"artifacts":{"type":"array","count_gte":2}}}`:                             true,
		`{"task":{"artifacts":{"count_gte":3}}}`:                                            false,
		`{"task":{"artifacts":{"count_lte":1}}}`:                                            false,
		`{"task":{"artifacts":{"items":{"n":{"type":"number"}}}}}`:                          true,
		`{"task":{"artifacts":{"items":{"n":1}}}}`:                                          false,
		`{"task":{"artifacts":{"items":[{"n":1}]}}}`:                                        true,
		`{"task":{"artifacts":{"items":[{"n":2}]}}}`:                                        false,
		`{"task":{"empty":{"any_of":[{"absent":true},{"type":"array","count":0}]}}}`:        true,
		`{"task":{"artifacts":{"any_of":[{"absent":true},{"type":"array","count":0}]}}}`:    false,
		`{"task":{"none":{"type":"null"}}}`:                                                 true,
		`{"any_of":[{"error":{"exists":true}},{"code":-3}]}`:                                true,
		`{"any_of":[{"error":{"exists":true}},{"code":-4}]}`:                                false,
		`{"task":{"id":{"all_of":[{"type":"string"},{"matches":"^t$"},{"contains":"t"}]}}}`: true,
		`{"task":{"id":{"all_of":[{"type":"string"},{"starts_with":"x"}]}}}`:                false,
		`{"code":{"gte":-3,"lt":0}}`:                                                        true,
		`{"code":{"gte":-2}}`:                                                               false,
	} {
		var e, a any
		if err := errors.Join(json.Unmarshal([]byte(expected), &e), json.Unmarshal([]byte(actual), &a)); err != nil {
			t.Fatal(err)
		}
		if err := match(e, a); (err == nil) != want {
			t.Errorf("%s matches: %v, want %v", expected, err, want)
		}
	}
	var a any
	_ = json.Unmarshal([]byte(actual), &a)
	if got := find("task.artifacts[*].n", a); !slices.Equal(got, []any{1.0, 2.0}) {
		t.Errorf("find() = %v", got)
	}
	if got := find("task.artifacts[1].n", a); !slices.Equal(got, []any{2.0}) {
		t.Errorf("find() = %v", got)
	}
}
