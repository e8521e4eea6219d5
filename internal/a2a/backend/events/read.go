// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"mime"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// read reads the response by its media type.
func (r *response) read() error {
	mediaType, params, err := r.MediaType()
	if err != nil {
		return err
	}
	switch mediaType {
	case "text/plain":
		return r.text()
	case "application/json":
		return r.json()
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/jsonlines", "application/x-jsonlines":
		return r.ndjson()
	case "text/event-stream":
		return r.sse()
	default:
		return r.file(mime.FormatMediaType(mediaType, params))
	}
}

// json reads one JSON value, which is an event or data.
func (r *response) json() error {
	body, err := r.ReadAll()
	if err != nil || isBlank(body) {
		return err
	}
	kind, err := r.decodeEvent(body, true)
	if err != nil {
		return backend.Unrecognized("The agent's answer "+stream.DecodeReason(err, "an event"), body, err)
	}
	if kind == notEvent {
		value, err := dataPart(body)
		if err != nil {
			return backend.Unrecognized("The agent's answer "+stream.DecodeReason(err, "an event"), body, err)
		}
		r.addPart(value, true)
	}
	return r.flush()
}

// file reads a response of any media type without a reader of its own, as one file.
func (r *response) file(mediaType string) error {
	body, err := r.ReadAll()
	if err != nil || len(body) == 0 {
		return err
	}
	_, params, _ := mime.ParseMediaType(r.disposition)
	r.addPart(a2a.Part{
		Content: a2a.ContentRaw, Raw: body, MediaType: mediaType, Filename: params["filename"],
	}, true)
	return r.flush()
}
