// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

// maxMessage is the maximum length of a message, in bytes, so that a status stays
// readable. The limit of the API is much higher.
const maxMessage = 1024

// bounded truncates a message to maxMessage bytes.
func bounded(message string) string { return cut(message, maxMessage) }

// cut truncates a message at a character boundary, so that it has no more than most bytes, and
// marks the cut with an ellipsis.
func cut(message string, most int) string {
	if len(message) <= most {
		return message
	}
	const ellipsis = "…"
	end := most - len(ellipsis)
	for end > 0 && message[end]&0xC0 == 0x80 {
		end--
	}
	return message[:end] + ellipsis
}
