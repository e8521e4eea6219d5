// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pbwire

import (
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Number is that of a field.
type Number = protowire.Number

// Begin appends the head of a field that holds a message, and returns where
// the message begins.
func Begin(dst []byte, number protowire.Number) (_ []byte, at int) {
	dst = protowire.AppendTag(dst, number, protowire.BytesType)
	dst = append(dst, 0)
	return dst, len(dst)
}

// End fills in the length of a message that began at a place. Most are shorter
// than 128 bytes, and need not move.
func End(dst []byte, at int) []byte {
	length := uint64(len(dst) - at) //nolint:gosec // it is not negative
	if size := protowire.SizeVarint(length); size > 1 {
		var room [9]byte
		dst = append(dst, room[:size-1]...)
		copy(dst[at+size-1:], dst[at:len(dst)-size+1])
	}
	protowire.AppendVarint(dst[at-1:at-1], length)
	return dst
}

// AppendString appends a field that holds text, unless it is empty. Invalid
// UTF-8 becomes U+FFFD, or no client could read the message.
func AppendString(dst []byte, number protowire.Number, s string) []byte {
	if s == "" {
		return dst
	}
	return AppendText(dst, number, s)
}

// AppendText is AppendString for a member of a oneof, which is there when it is
// empty.
func AppendText(dst []byte, number protowire.Number, s string) []byte {
	dst = protowire.AppendTag(dst, number, protowire.BytesType)
	return protowire.AppendString(dst, strings.ToValidUTF8(s, "\ufffd"))
}

// AppendStrings appends a field for each string.
func AppendStrings(dst []byte, number protowire.Number, all []string) []byte {
	for _, s := range all {
		dst = AppendText(dst, number, s)
	}
	return dst
}

// AppendBytes appends a field that holds bytes, also when there are none.
func AppendBytes(dst []byte, number protowire.Number, b []byte) []byte {
	dst = protowire.AppendTag(dst, number, protowire.BytesType)
	return protowire.AppendBytes(dst, b)
}

// AppendInt appends a field that holds a number or an enum, unless it is 0.
func AppendInt(dst []byte, number protowire.Number, n int) []byte {
	if n == 0 {
		return dst
	}
	return AppendOptional(dst, number, &n)
}

// AppendOptional appends a field that holds a number, unless it is nil.
func AppendOptional(dst []byte, number protowire.Number, n *int) []byte {
	if n == nil {
		return dst
	}
	dst = protowire.AppendTag(dst, number, protowire.VarintType)
	return protowire.AppendVarint(dst, uint64(*n)) //nolint:gosec // the sign is in the bits
}

// AppendBool appends a field that holds true, and nothing for false.
func AppendBool(dst []byte, number protowire.Number, b bool) []byte {
	if !b {
		return dst
	}
	dst = protowire.AppendTag(dst, number, protowire.VarintType)
	return protowire.AppendVarint(dst, 1)
}

// AppendTime appends a field that holds a Timestamp, unless it is zero.
func AppendTime(dst []byte, number protowire.Number, t time.Time) []byte {
	if t.IsZero() {
		return dst
	}
	dst, at := Begin(dst, number)
	dst = AppendInt(dst, 1, int(t.Unix()))
	dst = AppendInt(dst, 2, t.Nanosecond()/1e6*1e6)
	return End(dst, at)
}
