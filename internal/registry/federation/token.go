// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"fmt"
	"io"
	"os"
	"strings"
)

const maxToken = 16 << 10

// credential is the token of a peer, or the error of reading it.
type credential struct {
	token string
	err   error
}

func readToken(name string) (string, error) {
	text, err := readFile(name, maxToken)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("%s is empty", name)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s has characters that a header cannot carry", name)
	}
	return token, nil
}

func readFile(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name) //nolint:gosec // a flag of the manager, or the peers file, names it
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return text, err
}
