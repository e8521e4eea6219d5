// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// maxCard bounds a card that is changed on the way.
const maxCard = 4 << 20

// readdress replaces the interfaces of a card, or of a card that is the result of
// JSON-RPC, with those of the base at which the agent asked for it: through the
// gateway, a client keeps its identity for the calls that follow. Signatures are
// left out, which are over other addresses. Its error wraps errCard.
func (w *way) readdress(response *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxCard+1))
	closeErr := response.Body.Close()
	if err := errors.Join(err, closeErr); err != nil {
		return fmt.Errorf("%w: %w", errCard, err)
	}
	if len(text) > maxCard {
		return fmt.Errorf("%w: larger than 4 MiB", errCard)
	}
	out, err := w.readdressed(text)
	if err != nil {
		return fmt.Errorf("%w: %w", errCard, err)
	}
	response.Body = io.NopCloser(bytes.NewReader(out))
	response.ContentLength = int64(len(out))
	response.Header.Set("Content-Length", strconv.Itoa(len(out)))
	response.Header.Set("Cache-Control", "no-store")
	response.Header.Del("ETag")
	response.Header.Del("Last-Modified")
	return nil
}

// readdressed returns the body of an answer with the interfaces of its card
// replaced. A JSON-RPC error has no card, and is returned as it is.
func (w *way) readdressed(body []byte) ([]byte, error) {
	if w.asked != cardByRPC {
		return w.readdressedCard(body)
	}
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(answer["result"], []byte("{")) {
		return body, nil
	}
	var err error
	if answer["result"], err = w.readdressedCard(answer["result"]); err != nil {
		return nil, err
	}
	return encode(answer)
}

func (w *way) readdressedCard(text []byte) ([]byte, error) {
	var card map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber() // the card may have numbers that float64 cannot hold
	if err := dec.Decode(&card); err != nil {
		return nil, err
	}
	delete(card, "signatures")
	w.move(card)
	return encode(card)
}

func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return out.Bytes(), err
}

// carried are the bindings that the gateway carries, by their names on a card.
// Every sidecar serves both, whether its card lists them or not.
var carried = []string{"JSONRPC", "HTTP+JSON"}

// move changes the interfaces of a card: those of 1.0, which name a version each,
// and those of 0.2 and 0.3.
func (w *way) move(card map[string]any) {
	if listed, ok := card["supportedInterfaces"].([]any); ok {
		card["supportedInterfaces"] = w.interfaces(listed, "protocolBinding", "protocolVersion")
	}
	if _, ok := card["url"].(string); !ok {
		return
	}
	listed, _ := card["additionalInterfaces"].([]any)
	if !slices.ContainsFunc(listed, isObject) {
		listed = []any{map[string]any{"transport": card["preferredTransport"]}}
	}
	moved := w.interfaces(listed, "transport", "")
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

// interfaces returns an entry for each listed one that the gateway carries, in
// the same order, each once; where there is none, one for each that it carries.
func (w *way) interfaces(listed []any, binding, version string) []any {
	moved := []any{}
	seen := map[string]bool{}
	add := func(name, of string, entry map[string]any) {
		if !slices.Contains(carried, name) || seen[name+" "+of] {
			return
		}
		seen[name+" "+of] = true
		out := maps.Clone(entry)
		// A path belongs to the route from outside; the Service has none. Clients
		// append the paths of HTTP+JSON to what they find.
		out["url"], out[binding] = w.base+"/", name
		if name == "HTTP+JSON" {
			out["url"] = w.base
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
	each(func(entry map[string]any, name, of string) { add(cmp.Or(name, carried[0]), of, entry) })
	if len(moved) > 0 {
		return moved
	}
	each(func(entry map[string]any, _, of string) {
		for _, name := range carried {
			add(name, of, entry)
		}
	})
	return moved
}
