// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// artifact is an artifact that grows.
type artifact struct {
	// head is the artifact without its open text. Parts are only appended to
	// head.Parts and never changed in place, because snapshots share them.
	head a2a.Artifact
	// text is the open text: the text at the end of the artifact, to which the next
	// text may be joined; nil when there is none. The strings that the Builder has
	// returned stay valid while it grows.
	text *strings.Builder
	size int
	// metadata are the objects that are not merged into head.Metadata yet.
	metadata unmerged
}

// snapshot returns the current artifact, whose metadata is merged. It copies the parts only if there is an open
// text.
func (a *artifact) snapshot() a2a.Artifact {
	s := a.head
	s.Parts = slices.Clip(s.Parts)
	if a.text != nil {
		s.Parts = append(s.Parts, a2a.TextPart(a.text.String()))
	}
	return s
}

func (a *artifact) replace(u *a2a.ArtifactUpdate) {
	a.head = u.Artifact
	a.metadata = unmerged{}
	a.text = nil
	a.size = u.Artifact.Size()
	if u.JoinText {
		a.head.Parts = nil
		a.size = a.head.Size()
		a.addParts(u.Artifact.Parts, true)
		return
	}
	// The event owns its parts; the first append copies them.
	a.head.Parts = slices.Clip(u.Artifact.Parts)
}

// extend appends the parts of an update, and sets the fields that the artifact does
// not have yet.
func (a *artifact) extend(u *a2a.ArtifactUpdate) {
	// Only the new fields are measured, because those of the artifact may be large.
	fields := a2a.Artifact{}
	empty := fields.Size()
	if a.size == 0 {
		a.size = empty // the artifact is new, and is not counted yet
	}
	if a.head.Name == "" {
		fields.Name = u.Artifact.Name
		a.head.Name = fields.Name
	}
	if a.head.Description == "" {
		fields.Description = u.Artifact.Description
		a.head.Description = fields.Description
	}
	if len(a.head.Extensions) == 0 {
		fields.Extensions = u.Artifact.Extensions
		a.head.Extensions = fields.Extensions
	}
	a.size += fields.Size() - empty
	if len(u.Artifact.Metadata) > 0 {
		a.size += a.metadata.add(&a.head.Metadata, u.Artifact.Metadata)
	}
	a.addParts(u.Artifact.Parts, u.JoinText)
}

// addParts appends parts. If join is true, it joins plain text to the open text. The
// size of a joined text is its bytes without the overhead of a part: an answer of a
// million words is one part.
func (a *artifact) addParts(parts []a2a.Part, join bool) {
	for i := range parts {
		if join && parts[i].PlainText() {
			if a.text != nil {
				a.size += len(parts[i].Text)
			} else {
				a.size += parts[i].Size()
			}
			a.openText()
			a.text.WriteString(parts[i].Text)
			continue
		}
		a.size += parts[i].Size()
		a.closeText()
		a.head.Parts = append(a.head.Parts, parts[i])
	}
}

// openText opens the text at the end of the artifact. It removes the part with this
// text from head.Parts, and cuts the capacity of the slice so that the next append
// does not overwrite a part of a snapshot.
func (a *artifact) openText() {
	if a.text != nil {
		return
	}
	a.text = &strings.Builder{}
	if last := len(a.head.Parts) - 1; last >= 0 && a.head.Parts[last].PlainText() {
		a.text.WriteString(a.head.Parts[last].Text)
		a.head.Parts = a.head.Parts[:last:last]
	}
}

func (a *artifact) closeText() {
	if a.text == nil {
		return
	}
	a.head.Parts = append(a.head.Parts, a2a.TextPart(a.text.String()))
	a.text = nil
}
