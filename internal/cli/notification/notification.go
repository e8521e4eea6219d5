// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package notification verifies and reads push notifications of agents, as a receiver does (docs/how-to/calling.md,
// "Push notifications").
package notification

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// HeaderSignature is the header with the signature of a notification, and HeaderEvent the one with its id.
const (
	HeaderSignature = "X-A2A-Notification-Signature"
	HeaderEvent     = "X-A2A-Event-Id"
)

// leeway is the difference between the clocks of the sender and the receiver that Verify accepts.
const leeway = 30 * time.Second

// algorithms are those of the keys with which agents sign.
var algorithms = []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.EdDSA, jose.RS256}

// ErrNoKey is the error for a signature whose key is not in the set: the agent may have rotated it.
var ErrNoKey = errors.New("no key of the agent has the id of the signature")

// Verify checks the signature of a request that was sent to an origin, such as https://hooks.example.com, without its body. checkBody checks
// the body. Their errors say what is wrong with the request.
func Verify(header http.Header, keys *jose.JSONWebKeySet, origin string, now time.Time) (checkBody func(body []byte) error, err error) {
	text := header.Get(HeaderSignature)
	if text == "" {
		return nil, errors.New("there is no signature")
	}
	token, err := jwt.ParseSigned(text, algorithms)
	if err != nil {
		return nil, errors.New("the signature is not a JWT of an accepted algorithm")
	}
	found := keys.Key(token.Headers[0].KeyID)
	if len(found) == 0 {
		return nil, ErrNoKey
	}
	var claims struct {
		jwt.Claims
		Body string `json:"request_body_sha256"`
	}
	err = token.Claims(found[0].Key, &claims)
	if err != nil {
		return nil, errors.New("the signature is not that of the agent's key")
	}
	switch {
	case claims.Expiry == nil:
		return nil, errors.New("the signature has no end")
	case !claims.Audience.Contains(origin):
		return nil, fmt.Errorf("the signature is for %q, and not for %s", []string(claims.Audience), origin)
	case claims.ValidateWithLeeway(jwt.Expected{Time: now}, leeway) != nil:
		return nil, fmt.Errorf("the signature is valid until %s, which is past, or not valid yet", claims.Expiry.Time().UTC().Format(time.RFC3339))
	case claims.ID != header.Get(HeaderEvent):
		return nil, fmt.Errorf("the header %s was changed after it was signed", HeaderEvent)
	}
	return func(body []byte) error {
		digest := sha256.Sum256(body)
		if subtle.ConstantTimeCompare([]byte(claims.Body), []byte(hex.EncodeToString(digest[:]))) == 0 {
			return errors.New("the body was changed after it was signed")
		}
		return nil
	}, nil
}

// Summary is what a notification is about. Its texts are "" if the body does not have them.
type Summary struct {
	Task  string `json:"task,omitempty"`
	State string `json:"state,omitempty"`
	// Kind is task, statusUpdate, artifactUpdate or message.
	Kind string `json:"kind,omitempty"`
}

type status struct {
	State string `json:"state"`
}

type update struct {
	TaskID string `json:"taskId"`
	Status status `json:"status"`
}

// task is the body of a notification of A2A 0.1 to 0.3.
type task struct {
	ID     string `json:"id"`
	Status status `json:"status"`
}

// Summarize reads the body of a notification of any version of A2A.
func Summarize(body []byte) Summary {
	var content struct {
		task
		Task           *task   `json:"task"`
		StatusUpdate   *update `json:"statusUpdate"`
		ArtifactUpdate *update `json:"artifactUpdate"`
		Message        *update `json:"message"`
	}
	if json.Unmarshal(body, &content) != nil {
		return Summary{}
	}
	switch {
	case content.StatusUpdate != nil:
		return Summary{Task: content.StatusUpdate.TaskID, State: content.StatusUpdate.Status.State, Kind: "statusUpdate"}
	case content.ArtifactUpdate != nil:
		return Summary{Task: content.ArtifactUpdate.TaskID, Kind: "artifactUpdate"}
	case content.Message != nil:
		return Summary{Task: content.Message.TaskID, Kind: "message"}
	}
	found := *cmp.Or(content.Task, &content.task)
	return Summary{Task: found.ID, State: found.Status.State, Kind: "task"}
}
