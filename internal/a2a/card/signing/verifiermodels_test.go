// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package signing_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// The models below implement the algorithms of the official verifiers independently of
// the package under test. They use the generated messages of the proto, and check
// signatures with the standard library.

// verifierModel returns the text over which a verifier checks the signature of a card.
type verifierModel func(t *testing.T, card map[string]any) string

// modelJavaScript models the official JavaScript verifier. It keeps only the members of
// the 1.0 proto, removes empty members, and canonicalizes by RFC 8785.
func modelJavaScript(t *testing.T, card map[string]any) string {
	t.Helper()
	return canonicalJSON(withoutEmpty(throughProto(t, card)), false)
}

// modelPython models the official Python verifier. It renames the members of 0.3 to their
// names in 1.0 before it applies the algorithm of modelJavaScript, and escapes characters
// beyond ASCII.
func modelPython(t *testing.T, card map[string]any) string {
	t.Helper()
	for _, holder := range append(list(card["skills"]), card) {
		if security, ok := holder["security"].([]any); ok && holder["securityRequirements"] == nil {
			var wrapped []any
			for _, requirement := range security {
				schemes := map[string]any{}
				for name, scopes := range requirement.(map[string]any) {
					schemes[name] = map[string]any{"list": scopes}
				}
				wrapped = append(wrapped, map[string]any{"schemes": schemes})
			}
			holder["securityRequirements"] = wrapped
		}
		delete(holder, "security")
		// The ProtoJSON decoder of this verifier uses the later one of two names of a field.
		delete(holder, "security_requirements")
	}
	schemes, _ := card["securitySchemes"].(map[string]any)
	for name, s := range schemes {
		scheme := s.(map[string]any)
		kind, _ := scheme["type"].(string)
		if kind == "" {
			continue
		}
		if in, ok := scheme["in"]; ok {
			scheme["location"] = in
		}
		schemes[name] = map[string]any{map[string]string{
			"apiKey": "apiKeySecurityScheme", "http": "httpAuthSecurityScheme", "oauth2": "oauth2SecurityScheme",
			"openIdConnect": "openIdConnectSecurityScheme", "mutualTLS": "mtlsSecurityScheme",
		}[kind]: scheme}
	}
	return canonicalJSON(withoutEmpty(throughProto(t, card)), true)
}

// modelSpecification models section 8.4.1 of 1.0: ProtoJSON with the required members. It
// accepts only cards without empty required lists, because the generated code omits these
// lists.
func modelSpecification(t *testing.T, card map[string]any) string {
	t.Helper()
	return canonicalJSON(throughProto(t, card), false)
}

// modelPythonV03 models the Python verifier of 0.3. It keeps only the members of the 0.3
// models, and removes default values.
func modelPythonV03(t *testing.T, card map[string]any) string {
	t.Helper()
	kept := keepSchemaMembers(t, card)
	if kept["protocolVersion"] == "0.3.0" {
		delete(kept, "protocolVersion")
	}
	if kept["preferredTransport"] == "JSONRPC" {
		delete(kept, "preferredTransport")
	}
	schemes, _ := kept["securitySchemes"].(map[string]any)
	for _, scheme := range schemes {
		delete(scheme.(map[string]any), "type")
	}
	return canonicalJSON(withoutEmpty(kept), true)
}

// modelSpecificationV03 models the 0.3 specification: the card with the members of its
// JSON Schema.
func modelSpecificationV03(t *testing.T, card map[string]any) string {
	t.Helper()
	return canonicalJSON(keepSchemaMembers(t, card), false)
}

func throughProto(t *testing.T, card map[string]any) map[string]any {
	t.Helper()
	delete(card, "signatures")
	text, err := json.Marshal(card)
	if err != nil {
		t.Fatal(err)
	}
	var message pb.AgentCard
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, &message); err != nil {
		t.Fatal(err)
	}
	if text, err = protojson.Marshal(&message); err != nil {
		t.Fatal(err)
	}
	return parse(t, text)
}

// keepSchemaMembers returns a copy of a card with only the members in the JSON Schema of
// 0.3.
func keepSchemaMembers(t *testing.T, card map[string]any) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "test", "spec", "testdata", "v0.3.0", "a2a.json"))
	if err != nil {
		t.Fatal(err)
	}
	definitions := parse(t, text)["definitions"].(map[string]any)
	delete(card, "signatures")
	return project(definitions, map[string]any{"$ref": "#/definitions/AgentCard"}, card).(map[string]any)
}

