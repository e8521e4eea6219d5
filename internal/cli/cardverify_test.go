// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
	"github.com/a2a-operator/a2a-operator/test/signingtest"
)

// signedServer signs a card, and serves the result of change for the text of the signed card. It serves the keys at
// path. jku is the address of the keys in the signatures; HOST in jku stands for the URL of the server. signedServer
// returns the URL of the server and the name of a file with the public key.
func signedServer(t *testing.T, jku, path string, change func(string) string) (address, keyFile string) {
	t.Helper()
	key := signingtest.NewKey(t)
	public, err := x509.MarshalPKIXPublicKey(key.Public().Key)
	if err != nil {
		t.Fatal(err)
	}
	keyFile = filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o600); err != nil {
		t.Fatal(err)
	}
	var text, jwks []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/agent-card.json":
			_, _ = w.Write([]byte(change(string(text))))
		case path:
			_, _ = w.Write(jwks)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	signer, err := signing.NewSigner([]*signing.Key{key}, strings.ReplaceAll(jku, "HOST", server.URL))
	if err != nil {
		t.Fatal(err)
	}
	c := &card.Card{
		Name: "Café", Description: "d", Version: "1", Interfaces: card.NewBase(server.URL).Interfaces(card.Bindings),
		Skills: []card.Skill{{ID: "s", Name: "S", Description: "d", Tags: []string{"t"}}}, DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
	}
	signatures, err := signer.Sign(c)
	if err != nil {
		t.Fatal(err)
	}
	if jwks, err = signer.JWKS(); err != nil {
		t.Fatal(err)
	}
	if text, err = card.Render(c, card.FormV10, signatures...); err != nil {
		t.Fatal(err)
	}
	return server.URL, keyFile
}

func TestCardVerifyReportsTheOutcome(t *testing.T) {
	same := func(text string) string { return text }
	renamed := func(text string) string { return strings.Replace(text, "Café", "Cafe", 1) }
	unsigned := func(text string) string { return strings.Replace(text, `"signatures"`, `"other"`, 1) }
	twice := func(text string) string {
		return strings.Replace(text, `"name":"Café"`, `"name":"Fake","name":"Café"`, 1)
	}
	more := func(text string) string { return strings.Replace(text, "{", `{"x-extra":1,`, 1) }
	const wellKnown = "/.well-known/jwks.json"
	for name, test := range map[string]struct {
		jku, path string
		change    func(string) string
		withKey   bool
		status    int
		want      string
	}{
		"published keys":                             {"", wellKnown, same, false, 0, "Outcome: verified\n"},
		"keys at jku":                                {"HOST/keys", "/keys", same, false, 0, "/keys\nCovers: the whole card"},
		"key of a file":                              {"", "/none", same, true, 0, "Algorithm: ES256\n"},
		"a changed card":                             {"", wellKnown, renamed, false, 1, "not verified (invalid)"},
		"a changed card, key of a file":              {"", wellKnown, renamed, true, 1, "not verified (invalid)"},
		"a name that is there twice":                 {"", wellKnown, twice, true, 1, "duplicate object member"},
		"a member that the signature does not cover": {"", "/none", more, true, 0, "Covers: the members that the card's version defines"},
		"no signature":                               {"", wellKnown, unsigned, false, 0, "Outcome: absent\n"},
		"no keys":                                    {"", "/none", same, false, 1, "not verified (unverifiable): no keys at"},
		"keys of another host":                       {"https://other.example/keys", wellKnown, same, false, 1, "another host than the one of the card"},
	} {
		t.Run(name, func(t *testing.T) {
			address, keyFile := signedServer(t, test.jku, test.path, test.change)
			args := []string{"card", "verify", "--url", address}
			if test.withKey {
				args = append(args, "--key", keyFile)
			}
			r := run(t, args...)
			if r.status != test.status || !strings.Contains(r.stdout+r.stderr, test.want) {
				t.Errorf("want status %d and %q, got %+v", test.status, test.want, r)
			}
			if test.status != 0 && !strings.Contains(r.stderr, "A2ACLI_ERR_CARD_INVALID") {
				t.Errorf("%+v", r)
			}
			shown := run(t, "card", "get", "--url", address).field("Signatures")
			verified := test.status == 0 && !test.withKey && test.want != "Outcome: absent\n"
			if strings.HasPrefix(shown, "verified by key") != verified {
				t.Errorf("card get shows the signatures as %q", shown)
			}
		})
	}
}

func TestCardVerifyRefusesTheKeyOfAnotherAgent(t *testing.T) {
	address, _ := signedServer(t, "", "/.well-known/jwks.json", func(text string) string { return text })
	_, other := signedServer(t, "", "/none", func(text string) string { return text })
	if r := run(t, "card", "verify", "--url", address, "--key", other); r.status != 1 || !strings.Contains(r.stderr, "invalid") {
		t.Errorf("%+v", r)
	}
	if r := run(t, "card", "verify", "--url", address, "--key", fmt.Sprint(other, ".none")); r.status != 2 {
		t.Errorf("%+v", r)
	}
}
