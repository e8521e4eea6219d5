// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
)

// TestNotificationIsSigned checks what a receiver verifies: the body, the time and for whom it is. The signature here is the text of the
// claims.
func TestNotificationIsSigned(t *testing.T) {
	sign := func(claims any) (string, error) {
		text, err := json.Marshal(claims)
		return string(text), err
	}
	for name, test := range map[string]struct {
		config        a2a.PushConfig
		authorization bool
	}{
		"no credentials":           {a2a.PushConfig{Dialect: a2a.DialectV10}, false},
		"a token of the client":    {a2a.PushConfig{Dialect: a2a.DialectV03, Scheme: "Bearer", Credentials: "abc"}, false},
		"a bearer token, none set": {a2a.PushConfig{Dialect: a2a.DialectV10, Scheme: "bearer"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, push.Options{Sign: sign}, func(t *testing.T, b *fixture) {
				task := b.task("t1")
				task.config(test.config)
				task.setState(a2a.StateCompleted)
				all := b.takeReceived()
				if len(all) != 1 {
					t.Fatalf("received %d, want 1", len(all))
				}
				got := all[0].header.Get("X-A2A-Notification-Signature")
				digest := sha256.Sum256([]byte(all[0].body))
				target, err := url.Parse(all[0].url)
				if err != nil {
					t.Fatal(err)
				}
				want := fmt.Sprintf(`{"aud":%q,"iat":%d,"exp":%d,"jti":%q,"request_body_sha256":%q}`, target.Scheme+"://"+target.Host,
					time.Now().Unix(), time.Now().Add(5*time.Minute).Unix(), all[0].header.Get("X-A2A-Event-Id"), hex.EncodeToString(digest[:]))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("claims (-want +got):\n%s", diff)
				}
				if isAuthorized := all[0].header.Get("Authorization") == "Bearer "+got; isAuthorized != test.authorization {
					t.Errorf("Authorization: %q", all[0].header.Get("Authorization"))
				}
			})
		})
	}
}

// TestUnsignedNotificationWaits checks that a notification whose signature fails is sent later, and never without one.
func TestUnsignedNotificationWaits(t *testing.T) {
	failures := 2
	sign := func(any) (string, error) {
		if failures > 0 {
			failures--
			return "", errors.New("no key now")
		}
		return "signed", nil
	}
	withFixture(t, push.Options{Sign: sign}, func(t *testing.T, b *fixture) {
		task := b.task("t1")
		task.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		task.setState(a2a.StateCompleted)
		time.Sleep(time.Minute)
		all := b.takeReceived()
		if len(all) != 1 || all[0].header.Get("X-A2A-Notification-Signature") != "signed" {
			t.Errorf("received %v, want one signed notification", all)
		}
	})
}
