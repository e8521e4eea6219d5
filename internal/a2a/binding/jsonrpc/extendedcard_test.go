// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"errors"
	"net/http"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

func TestWire18_ExtendedCard(t *testing.T) {
	for method, form := range map[string]card.Form{
		"agent/getAuthenticatedExtendedCard": card.FormV03,
		"agent/authenticatedExtendedCard":    card.FormV03,
		"GetExtendedAgentCard":               card.FormV10,
	} {
		for _, body := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"` + method + `"}`,
			`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":null}`,
			call10(method, `{}`),
		} {
			x := newFixture(&fake{Card: []byte(`{"name":"x"}`)})
			w := x.post(t, body)
			if got := w.Body.String(); got != `{"jsonrpc":"2.0","id":1,"result":{"name":"x"}}` {
				t.Errorf("%s = %s", body, got)
			}
			if x.fake.Last() != form {
				t.Errorf("%s asks for the form %v, want %v", method, x.fake.Last(), form)
			}
			if w.Header().Get("Cache-Control") != "private, no-store" || w.Header().Get("Vary") != "Authorization" {
				t.Errorf("%s has the header %v", method, w.Header())
			}
		}
	}
	w := newFixture(&fake{Card: []byte(`{}`)}).post(t, call10("GetExtendedAgentCard", `{"tenant":"a/b"}`))
	if w.Body.String()[:47] != `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,` {
		t.Errorf("a tenant that is none: %s", w.Body)
	}
}

func TestWire18_NoExtendedCard(t *testing.T) {
	off, missing := &a2a.Error{Reason: a2a.ReasonUnsupportedOperation}, &a2a.Error{Reason: a2a.ReasonExtendedCardNotConfigured}
	tests := map[string]struct {
		method, version string
		err             error
		code, status    int
	}{
		"1.0 not offered":          {"GetExtendedAgentCard", "1.0", off, -32004, 200},
		"1.0 missing":              {"GetExtendedAgentCard", "1.0", missing, -32007, 200},
		"0.3 not offered":          {"agent/getAuthenticatedExtendedCard", "", off, -32007, 200},
		"0.3 missing":              {"agent/getAuthenticatedExtendedCard", "0.3", missing, -32007, 200},
		"0.2 not offered":          {"agent/getAuthenticatedExtendedCard", "0.2", off, -32004, 200},
		"0.2 missing":              {"agent/getAuthenticatedExtendedCard", "0.2", missing, -32004, 200},
		"without a credential":     {"GetExtendedAgentCard", "", &a2a.Error{Reason: a2a.ReasonUnauthenticated}, -32603, http.StatusUnauthorized},
		"0.3 without a credential": {"agent/getAuthenticatedExtendedCard", "", &a2a.Error{Reason: a2a.ReasonUnauthenticated}, -32603, http.StatusUnauthorized},
		"a failure":                {"agent/getAuthenticatedExtendedCard", "", errors.New("secret"), -32603, 200},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			x := newFixture(&fake{Err: test.err})
			w := x.post(t, call10(test.method, "{}"), "A2A-Version", test.version)
			if got := x.observed[0].Code; got != test.code || w.Code != test.status {
				t.Errorf("code = %d, status = %d: %s", got, w.Code, w.Body)
			}
			if w.Header().Get("Cache-Control") != "" {
				t.Error("an error is called a card")
			}
		})
	}
}
