// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card

// Form is a rendering of a card.
type Form uint8

// The forms.
const (
	// FormUnion is for clients of every version.
	FormUnion Form = iota
	// FormV03 is the card of the JSON Schemas of 0.2 and 0.3. Each security scheme
	// also has the member of the proto of 0.3, because some clients read the card as
	// ProtoJSON.
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

// The profiles. The zero value is ProfileUnion.
const (
	// ProfileUnion serves FormUnion to clients that do not ask for 1.x.
	ProfileUnion Profile = "Union"
	// ProfileV1 serves FormV10 to all clients at the path of 0.3 and later, for
	// clients of 1.0 that refuse unknown members.
	ProfileV1 Profile = "V1"
)
