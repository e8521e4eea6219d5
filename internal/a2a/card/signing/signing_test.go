// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package signing_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
	"github.com/a2a-operator/a2a-operator/test/signingtest"
)

// exampleCard returns a card with all content that verifiers serialize differently: a
// requirement with scopes, one without, and text beyond ASCII.
func exampleCard() *card.Card {
	return &card.Card{
		Name: "Café 東京 😀", Description: "Says <it> & \"more\"\n\u2028", Version: "1.4.0",
		Provider:     &card.Provider{Organization: "Exämple", URL: "https://example.com"},
		Interfaces:   card.NewBase("https://a.example").Interfaces(card.Bindings),
		Capabilities: card.Capabilities{Streaming: true, ExtendedCard: true, Extensions: []card.Extension{{URI: "urn:x", Required: true, Params: card.RawObject(`{"b":1,"a":[true,"x"]}`)}}},
		Skills: []card.Skill{{
			ID: "chat", Name: "Chat", Description: "Talks", Tags: []string{"a", "b"}, Examples: []string{"Hi"},
			Security: []card.Requirement{{"oauth": {"write"}}},
		}},
		DefaultInputModes: []string{"text/plain", "image/png"}, DefaultOutputModes: []string{"text/plain"},
		SecuritySchemes: []card.SecurityScheme{
			{Name: "bearer", Type: card.SchemeHTTP, Scheme: "bearer", BearerFormat: "JWT", Description: "A token"},
			{Name: "key", Type: card.SchemeAPIKey, In: "header", ParameterName: "X-API-Key"},
			{Name: "oauth", Type: card.SchemeOAuth2, Scopes: []string{"read"}, Flow: &card.OAuthFlow{
				Type: card.FlowAuthorizationCode, AuthorizationURL: "https://id.example/authorize", TokenURL: "https://id.example/token",
				Scopes: map[string]string{"read": "Read", "write": "Write"}, PKCERequired: true,
			}},
		},
	}
}

func privateKeys(t *testing.T) map[string]crypto.Signer {
	t.Helper()
	p256, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	p384, err2 := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	_, ed, err3 := ed25519.GenerateKey(rand.Reader)
	rsa2048, err4 := rsa.GenerateKey(rand.Reader, 2048)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	return map[string]crypto.Signer{"ES256": p256, "ES384": p384, "EdDSA": ed, "RS256": rsa2048}
}

