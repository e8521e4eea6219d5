// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

// Object is the text of a JSON object that the server carries without reading,
// such as metadata. A decoder has checked it: valid UTF-8, no duplicate keys,
// bounded depth, no insignificant whitespace. Nil means absent.
type Object []byte

// Value is the text of any JSON value, under the same promise as Object.
type Value []byte
