// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/approval"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
)

// Members of the metadata of events.
const (
	metadataModel  = "a2a-operator.dev/model"
	metadataFinish = "a2a-operator.dev/finishReason"
	// metadataStep has a step of the turn: a call of a tool that begins or has ended.
	metadataStep = "a2a-operator.dev/step"
)

// maxName bounds the names of the model and of the finish reason, in bytes.
const maxName = 256

// output emits the events of a turn.
type output struct {
	turn       *backend.Turn
	emit       backend.Emit
	ways       func() approval.Ways
	hidesSteps bool
	// isData is true if the last answer is one data part, and no text is emitted.
	isData bool
	// batch has the events of one read.
	batch []a2a.Event
	// hasArtifact is true once a chunk of the artifact was added, hasText once the present answer of the model has text, and
	// separates once a former answer of the turn has.
	hasArtifact, hasText, separates bool
	// shortened is how many messages of the conversation were left out or summarized, as the client knows.
	shortened map[string]int
}

// addText adds a text to the artifact.
func (o *output) addText(text []byte) {
	if len(text) == 0 || o.isData {
		return
	}
	piece := string(text)
	if o.separates && !o.hasText {
		piece = "\n\n" + piece
	}
	o.hasText = true
	o.addPart(backend.ArtifactID(o.turn.Number), a2a.TextPart(piece), o.hasArtifact, false)
	o.hasArtifact = true
}

// endText ends the text of an answer of the model. The text of the next answer begins a new paragraph.
func (o *output) endText() {
	o.separates = o.separates || o.hasText
	o.hasText = false
}

// addPart adds a part to an artifact. The store joins consecutive texts, so that an answer in a thousand chunks is one text.
func (o *output) addPart(artifact string, part a2a.Part, isAppend, isLast bool) {
	p := &struct {
		update a2a.ArtifactUpdate
		parts  [1]a2a.Part
	}{parts: [1]a2a.Part{part}}
	p.update = a2a.ArtifactUpdate{
		TaskID: o.turn.TaskID, ContextID: o.turn.ContextID,
		Artifact: a2a.Artifact{ID: artifact, Parts: p.parts[:]},
		Append:   isAppend, JoinText: true, LastChunk: isLast,
	}
	o.batch = append(o.batch, a2a.Event{Artifact: &p.update})
}

func (o *output) flush() error { return o.emit.Flush(&o.batch) }

// status emits a status after the text before it.
func (o *output) status(u *a2a.StatusUpdate) error {
	o.batch = append(o.batch, a2a.Event{Status: u})
	return o.flush()
}

// flushBy flushes on the goroutine of Run.
func (o *output) flushBy(do doer) error {
	if len(o.batch) == 0 {
		return nil
	}
	return do(o.flush)
}

// replay emits the texts of answers that an earlier attempt has recorded. The engine replaces what that attempt has
// emitted.
func (o *output) replay(answers []*answerEntry) error {
	for _, answer := range answers {
		o.addText([]byte(answer.Text))
		o.endText()
	}
	return o.flush()
}

// working emits that the turn goes on. It leaves the batch alone, because the goroutine that reads an answer of the model may be adding to it.
func (o *output) working() error {
	return o.emit([]a2a.Event{{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}}}})
}

// step emits that a call begins, with the outcome "", or that it has ended.
func (o *output) step(c *call, tool *Tool, result outcome, took time.Duration) error {
	if o.hidesSteps {
		return nil
	}
	step := map[string]any{"call": c.ID, "tool": c.Name, "argumentsDigest": digestOf(c.arguments())}
	if tool != nil {
		step["source"] = tool.Source
	}
	if result != "" {
		step["outcome"] = result
		step["durationMilliseconds"] = took.Milliseconds()
	}
	return o.emitStep(step)
}

func digestOf(arguments []byte) string {
	sum := sha256.Sum256(arguments)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// progress emits what a tool says while a call runs.
func (o *output) progress(c *call, tool *Tool, text string) error {
	if o.hidesSteps {
		return nil
	}
	return o.emitStep(map[string]any{"call": c.ID, "tool": c.Name, "source": tool.Source, "progress": backend.Excerpt([]byte(text))})
}

func (o *output) emitStep(step map[string]any) error {
	metadata, err := json.Marshal(map[string]any{metadataStep: step})
	if err != nil {
		return backend.Failed("A step of this task cannot be shown", err)
	}
	return o.status(&a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}, Metadata: metadata})
}

// compacted emits that the conversation was made shorter for the model, unless it has said so for as many messages.
func (o *output) compacted(how string, messages int) error {
	if messages <= o.shortened[how] {
		return nil
	}
	if o.shortened == nil {
		o.shortened = map[string]int{}
	}
	o.shortened[how] = messages
	return o.emitStep(map[string]any{"context": how, "messages": messages})
}

// files emits files of a tool, each as an artifact.
func (o *output) files(c *call, files []a2a.Part) error {
	for i, part := range files {
		o.addPart(c.ID+"-"+string(rune('a'+i%26)), part, i >= 26, true)
	}
	return o.flush()
}

// waysToDecide returns how people decide. The page knows no tasks of tenants.
func (o *output) waysToDecide() approval.Ways {
	ways := o.ways()
	if o.turn.Tenant != "" {
		ways.Page = ""
	}
	return ways
}

// pause emits the question of a tool. The private note of the task has what a cancellation needs.
func (o *output) pause(c *call, tool *Tool) error {
	message, err := c.paused.message()
	if err != nil {
		return err
	}
	message = o.waysToDecide().Passed(message, o.turn.TaskID, o.turn.Owner)
	update := &a2a.StatusUpdate{Status: a2a.Status{State: c.paused.State, Message: message}, Note: noNote}
	if tool != nil {
		note, err := plainjson.Marshal(pausedNote{Tool: tool.Name, Key: tool.Key, Resume: c.paused.Resume})
		if err != nil {
			return backend.Failed("The question of a tool cannot be stored", err)
		}
		update.Note = string(note)
	}
	return o.status(update)
}

// end emits the end of the turn.
func (o *output) end(final *answerEntry, t *transcript) error {
	artifact := backend.ArtifactID(o.turn.Number)
	switch n := len(o.batch); {
	case o.isData:
		o.addPart(artifact, a2a.Part{Content: a2a.ContentData, Data: a2a.Value(final.Text), MediaType: "application/json"}, false, true)
	case n > 0:
		o.batch[n-1].Artifact.LastChunk = true
	case o.hasArtifact:
		o.addPart(artifact, a2a.TextPart(""), true, true)
	}
	members := map[string]any{}
	if len(final.FinishReason) <= maxName {
		members[metadataFinish] = final.FinishReason
	}
	if final.Model != "" && len(final.Model) <= maxName {
		members[metadataModel] = strings.ToValidUTF8(final.Model, "")
	}
	switch {
	case len(t.answers) == 1 && t.summary == nil && final.Usage != nil:
		members[backend.MetadataUsage] = final.Usage
	case t.turnUsage.total() > 0:
		members[backend.MetadataUsage] = map[string]int64{"prompt_tokens": t.turnUsage.prompt, "completion_tokens": t.turnUsage.completion}
	}
	metadata, err := json.Marshal(members)
	if err != nil {
		return backend.Failed("The end of this task cannot be shown", err)
	}
	return o.status(&a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateCompleted}, Metadata: metadata})
}