func encodePEM(t *testing.T, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// signedCard is the text of a signed card, and the public keys.
type signedCard struct {
	text []byte
	set  jose.JSONWebKeySet
	keys map[string]crypto.PublicKey
}

func sign(t *testing.T, c *card.Card, f card.Form, private ...crypto.Signer) signedCard {
	t.Helper()
	var keys []*signing.Key
	for _, p := range private {
		k, err := signing.ParseKey(encodePEM(t, p))
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	signer, err := signing.NewSigner(keys, "https://a.example/jwks.json")
	if err != nil {
		t.Fatal(err)
	}
	signatures, err := signer.Sign(c)
	if err != nil {
		t.Fatal(err)
	}
	out := signedCard{keys: map[string]crypto.PublicKey{}}
	if out.text, err = card.Render(c, f, signatures...); err != nil {
		t.Fatal(err)
	}
	set, err := signer.JWKS()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(set, &out.set); err != nil {
		t.Fatal(err)
	}
	for _, k := range out.set.Keys {
		if !k.IsPublic() {
			t.Fatal("the key set holds a private key")
		}
		out.keys[k.KeyID] = k.Key
	}
	return out
}

// TestWire19_VerifiersOfTheField verifies signed cards with the models of all official
// verifiers.
func TestWire19_VerifiersOfTheField(t *testing.T) {
	plain := exampleCard()
	plain.Name, plain.Description, plain.Provider = "Plain", "ASCII only", nil
	plain.SecuritySchemes = plain.SecuritySchemes[:1]
	plain.Skills[0].Security = nil
	least := &card.Card{
		Name: "n", Description: "d", Version: "0", Interfaces: card.NewBase("http://a").Interfaces(nil),
		Skills: []card.Skill{{ID: "i", Name: "n", Description: "d", Tags: []string{"t"}}},
	}
	verifiers := map[string]struct {
		read  verifierModel
		forms []card.Form
	}{
		"a2a-js":                   {modelJavaScript, []card.Form{card.FormUnion, card.FormV10}},
		"a2a-python":               {modelPython, []card.Form{card.FormUnion, card.FormV10}},
		"1.0 exactly as specified": {modelSpecification, []card.Form{card.FormUnion, card.FormV10}},
		"a2a-python 0.3":           {modelPythonV03, []card.Form{card.FormUnion, card.FormV03}},
		"0.3 exactly as specified": {modelSpecificationV03, []card.Form{card.FormUnion, card.FormV03}},
	}
	for algorithm, private := range privateKeys(t) {
		for what, c := range map[string]*card.Card{"example": exampleCard(), "plain": plain, "least": least, "extended": exampleCard().Extended()} {
			for verifier, v := range verifiers {
				for _, form := range v.forms {
					s := sign(t, c, form, private)
					if !verifies(t, s.text, v.read, s.keys) {
						t.Errorf("%s refuses form %d of %s signed with %s:\n%s\nreads %s", verifier, form, what, algorithm, s.text, v.read(t, parse(t, s.text)))
					}
				}
			}
		}
	}
}

func TestVerify(t *testing.T) {
	for algorithm, private := range privateKeys(t) {
		for _, form := range []card.Form{card.FormUnion, card.FormV03, card.FormV10} {
			s := sign(t, exampleCard(), form, private)
			for _, reads := range []card.Form{card.FormV03, card.FormV10} {
				if form != card.FormUnion && form != reads {
					continue
				}
				if err := signingtest.Verify(s.text, reads, s.set); err != nil {
					t.Errorf("Verify(form %d as %d) with %s = %v", form, reads, algorithm, err)
				}
			}
		}
	}
	private := privateKeys(t)
	s := sign(t, exampleCard(), card.FormV10, private["ES256"])
	other := sign(t, exampleCard(), card.FormV10, privateKeys(t)["ES256"])
	if err := signingtest.Verify(s.text, card.FormV10, other.set); !errors.Is(err, signingtest.ErrInvalid) {
		t.Errorf("Verify() with another key = %v", err)
	}
	other.set.Keys[0].KeyID = s.set.Keys[0].KeyID
	if err := signingtest.Verify(s.text, card.FormV10, other.set); !errors.Is(err, signingtest.ErrInvalid) {
		t.Errorf("Verify() with another key of the same id = %v", err)
	}
	unsigned, _ := card.Render(exampleCard(), card.FormV10)
	if err := signingtest.Verify(unsigned, card.FormV10, s.set); !errors.Is(err, signingtest.ErrUnsigned) {
		t.Errorf("Verify() of an unsigned card = %v", err)
	}
	for name, text := range map[string]string{
		"no JSON": "{", "no object": "[]", "a member twice": strings.Replace(string(s.text), `"version"`, `"version":"9","version"`, 1),
		"data behind": string(s.text) + "{}",
	} {
		if err := signingtest.Verify([]byte(text), card.FormV10, s.set); err == nil {
			t.Errorf("Verify() takes a card with %s", name)
		}
	}
}

// TestWire19_TamperedCards checks that each change of one value or member invalidates the
// signatures.
func TestWire19_TamperedCards(t *testing.T) {
	private := privateKeys(t)["ES256"]
	for name, test := range map[string]struct {
		form, reads card.Form
		verifiers   []verifierModel
		skip        string
	}{
		"1.0": {card.FormV10, card.FormV10, []verifierModel{modelSpecification}, ""},
		// The JSON Schema of 0.3 has neither the wrappers of the proto nor pkceRequired, which
		// is new in 1.0.
		"0.3": {card.FormV03, card.FormV03, []verifierModel{modelSpecificationV03}, "SecurityScheme pkceRequired"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sign(t, exampleCard(), test.form, private)
			whole := parse(t, s.text)
			count := 0
			for change := range mutations(whole, "") {
				if slices.ContainsFunc(strings.Fields(test.skip), func(s string) bool { return strings.Contains(change, s) }) ||
					strings.Contains(change, ".signatures") {
					continue
				}
				count++
				text, err := json.Marshal(whole)
				if err != nil {
					t.Fatal(err)
				}
				if err := signingtest.Verify(text, test.reads, s.set); !errors.Is(err, signingtest.ErrInvalid) {
					t.Errorf("Verify() of a card with %s = %v", change, err)
				}
			}
			text, _ := json.Marshal(whole)
			if err := signingtest.Verify(text, test.reads, s.set); err != nil {
				t.Errorf("the card does not verify after all changes were undone: %v", err)
			}
			for _, read := range test.verifiers {
				if !verifies(t, text, read, s.keys) {
					t.Error("an independent verifier refuses what is left")
				}
			}
			if count < 40 {
				t.Errorf("only %d mutations", count)
			}
			t.Logf("%d mutations", count)
		})
	}
}

// mutations returns an iterator over changes of a value. It changes the value at one
// place, yields a description of the change, and reverts the change before the next one.
func mutations(value any, path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		switch v := value.(type) {
		case map[string]any:
			for _, name := range sortedNames(v) {
				member := v[name]
				delete(v, name)
				// The removal of an empty list is no mutation, because an absent list has the same
				// meaning.
				if l, isList := member.([]any); (!isList || len(l) > 0) && !yield(path+"."+name+" removed") {
					return
				}
				switch m := member.(type) {
				case string:
					v[name] = m + "x"
				case bool:
					v[name] = !m
				case float64:
					v[name] = m + 1
				default:
					v[name] = "x"
				}
				if !yield(path + "." + name + " changed") {
					return
				}
				v[name] = member
				for change := range mutations(member, path+"."+name) {
					if !yield(change) {
						return
					}
				}
			}
		case []any:
			if len(v) > 1 {
				v[0], v[1] = v[1], v[0]
				if !yield(path + " swapped") {
					return
				}
				v[0], v[1] = v[1], v[0]
			}
			for i := range v {
				element := v[i]
				v[i] = "changed"
				if !yield(fmt.Sprintf("%s[%d] changed", path, i)) {
					return
				}
				v[i] = element
				for change := range mutations(element, fmt.Sprintf("%s[%d]", path, i)) {
					if !yield(change) {
						return
					}
				}
			}
		}
	}
}

