// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// PageKey returns the key that authenticates page tokens. The replicas of the agent share
// the key, and the first call creates it. Redis has the key in plain text: a client of Redis
// that can read the key can also read the tasks.
func (s *Store) PageKey(ctx context.Context) ([]byte, error) {
	made := make([]byte, sha256.Size)
	_, _ = rand.Read(made) // never fails
	reply, err := s.calls.run(ctx, s.scripts.pageKey, base64.RawStdEncoding.EncodeToString(made), millis(s.options.keyTTL()))
	if err != nil {
		return nil, err
	}
	text, ok := reply.(string)
	if !ok {
		return nil, errReply(reply)
	}
	key, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || len(key) != sha256.Size {
		return nil, errFormat
	}
	return key, nil
}
