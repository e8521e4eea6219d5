// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"
)

// Listed is an agent as the list shows it. Nothing else of the agent is decoded, whose size its owner chooses.
type Listed struct {
	Namespace   string      `json:"namespace"`
	Name        string      `json:"name"`
	DisplayName string      `json:"displayName"`
	Description string      `json:"description"`
	Ready       bool        `json:"ready"`
	Reason      string      `json:"reason"`
	Remote      bool        `json:"remote"`
	Skills      firstSkills `json:"skills"`
	UpdatedAt   time.Time   `json:"updatedAt"`
	// version is a short hash of the agent, as the registry describes it. It does not depend on the time, unlike the age that a row shows.
	// The script of the page updates ages.
	version string
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *Listed) UnmarshalJSON(text []byte) error {
	type plain Listed
	var out plain
	if err := json.Unmarshal(text, &out); err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	out.version = base64.RawURLEncoding.EncodeToString(sum[:9])
	*l = Listed(out)
	return nil
}

// maxFirstSkills is the number of skills that the list names.
const maxFirstSkills = 4

// firstSkills are the first skills of an agent, and the number of all.
type firstSkills struct {
	First []skillName
	Count int
}

type skillName struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *firstSkills) UnmarshalJSON(text []byte) error {
	elements := json.NewDecoder(bytes.NewReader(text))
	if _, err := elements.Token(); err != nil { // the bracket, or null
		return err
	}
	for elements.More() {
		if f.Count < maxFirstSkills {
			f.First = append(f.First, skillName{})
			if err := elements.Decode(&f.First[f.Count]); err != nil {
				return err
			}
		} else if err := elements.Decode(&struct{}{}); err != nil {
			return err
		}
		f.Count++
	}
	return nil
}