func sortedNames(m map[string]any) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestSignaturesAreDeterministic signs a card twice. Equal signatures let all replicas
// serve the same ETag.
func TestSignaturesAreDeterministic(t *testing.T) {
	for algorithm, private := range privateKeys(t) {
		first := sign(t, exampleCard(), card.FormUnion, private)
		if second := sign(t, exampleCard(), card.FormUnion, private); !bytes.Equal(first.text, second.text) {
			t.Errorf("two signatures with one %s key differ", algorithm)
		}
	}
}

// TestWire19_Rotation signs with an old and a new key. A verifier that trusts only one of
// them accepts the card.
func TestWire19_Rotation(t *testing.T) {
	keys := privateKeys(t)
	s := sign(t, exampleCard(), card.FormUnion, keys["ES256"], keys["RS256"], keys["ES256"])
	if len(s.set.Keys) != 2 || s.set.Keys[0].Algorithm != "ES256" {
		t.Fatalf("key set is %+v", s.set)
	}
	for _, only := range s.set.Keys {
		if err := signingtest.Verify(s.text, card.FormV10, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{only}}); err != nil {
			t.Errorf("Verify() with the %s key alone = %v", only.Algorithm, err)
		}
	}
}

func TestParseKey(t *testing.T) {
	keys := privateKeys(t)
	ec, err := x509.MarshalECPrivateKey(keys["ES256"].(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	named, err := json.Marshal(jose.JSONWebKey{Key: keys["EdDSA"], KeyID: "2026-11"})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		text []byte
		id   string
	}{
		"PKCS #8": {text: encodePEM(t, keys["ES384"])},
		"SEC 1":   {text: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: ec})},
		"PKCS #1": {text: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(keys["RS256"].(*rsa.PrivateKey))})},
		"JWK":     {text: named, id: "2026-11"},
	} {
		k, err := signing.ParseKey(test.text)
		if err != nil {
			t.Errorf("ParseKey(%s) = %v", name, err)
			continue
		}
		if id := k.Public().KeyID; test.id != "" && id != test.id || test.id == "" && len(id) != 43 {
			t.Errorf("ParseKey(%s) has the id %q", name, id)
		}
	}
}

