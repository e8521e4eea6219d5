// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// TestSignedTexts checks each text over which a signer may have computed the signature of a
// card.
func TestSignedTexts(t *testing.T) {
	c := &card.Card{
		Name: "Café 😀", Description: "d", Version: "1",
		Interfaces:      []card.Interface{{URL: "http://a/", Binding: card.JSONRPC, ProtocolVersion: "0.3"}},
		Skills:          []card.Skill{{ID: "i", Name: "n", Description: "<d>", Tags: []string{"t"}}},
		SecuritySchemes: []card.SecurityScheme{{Name: "b", Type: card.SchemeHTTP, Scheme: "bearer"}},
	}
	const interfaces = `"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"0.3","url":"http://a/"}]`
	const modes = `"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"d",`
	const skills = `"skills":[{"description":"<d>","id":"i","name":"n","tags":["t"]}],`
	const wrapped = `"securitySchemes":{"b":{"httpAuthSecurityScheme":{"scheme":"bearer"}}},`
	const additional = `{"additionalInterfaces":[{"transport":"JSONRPC","url":"http://a/"}],`
	want := []string{
		// This text has no empty members. It lacks the requirement, which has no scopes, and
		// the capabilities, which are all false.
		`{` + modes + `"name":"Café 😀",` + wrapped + skills + interfaces + `,"version":"1"}`,
		`{"capabilities":{},` + modes + `"name":"Café 😀","securityRequirements":[{"schemes":{"b":{}}}],` + wrapped + skills + interfaces + `,"version":"1"}`,
		`{` + modes + `"name":"Caf\u00e9 \ud83d\ude00",` + wrapped + skills + interfaces + `,"version":"1"}`,
		`{"capabilities":{},` + modes + `"name":"Café 😀",` + wrapped + skills + interfaces + `,"version":"1"}`,
		additional + `"capabilities":{},` + modes + `"name":"Café 😀","preferredTransport":"JSONRPC","protocolVersion":"0.3.0","security":[{"b":[]}],` +
			`"securitySchemes":{"b":{"scheme":"bearer","type":"http"}},` + skills + `"url":"http://a/","version":"1"}`,
		additional + modes + `"name":"Caf\u00e9 \ud83d\ude00",` + `"securitySchemes":{"b":{"scheme":"bearer"}},` + skills + `"url":"http://a/","version":"1"}`,
	}
	readings, err := card.SignedTexts(c)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range readings {
		got = append(got, string(r))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("SignedTexts() (-want +got):\n%s", diff)
	}
}
