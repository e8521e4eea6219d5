// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
)

// maxInterfaces is the maximum size of the interfaces of a card that are replaced, and of each other member that names them, in bytes.
// They are decoded as a whole, and need many times as much memory.
const maxInterfaces = 16 << 10

// maxMoved is the maximum number of interfaces in a list of a card that is replaced. The others are left out: each may get a longer URL.
const maxMoved = 16

// readdressRPCCard returns a JSON-RPC response in which the interfaces of the card are
// replaced by interfaces at base. It returns a response with an error unchanged.
func readdressRPCCard(body []byte, base string) ([]byte, error) {
	out := make([]byte, 0, len(body)+maxInterfaces)
	isReplaced := false
	out, err := appendMembers(out, body, func(out, name []byte, value jsontext.Value) ([]byte, bool, error) {
		isResult := string(name) == "result"
		if !isResult || value.Kind() != '{' || isReplaced {
			return out, isResult && isReplaced, nil
		}
		isReplaced = true
		out, err := appendCard(append(out, `"result":`...), value, base)
		return out, true, err
	})
	if err != nil {
		return nil, err
	}
	if !isReplaced {
		return body, nil
	}
	return out, nil
}

// readdressCard returns a card whose interfaces are replaced by interfaces at base, the
// agent's URL through the gateway. Calls to these interfaces pass through the gateway, which
// adds the sidecar's identity. The result has no signatures, because they cover the original
// addresses.
func readdressCard(text []byte, base string) ([]byte, error) {
	return appendCard(make([]byte, 0, len(text)+maxInterfaces), text, base)
}

// appendCard appends the card to out. Another agent has chosen the text, so that only the interfaces are decoded as a whole.
func appendCard(out, text []byte, base string) ([]byte, error) {
	card := map[string]any{}
	err := eachMember(text, func(_, name []byte, value jsontext.Value) error {
		switch string(name) {
		case "supportedInterfaces", "additionalInterfaces", "url", "preferredTransport":
		default:
			return nil
		}
		if _, isRepeated := card[string(name)]; isRepeated {
			return nil
		}
		if len(value) > maxInterfaces {
			return fmt.Errorf("the member %s of the card is larger than %d bytes", name, maxInterfaces)
		}
		var decoded any
		decoder := json.NewDecoder(bytes.NewReader(value))
		decoder.UseNumber() // an interface may have numbers that float64 cannot hold
		err := decoder.Decode(&decoded)
		card[string(name)] = decoded
		return err
	})
	if err != nil {
		return nil, err
	}
	moveInterfaces(card, base)
	replaced := map[string]bool{}
	return appendMembers(out, text, func(out, name []byte, _ jsontext.Value) ([]byte, bool, error) {
		value, isInterface := card[string(name)]
		switch {
		case string(name) == "signatures" || replaced[string(name)]:
			return out, true, nil
		case !isInterface:
			return out, false, nil
		}
		replaced[string(name)] = true
		encoded, err := plainjson.Marshal(value)
		return append(append(append(append(out, '"'), name...), `":`...), encoded...), true, err
	})
}

// appendMembers appends an object with the members of the object text to out. replace appends another member, or none, and returns true if
// it takes the place of the one with the name and the value.
func appendMembers(out, text []byte, replace func(out, name []byte, value jsontext.Value) ([]byte, bool, error)) ([]byte, error) {
	out = append(out, '{')
	begin := len(out)
	err := eachMember(text, func(quoted, name []byte, value jsontext.Value) error {
		end := len(out)
		if end > begin {
			out = append(out, ',')
		}
		with, isReplaced, err := replace(out, name, value)
		switch {
		case err != nil:
			return err
		case isReplaced && len(with) == len(out):
			out = out[:end] // without the comma
		case isReplaced:
			out = with
		default:
			out = append(append(append(out, quoted...), ':'), value...)
		}
		return nil
	})
	return append(out, '}'), err
}

// longestName is a length that no member that is replaced has, also if each of its letters is an escape sequence, in bytes.
const longestName = 256

// eachMember calls do for each member of an object, with its name in quotes and without, and its value. The name without quotes is "" if
// it is long. The slices are valid until do returns.
func eachMember(text []byte, do func(quoted, name []byte, value jsontext.Value) error) error {
	var space [longestName]byte
	// Agents cut texts in the middle of a character, which JSON.stringify and others then write.
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() != '{' {
		return errNoEntries
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == '"' {
		read, err := d.ReadValue()
		if err != nil {
			return err
		}
		quoted := text[d.InputOffset()-int64(len(read)) : d.InputOffset()]
		name := space[:0]
		if len(quoted) <= longestName {
			name, _ = jsontext.AppendUnquote(name, quoted) // the decoder has checked it; the error is for a cut character
		}
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		if err := do(quoted, name, value); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// forwarded lists the bindings that the gateway forwards, by their names on a card. Every
// sidecar serves both, even if its card does not list them.
var forwarded = []string{"JSONRPC", "HTTP+JSON"}

// moveInterfaces replaces the interfaces of a card: the members of 1.0, in which each
// interface has a version, and the members of 0.2 and 0.3.
func moveInterfaces(card map[string]any, base string) {
	if listed, ok := card["supportedInterfaces"].([]any); ok {
		card["supportedInterfaces"] = interfaces(base, listed, "protocolBinding", "protocolVersion")
	}
	if _, ok := card["url"].(string); !ok {
		return
	}
	listed, _ := card["additionalInterfaces"].([]any)
	if !slices.ContainsFunc(listed, isObject) {
		listed = []any{map[string]any{"transport": card["preferredTransport"]}}
	}
	moved := interfaces(base, listed, "transport", "")
	if _, ok := card["additionalInterfaces"]; ok {
		card["additionalInterfaces"] = moved
	}
	first := moved[0].(map[string]any) // interfaces returns only objects, at least one
	card["url"] = first["url"]
	if _, ok := card["preferredTransport"]; ok {
		card["preferredTransport"] = first["transport"]
	}
}

func isObject(value any) bool {
	_, ok := value.(map[string]any)
	return ok
}

// interfaces returns an interface at base for each listed interface whose binding the gateway
// forwards, in the same order and without duplicates, at most maxMoved. If there is none, it returns one for
// each forwarded binding.
func interfaces(base string, listed []any, binding, version string) []any {
	moved := []any{}
	seen := map[string]bool{}
	add := func(name, of string, entry map[string]any) {
		if len(moved) == maxMoved || !slices.Contains(forwarded, name) || seen[name+" "+of] {
			return
		}
		seen[name+" "+of] = true
		out := maps.Clone(entry)
		// The new URL does not contain the path of the listed URL: that path belongs to the route
		// from outside of the cluster, and the Service has no path. The URL of HTTP+JSON has no
		// slash at its end, because clients append their paths to it.
		out["url"] = base + "/"
		out[binding] = name
		if name == "HTTP+JSON" {
			out["url"] = base
		}
		moved = append(moved, out)
	}
	each := func(list func(entry map[string]any, name, of string)) {
		for _, l := range listed {
			if entry, ok := l.(map[string]any); ok {
				name, _ := entry[binding].(string)
				of, _ := entry[version].(string)
				list(entry, name, of)
			}
		}
	}
	each(func(entry map[string]any, name, of string) { add(cmp.Or(name, forwarded[0]), of, entry) })
	if len(moved) > 0 {
		return moved
	}
	each(func(entry map[string]any, _, of string) {
		for _, name := range forwarded {
			add(name, of, entry)
		}
	})
	return moved
}