func project(definitions, schema map[string]any, value any) any {
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/definitions/")
		schema = definitions[name].(map[string]any)
	}
	if choices, ok := schema["anyOf"].([]any); ok {
		for _, choice := range choices {
			name := strings.TrimPrefix(choice.(map[string]any)["$ref"].(string), "#/definitions/")
			properties := definitions[name].(map[string]any)["properties"].(map[string]any)
			if properties["type"].(map[string]any)["const"] == value.(map[string]any)["type"] {
				return project(definitions, choice.(map[string]any), value)
			}
		}
		panic(fmt.Sprintf("no choice for %v", value))
	}
	switch v := value.(type) {
	case map[string]any:
		properties, closed := schema["properties"].(map[string]any)
		each, _ := schema["additionalProperties"].(map[string]any)
		out := map[string]any{}
		for name, member := range v {
			if property, ok := properties[name].(map[string]any); ok {
				out[name] = project(definitions, property, member)
			} else if !closed {
				out[name] = project(definitions, each, member)
			}
		}
		return out
	case []any:
		items, _ := schema["items"].(map[string]any)
		out := make([]any, len(v))
		for i := range v {
			out[i] = project(definitions, items, v[i])
		}
		return out
	}
	return value
}

func parse(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func list(value any) (out []map[string]any) {
	all, _ := value.([]any)
	for _, each := range all {
		out = append(out, each.(map[string]any))
	}
	return out
}

func withoutEmpty(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			if kept := withoutEmpty(member); kept != nil {
				out[name] = kept
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		var out []any
		for _, element := range v {
			if kept := withoutEmpty(element); kept != nil {
				out = append(out, kept)
			}
		}
		if out == nil {
			return nil
		}
		return out
	case string:
		if v == "" {
			return nil
		}
	}
	return value
}

// canonicalJSON encodes a value with sorted members and without white space.
func canonicalJSON(value any, escape bool) string {
	switch v := value.(type) {
	case map[string]any:
		var names []string
		for name := range v {
			names = append(names, name)
		}
		slices.SortFunc(names, func(a, b string) int {
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		})
		var members []string
		for _, name := range names {
			members = append(members, canonicalJSON(name, escape)+":"+canonicalJSON(v[name], escape))
		}
		return "{" + strings.Join(members, ",") + "}"
	case []any:
		var elements []string
		for _, element := range v {
			elements = append(elements, canonicalJSON(element, escape))
		}
		return "[" + strings.Join(elements, ",") + "]"
	case string:
		var out strings.Builder
		out.WriteByte('"')
		for _, unit := range utf16.Encode([]rune(v)) {
			switch {
			case unit == '"' || unit == '\\':
				out.WriteByte('\\')
				out.WriteByte(byte(unit))
			case unit == '\n':
				out.WriteString(`\n`)
			case unit == '\t':
				out.WriteString(`\t`)
			case unit < 0x20, escape && unit > 0x7E:
				fmt.Fprintf(&out, `\u%04x`, unit)
			case unit > 0x7E:
				out.WriteString("\x00") // restore replaces this mark
			default:
				out.WriteByte(byte(unit))
			}
		}
		out.WriteByte('"')
		return restore(out.String(), v)
	default:
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(text)
	}
}

// restore replaces the marks by the characters beyond ASCII in original. There is one
// mark for each UTF-16 unit.
func restore(marked, original string) string {
	for _, r := range original {
		if r > 0x7E {
			marked = strings.Replace(marked, strings.Repeat("\x00", utf16.RuneLen(r)), string(r), 1)
		}
	}
	return marked
}

// verifies reports whether a key of the JWK set verifies one of the card's signatures over
// the text that read returns.
func verifies(t *testing.T, text []byte, read verifierModel, keys map[string]crypto.PublicKey) bool {
	t.Helper()
	signatures := list(parse(t, text)["signatures"])
	payload := base64.RawURLEncoding.EncodeToString([]byte(read(t, parse(t, text))))
	return slices.ContainsFunc(signatures, func(s map[string]any) bool {
		protected := s["protected"].(string)
		head, err := base64.RawURLEncoding.DecodeString(protected)
		if err != nil {
			return false
		}
		header := parse(t, head)
		if header["typ"] != "JOSE" {
			t.Errorf("protected header %s has no typ", head)
		}
		signature, err := base64.RawURLEncoding.DecodeString(s["signature"].(string))
		if err != nil {
			return false
		}
		id, _ := header["kid"].(string)
		algorithm, _ := header["alg"].(string)
		return valid(algorithm, keys[id], []byte(protected+"."+payload), signature)
	})
}

func valid(algorithm string, key crypto.PublicKey, input, signature []byte) bool {
	hash := crypto.SHA256
	if algorithm == "ES384" {
		hash = crypto.SHA384
	}
	h := hash.New()
	h.Write(input)
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		size := map[string]int{"ES256": 32, "ES384": 48}[algorithm]
		if size == 0 || len(signature) != 2*size {
			return false
		}
		return ecdsa.Verify(key, h.Sum(nil), new(big.Int).SetBytes(signature[:size]), new(big.Int).SetBytes(signature[size:]))
	case ed25519.PublicKey:
		return algorithm == "EdDSA" && ed25519.Verify(key, input, signature)
	case *rsa.PublicKey:
		return algorithm == "RS256" && rsa.VerifyPKCS1v15(key, hash, h.Sum(nil), signature) == nil
	}
	return false
}
