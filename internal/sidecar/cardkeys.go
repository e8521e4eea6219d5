// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
)

// cardKeys are the keys that sign the card, and what they were read from.
type cardKeys struct {
	keys []*signing.Key
	// content names the content of the files.
	content [sha256.Size]byte
}

// readCardKeys reads the files. The first must be there; another one that is
// not is the state in which no rotation is under way.
func readCardKeys(files []string) (*cardKeys, error) {
	read := &cardKeys{}
	content := sha256.New()
	var problem error
	for i, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // the file that the user or the operator named
		if i > 0 && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		content.Write(append([]byte{byte(i)}, text...))
		var key *signing.Key
		if err == nil {
			key, err = signing.ParseKey(text)
		}
		if err != nil {
			problem = errors.Join(problem, fmt.Errorf("%w: %s: %w", ErrCardKey, file, err))
			continue
		}
		read.keys = append(read.keys, key)
	}
	content.Sum(read.content[:0])
	return read, problem
}

// signer returns what signs the card; nil without keys.
func (k *cardKeys) signer(jwksURL string) (*signing.Signer, error) {
	if len(k.keys) == 0 {
		return nil, nil
	}
	return signing.NewSigner(k.keys, jwksURL)
}

// directories are those of the files, each once.
func directories(files []string) []string {
	var all []string
	for _, file := range files {
		if dir := filepath.Dir(file); !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	return all
}

// reloadCardKeys takes keys that have changed, all of them or none: a broken
// key must not leave the card without a signature.
func (s *Sidecar) reloadCardKeys() {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	next, err := readCardKeys(s.options.CardSigningKeys)
	if next.content == s.cardKeys.content {
		s.refusedKeys = next.content
		s.cardKeysHealth.Succeeded()
		return
	}
	if err != nil && next.content == s.refusedKeys {
		return
	}
	former := s.cardKeys
	if err == nil {
		s.cardKeys = next
		err = s.swapCard(s.current())
	}
	if err != nil {
		s.cardKeys = former
		s.refusedKeys = next.content
		s.metrics.cardKeys.WithLabelValues("refused").Inc()
		s.cardKeysHealth.Failf(causeOfMounted(err), "the former keys sign the card: %v", err)
		s.log.Error("keep former card signing keys", "error", err)
		return
	}
	s.cardKeysHealth.Succeeded()
	s.metrics.cardKeys.WithLabelValues("applied").Inc()
	s.logCardKeys()
}

// logCardKeys names the keys that sign; the ids are public.
func (s *Sidecar) logCardKeys() {
	if signer, err := s.cardKeys.signer(""); err == nil && signer != nil {
		s.log.Info("signing card", "keys", signer.KeyIDs())
	}
}
