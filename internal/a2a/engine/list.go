// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Page sizes in tasks: the size for a request that names none, and the largest that a
// request may name.
const (
	defaultPageSize = 50
	maxPageSize     = 100
)

// List implements a2a.Handler.
func (e *Engine) List(ctx context.Context, r *a2a.ListRequest) (*a2a.TaskPage, error) {
	size := r.PageSize
	switch {
	case size == 0:
		size = defaultPageSize
	case size < 1 || size > maxPageSize:
		return nil, a2a.InvalidParams("pageSize", "must be between 1 and 100")
	}
	key, err := e.options.PageKey(ctx)
	if err != nil {
		return nil, storeError("read key of page tokens", "", err)
	}
	tokens := pageTokens{key: key}
	after, err := tokens.place(r)
	if err != nil {
		return nil, err
	}
	page, err := e.options.Store.List(e.reading(ctx, r.Owner), &store.Query{
		Owner: r.Owner, ContextID: r.ContextID, State: r.State, Since: r.Since, After: after, Limit: size,
	})
	if err != nil {
		return nil, storeError("list tasks", "", err)
	}
	list := &a2a.TaskPage{Tasks: page.Tasks, PageSize: size, TotalSize: page.Total}
	for i, t := range list.Tasks {
		t = t.WithHistory(r.HistoryLength)
		if !r.IncludeArtifacts && t.Artifacts != nil {
			bare := *t
			bare.Artifacts = nil
			t = &bare
		}
		list.Tasks[i] = t
	}
	if page.Next != nil {
		list.NextPageToken = tokens.token(r, *page.Next)
	}
	return list, nil
}

// reading returns a context in which the store reserves memory for what it reads for an owner, until the request of ctx has its answer.
func (e *Engine) reading(ctx context.Context, owner a2a.Owner) context.Context {
	if e.options.Loads == nil {
		return ctx
	}
	reader := e.options.Loads.Reader(owner)
	context.AfterFunc(ctx, reader.Release)
	return reader.In(ctx)
}

// Get implements a2a.Handler.
func (e *Engine) Get(ctx context.Context, r *a2a.GetRequest) (*a2a.Task, error) {
	if r.Within != a2a.MethodSubscribeToTask { // a subscription does not keep the task, and may last for hours
		ctx = e.reading(ctx, r.Owner)
	}
	log, err := e.open(ctx, store.Key{Owner: r.Owner, TaskID: r.TaskID})
	if err != nil {
		return nil, err
	}
	return snapshot(ctx, log, r.TaskID, r.HistoryLength)
}

// pageTokens encodes and decodes page tokens. A token consists of a message
// authentication code (HMAC-SHA-256, 16 bytes) and a place in a list. The code covers the
// place and the conditions of the list, so a token is valid for that list only and cannot
// be forged.
type pageTokens struct{ key []byte }

const (
	codeSize = 16
	timeSize = 12
)

var tokenText = base64.RawURLEncoding

// token returns the token of the page that begins after a place.
func (p *pageTokens) token(r *a2a.ListRequest, at store.Place) string {
	place := make([]byte, 0, timeSize+len(at.TaskID))
	place = appendTime(place, at.Time)
	place = append(place, at.TaskID...)
	return tokenText.EncodeToString(append(p.code(r, place), place...))
}

// place returns the place after which the requested page begins, nil for the first page, or
// an INVALID_PARAMS error for a token that is not of this list.
func (p *pageTokens) place(r *a2a.ListRequest) (*store.Place, error) {
	if r.PageToken == "" {
		return nil, nil // nil is the first page
	}
	token, err := tokenText.DecodeString(r.PageToken)
	// The comparison refuses other spellings of a token: the decoder ignores line
	// breaks and trailing bits.
	if err != nil || tokenText.EncodeToString(token) != r.PageToken || len(token) < codeSize+timeSize ||
		!hmac.Equal(token[:codeSize], p.code(r, token[codeSize:])) {
		return nil, a2a.InvalidParams("pageToken", "is not a token of this list")
	}
	place := token[codeSize:]
	return &store.Place{Time: timeOf(place), TaskID: string(place[timeSize:])}, nil
}

// code returns the authentication code of a place in the list of a request. Each
// value is preceded by its length, so that no two lists have the same input.
func (p *pageTokens) code(r *a2a.ListRequest, place []byte) []byte {
	h := hmac.New(sha256.New, p.key)
	var size [8]byte
	write := func(b []byte) {
		binary.BigEndian.PutUint64(size[:], uint64(len(b)))
		_, _ = h.Write(size[:])
		_, _ = h.Write(b)
	}
	write([]byte(r.Owner))
	write([]byte(r.ContextID))
	write([]byte{byte(r.State)})
	write(appendTime(nil, r.Since))
	write(place)
	return h.Sum(nil)[:codeSize]
}

// appendTime appends seconds and nanoseconds, which can represent the whole range of
// time.Time.
func appendTime(dst []byte, t time.Time) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.Unix()))        //nolint:gosec // timeOf reverses the conversion
	return binary.BigEndian.AppendUint32(dst, uint32(t.Nanosecond())) //nolint:gosec // below 1e9
}

func timeOf(b []byte) time.Time {
	return time.Unix(int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint32(b[8:]))).UTC() //nolint:gosec // it reverses appendTime
}
