// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// readdressRPCCard returns a JSON-RPC response in which the interfaces of its card are
// those of base. A response with an error is returned unchanged.
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
	return encode(answer)
}

// readdressCard returns a card whose interfaces are those of base, the URL of its agent
// through the gateway: the sidecar's identity is then added to the calls that follow. It
// leaves out the signatures, which cover the original addresses.
func readdressCard(text []byte, base string) ([]byte, error) {
	var card map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber() // the card may have numbers that float64 cannot hold
	if err := dec.Decode(&card); err != nil {
		return nil, err
	}
	delete(card, "signatures")
	moveInterfaces(card, base)
	return encode(card)
}

func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return out.Bytes(), err
}

// forwarded are the bindings that the gateway forwards, by their names on a card. Every
// sidecar serves both, whether its card lists them or not.
var forwarded = []string{"JSONRPC", "HTTP+JSON"}

// moveInterfaces replaces the interfaces of a card: those of 1.0, which name a version
// each, and those of 0.2 and 0.3.
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
	first := moved[0].(map[string]any) //nolint:forcetypeassert // interfaces made it
	card["url"] = first["url"]
	if _, ok := card["preferredTransport"]; ok {
		card["preferredTransport"] = first["transport"]
	}
}

func isObject(value any) bool {
	_, ok := value.(map[string]any)
	return ok
}

// interfaces returns an entry for each listed one that the gateway forwards, in the same
// order, each once; if there is none, one for each that it forwards.
func interfaces(base string, listed []any, binding, version string) []any {
	moved := []any{}
	seen := map[string]bool{}
	add := func(name, of string, entry map[string]any) {
		if !slices.Contains(forwarded, name) || seen[name+" "+of] {
			return
		}
		seen[name+" "+of] = true
		out := maps.Clone(entry)
		// A path belongs to the route from outside; the Service has none. Clients append
		// the paths of HTTP+JSON to the URL.
		out["url"], out[binding] = base+"/", name
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
