// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// artifact is an artifact as it grows.
type artifact struct {
	// head has everything but an open text. Its parts only grow: none is ever
	// changed in place, since snapshots share them.
	head a2a.Artifact
	// text is the open text at the end, which the next one may join; nil when
	// there is none. What it returns stays valid while it grows.
	text *strings.Builder
	size int
}

// snapshot costs the parts of an artifact with an open text, and nothing of
// any other.
func (a *artifact) snapshot() a2a.Artifact {
	s := a.head
	s.Parts = slices.Clip(s.Parts)
	if a.text != nil {
		s.Parts = append(s.Parts, a2a.TextPart(a.text.String()))
	}
	return s
}

func (a *artifact) replace(u *a2a.ArtifactUpdate) {
	a.head, a.text, a.size = u.Artifact, nil, u.Artifact.Size()
	if u.JoinText {
		a.head.Parts = nil
		a.size = a.head.Size()
		a.addParts(u.Artifact.Parts, true)
		return
	}
	// The event keeps its parts; the first append makes a copy.
	a.head.Parts = slices.Clip(u.Artifact.Parts)
}

// extend fills in what the artifact does not say of itself yet.
func (a *artifact) extend(u *a2a.ArtifactUpdate) {
	parts := a.head.Parts
	a.head.Parts = nil
	before := a.head.Size()
	if a.size == 0 {
		a.size = before // it is new
	}
	if a.head.Name == "" {
		a.head.Name = u.Artifact.Name
	}
	if a.head.Description == "" {
		a.head.Description = u.Artifact.Description
	}
	if len(a.head.Extensions) == 0 {
		a.head.Extensions = u.Artifact.Extensions
	}
	if len(u.Artifact.Metadata) > 0 {
		a.head.Metadata = mergeObjects(a.head.Metadata, u.Artifact.Metadata)
	}
	a.size += a.head.Size() - before
	a.head.Parts = parts
	a.addParts(u.Artifact.Parts, u.JoinText)
}

// addParts counts what joins an open text for its bytes only: an answer of a
// million words is one part.
func (a *artifact) addParts(parts []a2a.Part, join bool) {
	for i := range parts {
		if join && plainText(&parts[i]) {
			if a.text != nil {
				a.size += len(parts[i].Text)
			} else {
				a.size += parts[i].Size()
			}
			a.open()
			a.text.WriteString(parts[i].Text)
			continue
		}
		a.size += parts[i].Size()
		a.close()
		a.head.Parts = append(a.head.Parts, parts[i])
	}
}

// open makes a text that the artifact ends with the open one. The part leaves
// a slice that is cut off there, so that the next append does not write over
// what a snapshot sees.
func (a *artifact) open() {
	if a.text != nil {
		return
	}
	a.text = &strings.Builder{}
	if last := len(a.head.Parts) - 1; last >= 0 && plainText(&a.head.Parts[last]) {
		a.text.WriteString(a.head.Parts[last].Text)
		a.head.Parts = a.head.Parts[:last:last]
	}
}

func (a *artifact) close() {
	if a.text == nil {
		return
	}
	a.head.Parts = append(a.head.Parts, a2a.TextPart(a.text.String()))
	a.text = nil
}

// plainText reports whether a part is nothing but text.
func plainText(p *a2a.Part) bool {
	return p.Content == a2a.ContentText && p.Filename == "" && p.MediaType == "" && len(p.Metadata) == 0
}
