// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

// Object is the encoding of a JSON object that the server forwards unread, such as
// metadata. A decoder has validated it: UTF-8, no duplicate keys, bounded depth, no
// insignificant whitespace. Nil means absent.
type Object []byte

// Value is the encoding of any JSON value, validated like Object.
type Value []byte
