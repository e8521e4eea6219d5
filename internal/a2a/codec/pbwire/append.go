// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pbwire

import (
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Number is the number of a field.
type Number = protowire.Number

// Begin appends the head of a field that contains a message, and returns the position at
// which the message begins.
func Begin(dst []byte, number protowire.Number) (_ []byte, at int) {
	dst = protowire.AppendTag(dst, number, protowire.BytesType)
	dst = append(dst, 0)
	return dst, len(dst)
}

// End writes the length of the message that begins at a position. It moves a message of 128
// bytes or more to make room for the length.
func End(dst []byte, at int) []byte {
	length := uint64(len(dst) - at) // at is at most len(dst)
	if size := protowire.SizeVarint(length); size > 1 {
		var room [9]byte
		dst = append(dst, room[:size-1]...)
		copy(dst[at+size-1:], dst[at:len(dst)-size+1])
	}
	protowire.AppendVarint(dst[at-1:at-1], length)
	return dst
}

// AppendString appends a string field, unless the string is empty. Invalid UTF-8
// becomes U+FFFD, because clients refuse a message with invalid UTF-8.
func AppendString(dst []byte, number protowire.Number, s string) []byte {
	if s == "" {
		return dst
	}
	return AppendText(dst, number, s)
}

// AppendText appends a string field even if the string is empty, as a member of a oneof
// requires. Invalid UTF-8 becomes U+FFFD.
func AppendText(dst []byte, number protowire.Number, s string) []byte {
	dst = protowire.AppendTag(dst, number, protowire.BytesType)
	return protowire.AppendString(dst, strings.ToValidUTF8(s, "\ufffd"))
}

// AppendStrings appends a repeated string field.
func AppendStrings(dst []byte, number protowire.Number, all []string) []byte {
	for _, s := range all {
		dst = AppendText(dst, number, s)
	}
	return dst
}

// AppendBytes appends a bytes field even if it is empty.
func AppendBytes(dst []byte, number protowire.Number, b []byte) []byte {
	dst = protowire.AppendTag(dst, number, protowire.BytesType)
	return protowire.AppendBytes(dst, b)
}

// AppendInt appends an integer or enum field, unless the value is 0.
func AppendInt(dst []byte, number protowire.Number, n int) []byte {
	if n == 0 {
		return dst
	}
	return AppendOptional(dst, number, &n)
}

// AppendOptional appends an integer field with presence, unless n is nil.
func AppendOptional(dst []byte, number protowire.Number, n *int) []byte {
	if n == nil {
		return dst
	}
	dst = protowire.AppendTag(dst, number, protowire.VarintType)
	return protowire.AppendVarint(dst, uint64(*n)) // two's complement keeps the sign
}

// AppendBool appends a bool field, unless the value is false.
func AppendBool(dst []byte, number protowire.Number, b bool) []byte {
	if !b {
		return dst
	}
	dst = protowire.AppendTag(dst, number, protowire.VarintType)
	return protowire.AppendVarint(dst, 1)
}

// AppendTime appends a Timestamp field in whole milliseconds, unless the time is
// zero.
func AppendTime(dst []byte, number protowire.Number, t time.Time) []byte {
	if t.IsZero() {
		return dst
	}
	dst, at := Begin(dst, number)
	dst = AppendInt(dst, 1, int(t.Unix()))
	dst = AppendInt(dst, 2, t.Nanosecond()/1e6*1e6)
	return End(dst, at)
}
