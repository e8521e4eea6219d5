// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"fmt"
	"io"
	"log/slog"
)

// TypeAssertedSubject is the type of a subject token (RFC 8693) that is the JSON of a Subject in base64url. The agent that sends it names
// the subject without a proof.
const TypeAssertedSubject = "https://a2a-operator.dev/token-type/asserted-subject"

// The reasons for which the registry issues no token on behalf of a subject, in the member reason of its error.
const (
	// ReasonSubjectUnproven means that the registry cannot verify the token of the subject.
	ReasonSubjectUnproven = "subject_unproven"
	// ReasonChain means that the chain of agents has a loop, or too many agents.
	ReasonChain = "chain"
)

// Subject is the principal for whom an agent calls other agents: the caller of a turn, or the one for
// whom this caller acts. It is immutable.
type Subject struct {
	Principal string `json:"principal"`
	// Owner is the owner of the tasks: that of the principal, or with Actors, that of the last actor For the ones before.
	Owner Owner `json:"owner"`
	// Actors are the principals that act for the subject before this agent, the last one first.
	Actors []string `json:"actors,omitempty"`
	// Proven is true if the registry has verified a token of the subject. It is false for a caller that acts for itself.
	Proven bool `json:"-"`
	// Credential is the token of the caller. It is "" if the agent can only assert the subject.
	Credential Credential `json:"-"`
}

// SubjectOf returns the subject of a task's turns, without a credential. It returns nil for a task without an
// owner.
func SubjectOf(owner Owner) *Subject {
	owner = Owner(owner.Principal())
	if owner == "" {
		return nil
	}
	subject := &Subject{Owner: owner}
	for next := owner.Subject(); next != ""; next = owner.Subject() {
		subject.Actors = append(subject.Actors, owner.named())
		owner = next
	}
	subject.Principal = owner.named()
	return subject
}

// Credential is the token of a caller. It appears in no log and no encoding: only a conversion to string
// returns it.
type Credential string

const hidden = "(credential)"

// Format hides the credential from all verbs of package fmt.
func (Credential) Format(to fmt.State, _ rune) { _, _ = io.WriteString(to, hidden) }

// LogValue hides the credential.
func (Credential) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides the credential.
func (Credential) MarshalText() ([]byte, error) { return []byte(hidden), nil }
