// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card

// Form is what a rendering of a card looks like.
type Form uint8

// The forms.
const (
	// FormUnion is read by clients of every version.
	FormUnion Form = iota
	// FormV03 is the card of 0.2 and 0.3 by the letter of their JSON Schemas.
	// Each security scheme also has the member of the same version's proto,
	// because there are clients that read the card by that.
	FormV03
	// FormV03Proto is the message a2a.v1.AgentCard of 0.3 as ProtoJSON.
	FormV03Proto
	// FormV10 is the card of 1.0 by the letter, which is ProtoJSON too.
	FormV10
)

// Forms is how many there are.
const Forms = int(FormV10) + 1

// Profile says which form is served where.
type Profile string

// The profiles. The zero value is ProfileUnion.
const (
	// ProfileUnion serves FormUnion wherever a client does not ask for 1.x.
	ProfileUnion Profile = "Union"
	// ProfileV1 serves FormV10 at the path of 0.3 and later whoever asks, for
	// clients of 1.0 that refuse what they do not know.
	ProfileV1 Profile = "V1"
)
