// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// statement is an in-toto statement v1.
type statement struct {
	Type          string          `json:"_type"`
	Subject       []subject       `json:"subject"`
	PredicateType string          `json:"predicateType"`
	Predicate     json.RawMessage `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// writeStatement prints a statement that the files were made as the predicate, SLSA provenance v1, says.
func writeStatement(out io.Writer, predicate string, files []string) error {
	text, err := os.ReadFile(predicate)
	if err != nil {
		return err
	}
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1", Predicate: text}
	for _, file := range files {
		digest, err := digestOf(file)
		if err != nil {
			return err
		}
		s.Subject = append(s.Subject, subject{Name: filepath.Base(file), Digest: map[string]string{"sha256": digest}})
	}
	err = json.NewEncoder(out).Encode(s)
	if err != nil {
		return fmt.Errorf("write statement: %w", err)
	}
	return nil
}

// digestOf returns the SHA-256 of a file.
func digestOf(file string) (string, error) {
	opened, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = opened.Close() }()
	hash := sha256.New()
	_, err = io.Copy(hash, opened)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
