// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/jsonweight"
)

// Revision is a kept revision of an Agent, which runs in place of the spec. It is immutable.
type Revision struct {
	Number int64
	// TooMany is true if the namespace has more ControllerRevisions of the Agent than the operator reads.
	TooMany bool
	// Ambiguous is true if several revisions have the number, with other contents, and the status of the Agent does not tell which one it is.
	Ambiguous bool
	// Content is nil if no such revision is kept.
	Content *RevisionContent
	// Kept are the numbers of the kept revisions, ascending.
	Kept []int64
}

// Instructions is a ConfigMap with the instructions of a model.
type Instructions struct {
	UID     types.UID
	Version string
	// Text is read for a reconcile that renders the Agent; the caches do not have it.
	Text string
}

// RevisionContent is what a revision keeps of an Agent: what decides what the pods run, and the card.
type RevisionContent struct {
	// SidecarImage is the image of the sidecar.
	SidecarImage string `json:"sidecarImage"`
	// Spec has the fields of the card and of the workload. Its skills include the AgentSkills as they were.
	Spec a2av1alpha1.AgentSpec `json:"spec"`
	// SkillFiles is true if the containers mount the files of skills. A revision does not keep the files.
	SkillFiles bool `json:"skillFiles,omitempty"`
}

// MaxRevisionSize bounds the content of a kept revision, in bytes of JSON. A larger one may be too large for the API server.
// maxRevisionElements bounds its elements and members: each may decode to a container of 408 bytes, whatever it is.
const (
	MaxRevisionSize     = 1 << 20
	maxRevisionElements = 24_576
)

// RevisionExceeds reports whether the JSON of a revision is too large to be kept and read.
func RevisionExceeds(encoded []byte) bool {
	return len(encoded) > MaxRevisionSize || jsonweight.Elements(encoded) > maxRevisionElements
}

// MaxListedRevisions bounds the ControllerRevisions with the label of an Agent that the operator reads, and MaxKeptRevisions those of
// them that the Agent controls.
const (
	MaxListedRevisions = 256
	MaxKeptRevisions   = 32
)

// Encode returns the content as JSON with sorted members, and its digest. The JSON is the same after the API server has
// stored it.
func (c *RevisionContent) Encode() (encoded []byte, digest string, err error) {
	encoded, err = json.Marshal(c)
	if err != nil {
		return nil, "", fmt.Errorf("encode revision: %w", err)
	}
	var members map[string]any
	if err := json.Unmarshal(encoded, &members); err != nil {
		return nil, "", fmt.Errorf("decode revision: %w", err)
	}
	encoded, err = json.Marshal(members)
	if err != nil {
		return nil, "", fmt.Errorf("encode revision: %w", err)
	}
	sum := sha256.Sum256(encoded)
	return encoded, hex.EncodeToString(sum[:8]), nil
}
