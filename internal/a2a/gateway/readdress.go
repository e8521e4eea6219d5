// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
)

// readdressRPCCard returns a JSON-RPC response in which the interfaces of the card are
// replaced by interfaces at base. It returns a response with an error unchanged.
func readdressRPCCard(body []byte, base string) ([]byte, error) {
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(answer["result"], []byte("{")) {
		return body, nil
	}
	var err error
	if answer["result"], err = readdressCard(answer["result"], base); err != nil {
		return nil, err
	}
	return plainjson.Marshal(answer)
}

// readdressCard returns a card whose interfaces are replaced by interfaces at base, the
// agent's URL through the gateway. Calls to these interfaces pass through the gateway, which
// adds the sidecar's identity. The result has no signatures, because they cover the original
// addresses.
func readdressCard(text []byte, base string) ([]byte, error) {
	var card map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber() // the card may have numbers that float64 cannot hold
	if err := dec.Decode(&card); err != nil {
		return nil, err
	}
	delete(card, "signatures")
	moveInterfaces(card, base)
	return plainjson.Marshal(card)
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
// forwards, in the same order and without duplicates. If there is none, it returns one for
// each forwarded binding.
func interfaces(base string, listed []any, binding, version string) []any {
	moved := []any{}
	seen := map[string]bool{}
	add := func(name, of string, entry map[string]any) {
		if !slices.Contains(forwarded, name) || seen[name+" "+of] {
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
