// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSubjectOfAnOwner(t *testing.T) {
	account := Owner("system:serviceaccount:team:a#1")
	for owner, want := range map[Owner]*Subject{
		"":                                   nil,
		"apikey:shop":                        {Principal: "apikey:shop", Owner: "apikey:shop"},
		Owner("jwt:https://x#u").In("t"):     {Principal: "jwt:https://x#u", Owner: "jwt:https://x#u"},
		"jwt:https://x#u for v":              {Principal: "jwt:https://x#u for v", Owner: "jwt:https://x#u for v"},
		account:                              {Principal: "system:serviceaccount:team:a", Owner: account},
		account.For("jwt:https://x#u"):       {Principal: "jwt:https://x#u", Owner: account.For("jwt:https://x#u"), Actors: []string{"system:serviceaccount:team:a"}},
		account.For("u").In("t"):             {Principal: "u", Owner: account.For("u"), Actors: []string{"system:serviceaccount:team:a"}},
		account.For("jwt:https://x#u for v"): {Principal: "jwt:https://x#u for v", Owner: account.For("jwt:https://x#u for v"), Actors: []string{"system:serviceaccount:team:a"}},
		account.For("system:serviceaccount:b:c#2"): {
			Principal: "system:serviceaccount:b:c", Owner: account.For("system:serviceaccount:b:c#2"), Actors: []string{"system:serviceaccount:team:a"},
		},
		account.For("system:serviceaccount:b:c for jwt:https://x#u"): {
			Principal: "jwt:https://x#u", Owner: account.For("system:serviceaccount:b:c for jwt:https://x#u"),
			Actors: []string{"system:serviceaccount:team:a", "system:serviceaccount:b:c"},
		},
	} {
		if diff := cmp.Diff(want, SubjectOf(owner)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", owner, diff)
		}
	}
}

// TestNestedOwnersAreBounded checks that a long owner is replaced by its digest behind the agent that acts for it.
func TestNestedOwnersAreBounded(t *testing.T) {
	account := Owner("system:serviceaccount:team:a#1")
	long := Owner(strings.Repeat("x", MaxOwner-len(account)-len(subjectMark)))
	if got := account.For(long); got != account+" for "+long {
		t.Errorf("an owner of %d bytes: %q", MaxOwner, got)
	}
	seen := map[Owner]bool{}
	for _, subject := range []Owner{long + "1", long + "2", "system:serviceaccount:b:c#2 for " + long} {
		got := account.For(subject)
		if !strings.HasPrefix(string(got), string(account)+" for sha256:") || len(got) > MaxOwner || seen[got] || got != account.For(subject) {
			t.Errorf("owner %q", got)
		}
		seen[got] = true
	}
}

// TestCredentialIsInNoText prints, logs and encodes a credential in every way.
func TestCredentialIsInNoText(t *testing.T) {
	const secret = "canary"
	s := &Subject{Principal: "u", Owner: "u", Credential: secret}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		_, _ = fmt.Fprintf(&out, verb+" "+verb+" "+verb+"\n", s, *s, s.Credential)
	}
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
		slog.New(handler).Info("x", "a", s, "b", *s, "c", s.Credential, "d", SendRequest{Subject: s})
	}
	for _, value := range []any{s, *s, SendRequest{Owner: "o", Subject: s}, map[string]any{"c": s.Credential}} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = out.Write(text)
	}
	if text := out.String(); strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
		t.Errorf("a text has the credential: %s", text)
	}
}

func TestIsPersonOf(t *testing.T) {
	for owner, want := range map[Owner]bool{
		"jwt:https://x#u": true, "jwt[email]:https://x#u": true, "jwt[a]:b]:https://x#u": false,
		"jwt:https://y#u": false, "jwt[email]:https://y#u": false, "apikey:jwt:https://x#u": false, "system:serviceaccount:a:b for jwt:https://x#u": false,
	} {
		if got := owner.IsPersonOf("https://x"); got != want {
			t.Errorf("%s is a person of the issuer: %v, want %v", owner, got, want)
		}
	}
	if Owner("jwt:#u").IsPersonOf("") {
		t.Error("an owner is a person of no issuer")
	}
}
