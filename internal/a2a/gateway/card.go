// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// maxCard bounds a card that is changed on the way.
const maxCard = 4 << 20

// readdress makes a card's addresses lead through the gateway, so that a
// client which reads the card keeps its identity for the calls that follow.
// What the gateway cannot carry is left out, and so are the signatures, which
// are over other addresses.
func (w *way) readdress(response *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(response.Body, maxCard+1))
	closeErr := response.Body.Close()
	if err := errors.Join(err, closeErr); err != nil {
		return fmt.Errorf("%w: %w", errCard, err)
	}
	if len(text) > maxCard {
		return fmt.Errorf("%w: larger than 4 MiB", errCard)
	}
	var card map[string]any
	if err := json.Unmarshal(text, &card); err != nil {
		return fmt.Errorf("%w: %w", errCard, err)
	}
	delete(card, "signatures")
	w.move(card)
	for _, name := range []string{"additionalInterfaces", "supportedInterfaces"} {
		all, isList := card[name].([]any)
		if !isList {
			continue
		}
		kept := []any{}
		for _, entry := range all {
			if i, isObject := entry.(map[string]any); isObject && w.move(i) {
				kept = append(kept, i)
			}
		}
		card[name] = kept
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(card); err != nil {
		return fmt.Errorf("%w: %w", errCard, err)
	}
	response.Body = io.NopCloser(&out)
	response.ContentLength = int64(out.Len())
	response.Header.Set("Content-Length", strconv.Itoa(out.Len()))
	response.Header.Set("Cache-Control", "no-store")
	response.Header.Del("ETag")
	return nil
}

// move changes an object's url, and reports false when it is none of HTTP.
func (w *way) move(object map[string]any) bool {
	text, _ := object["url"].(string)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	// A path belongs to the route from outside; the Service has none. Clients
	// append paths of HTTP+JSON to what they find.
	object["url"] = w.base + "/"
	if object["protocolBinding"] == "HTTP+JSON" || object["transport"] == "HTTP+JSON" {
		object["url"] = w.base
	}
	return true
}