func TestParseKeyRejectsUnsuitableKeys(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Skip("this build makes no RSA key of 1024 bits")
	}
	p521, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(p521.Public())
	if err != nil {
		t.Fatal(err)
	}
	keys, others := privateKeys(t), privateKeys(t)
	halves := *keys["ES256"].(*ecdsa.PrivateKey)
	halves.PublicKey = others["ES256"].(*ecdsa.PrivateKey).PublicKey
	mixedEC, err := json.Marshal(jose.JSONWebKey{Key: &halves})
	if err != nil {
		t.Fatal(err)
	}
	seed, public25519 := keys["EdDSA"].(ed25519.PrivateKey).Seed(), others["EdDSA"].(ed25519.PrivateKey)[ed25519.SeedSize:]
	mixedEdDSA, err := json.Marshal(jose.JSONWebKey{Key: ed25519.PrivateKey(append(seed, public25519...))})
	if err != nil {
		t.Fatal(err)
	}
	const secret = "c2VjcmV0LXRoYXQtbXVzdC1zdGF5"
	for name, text := range map[string][]byte{
		"nothing":                                nil,
		"text":                                   []byte(secret),
		"small RSA":                              encodePEM(t, small),
		"curve":                                  encodePEM(t, p521),
		"public":                                 pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
		"broken":                                 []byte("-----BEGIN PRIVATE KEY-----\n" + secret + "\n-----END PRIVATE KEY-----\n"),
		"with password":                          pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte(secret)}),
		"symmetric JWK":                          []byte(`{"kty":"oct","k":"` + secret + `"}`),
		"JWK of public":                          []byte(`{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`),
		"broken JWK":                             []byte(`{"kty":"EC","d":"` + secret + `"}`),
		"list for a JWK":                         []byte(`["` + secret + `"]`),
		"EC key of two halves that do not match": mixedEC,
		"EdDSA key of two halves that do not match": mixedEdDSA,
	} {
		_, err := signing.ParseKey(text)
		if err == nil {
			t.Errorf("ParseKey(%s) takes it", name)
		} else if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "secret") {
			t.Errorf("ParseKey(%s) quotes the key: %v", name, err)
		}
	}
}

// TestVerifyAcceptsTheSignaturesOfTheCard checks, for each algorithm and for two keys, that
// Verify accepts the signatures of the card, and that it refuses signatures of another card
// and sets of keys or signatures beyond its limits.
func TestVerifyAcceptsTheSignaturesOfTheCard(t *testing.T) {
	private := privateKeys(t)
	changed := exampleCard()
	changed.Skills[0].Description = "Talks more"
	check := func(name string, keys ...crypto.Signer) {
		t.Helper()
		signed := sign(t, exampleCard(), card.FormUnion, keys...)
		var read struct{ Signatures []card.Signature }
		jwks, err := json.Marshal(signed.set)
		if err = errors.Join(err, json.Unmarshal(signed.text, &read)); err != nil {
			t.Fatal(err)
		}
		if err := signing.Verify(exampleCard(), read.Signatures, jwks); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if signing.Verify(changed, read.Signatures, jwks) == nil {
			t.Errorf("%s: the signatures of another card were accepted", name)
		}
		if signing.Verify(exampleCard(), read.Signatures, []byte(`{"keys":[]}`)) == nil || signing.Verify(exampleCard(), nil, jwks) == nil {
			t.Errorf("%s: no keys or no signatures were accepted", name)
		}
		many := signed.set
		for len(many.Keys) < 3 {
			many.Keys = append(many.Keys, jose.JSONWebKey{Key: private["EdDSA"].Public(), KeyID: fmt.Sprint("other-", len(many.Keys)), Algorithm: string(jose.EdDSA)})
		}
		twice := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{signed.set.Keys[0], signed.set.Keys[0]}}
		for what, set := range map[string]jose.JSONWebKeySet{"three keys": many, "two keys with one id": twice} {
			jwks, err := json.Marshal(set)
			if err != nil {
				t.Fatal(err)
			}
			if err := signing.Verify(exampleCard(), read.Signatures[:1], jwks); err == nil || !strings.Contains(err.Error(), "key set") {
				t.Errorf("%s: %s were accepted: %v", name, what, err)
			}
		}
		if signing.Verify(exampleCard(), slices.Repeat(read.Signatures, 20), jwks) == nil {
			t.Errorf("%s: more than %d signatures were accepted", name, signing.MaxSignatures)
		}
	}
	for name, key := range private {
		check(name, key)
	}
	check("two keys", private["ES256"], private["RS256"])
}

// BenchmarkVerify measures the verification of a card with the signatures of one key.
func BenchmarkVerify(b *testing.B) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		b.Fatal(err)
	}
	key, err := signing.ParseKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err != nil {
		b.Fatal(err)
	}
	signer, err := signing.NewSigner([]*signing.Key{key}, "")
	if err != nil {
		b.Fatal(err)
	}
	jwks, err := signer.JWKS()
	if err != nil {
		b.Fatal(err)
	}
	signatures, err := signer.Sign(exampleCard())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := signing.Verify(exampleCard(), signatures, jwks); err != nil {
			b.Fatal(err)
		}
	}
}
