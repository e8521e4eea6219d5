// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package notification

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
	"github.com/a2a-operator/a2a-operator/test/signingtest"
)

func TestVerify(t *testing.T) {
	const origin, body = "https://hooks.example.com", `{"id":"t1"}`
	now := time.Now()
	agent := signingtest.NewKey(t)
	other := signingtest.NewKey(t)
	keys := &jose.JSONWebKeySet{Keys: []jose.JSONWebKey{*agent.Public()}}
	digest := sha256.Sum256([]byte(body))
	for name, test := range map[string]struct {
		claims map[string]any
		key    *signing.Key
		body   string
		change func(http.Header)
		want   string
	}{
		"valid":               {},
		"valid for a list":    {claims: map[string]any{"aud": []string{"https://other.example.com", origin}}},
		"clocks differ":       {claims: map[string]any{"iat": now.Add(20 * time.Second).Unix(), "exp": now.Add(-20 * time.Second).Unix()}},
		"no signature":        {change: func(h http.Header) { h.Del(HeaderSignature) }, want: "there is no signature"},
		"not a JWT":           {change: func(h http.Header) { h.Set(HeaderSignature, "x.y") }, want: "not a JWT"},
		"no algorithm":        {change: func(h http.Header) { h.Set(HeaderSignature, "eyJhbGciOiJub25lIn0.e30.") }, want: "not a JWT of an accepted algorithm"},
		"another key":         {key: other, want: ErrNoKey.Error()},
		"another origin":      {claims: map[string]any{"aud": "https://other.example.com"}, want: "is for [\"https://other.example.com\"], and not for " + origin},
		"no origin":           {claims: map[string]any{"aud": nil}, want: "and not for " + origin},
		"expired":             {claims: map[string]any{"exp": now.Add(-time.Minute).Unix()}, want: "which is past"},
		"from the future":     {claims: map[string]any{"iat": now.Add(time.Hour).Unix(), "nbf": now.Add(time.Hour).Unix()}, want: "not valid yet"},
		"no end":              {claims: map[string]any{"exp": nil}, want: "has no end"},
		"another body":        {body: `{"id":"t2"}`, want: "the body was changed"},
		"no digest":           {claims: map[string]any{"request_body_sha256": nil}, want: "the body was changed"},
		"another id of event": {change: func(h http.Header) { h.Set(HeaderEvent, "t1:2") }, want: "X-A2A-Event-Id was changed"},
		"a part of the signature": {
			change: func(h http.Header) { h.Set(HeaderSignature, h.Get(HeaderSignature)[:len(h.Get(HeaderSignature))-8]) }, want: "not that of the agent's key",
		},
	} {
		t.Run(name, func(t *testing.T) {
			claims := map[string]any{
				"aud": origin, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "jti": "t1:1", "request_body_sha256": hex.EncodeToString(digest[:]),
			}
			maps.Copy(claims, test.claims)
			maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
			key := agent
			if test.key != nil {
				key = test.key
			}
			signature, err := key.Token(claims)
			if err != nil {
				t.Fatal(err)
			}
			header := http.Header{}
			header.Set(HeaderSignature, signature)
			header.Set(HeaderEvent, "t1:1")
			if test.change != nil {
				test.change(header)
			}
			sent := body
			if test.body != "" {
				sent = test.body
			}
			checkBody, err := Verify(header, keys, origin, now)
			if err == nil {
				err = checkBody([]byte(sent))
			}
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("Verify() = %v, want %q", err, test.want)
			}
		})
	}
}

func TestSummarize(t *testing.T) {
	for body, want := range map[string]Summary{
		`{"kind":"task","id":"t1","status":{"state":"completed"}}`:                               {Task: "t1", State: "completed", Kind: "task"},
		`{"task":{"id":"t1","status":{"state":"TASK_STATE_WORKING"}}}`:                           {Task: "t1", State: "TASK_STATE_WORKING", Kind: "task"},
		`{"statusUpdate":{"taskId":"t1","status":{"state":"TASK_STATE_COMPLETED"}}}`:             {Task: "t1", State: "TASK_STATE_COMPLETED", Kind: "statusUpdate"},
		`{"artifactUpdate":{"taskId":"t1","artifact":{"artifactId":"a","parts":[]}}}`:            {Task: "t1", Kind: "artifactUpdate"},
		`{"message":{"messageId":"m","taskId":"t1","role":"ROLE_AGENT","parts":[{"text":"x"}]}}`: {Task: "t1", Kind: "message"},
		`<html>`: {},
	} {
		if diff := cmp.Diff(want, Summarize([]byte(body))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}
