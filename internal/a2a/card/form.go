// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card

// Form is a format of a rendered card, made for clients of certain versions.
type Form uint8

// The forms.
const (
	// FormUnion is for clients of every version.
	FormUnion Form = iota
	// FormV03 is the card of the JSON Schemas of 0.2 and 0.3. Each security scheme also has
	// the member of the 0.3 proto, because some clients parse the card as ProtoJSON.
	FormV03
	// FormV03Proto is the message a2a.v1.AgentCard of 0.3 as ProtoJSON.
	FormV03Proto
	// FormV10 is the card of 1.0 as specified, which is ProtoJSON.
	FormV10
)

// Forms is the number of forms.
const Forms = int(FormV10) + 1

// Profile selects the forms that the sidecar serves.
type Profile string

// The profiles. The zero value "" means ProfileUnion.
const (
	// ProfileUnion serves FormUnion to clients whose request does not ask for version 1.x.
	ProfileUnion Profile = "Union"
	// ProfileV1 serves FormV10 to all clients at the card's path in 0.3 and later. It is for
	// clients of 1.0 that refuse unknown members.
	ProfileV1 Profile = "V1"
)
