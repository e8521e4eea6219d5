// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// mishap is what happens to a watch at one of its events.
type mishap string

const (
	// dropped loses that event and what comes behind it for a while; then the
	// API server says that the version is too old, as after a compaction. What
	// was in between is never heard of.
	dropped mishap = "drop"
	// delayed brings that event, and what comes behind it, much later than what
	// other watches bring.
	delayed mishap = "delay"
	// broken off ends the watch before that event.
	brokenOff mishap = "break"
)

// lull is how long a mishap lasts.
const lull = 400 * time.Millisecond

// expired is what the API server says of a version that is too old.
const expired = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},` +
	`"status":"Failure","message":"too old resource version","reason":"Expired","code":410}}` + "\n"

// interruption happens to one event of all watches of a transport. Events are
// counted from the moment it is armed, and bookmarks are none.
type interruption struct {
	mu     sync.Mutex
	mishap mishap
	at     int
	armed  bool
	count  int
	met    bool
}

func (i *interruption) arm(m mishap, at int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.mishap, i.at, i.armed, i.count = m, at, true, 0
}

// events is how many there were since it was armed, and met whether it has
// happened.
func (i *interruption) events() (count int, met bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.count, i.met
}

// next counts an event, and returns what happens to it.
func (i *interruption) next(event []byte) mishap {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.armed || bytes.Contains(event[:min(len(event), 32)], []byte("BOOKMARK")) {
		return ""
	}
	at := i.count
	i.count++
	if at != i.at {
		return ""
	}
	i.met = i.mishap != ""
	return i.mishap
}

// tap reads a watch event by event.
func (i *interruption) tap(stream io.ReadCloser) io.ReadCloser {
	return &tapped{ReadCloser: stream, events: json.NewDecoder(stream), interruption: i}
}

// tapped is a watch that something may happen to.
type tapped struct {
	io.ReadCloser
	events       *json.Decoder
	interruption *interruption
	rest         []byte
	over         bool
}

// Read implements io.Reader.
func (t *tapped) Read(p []byte) (int, error) {
	for len(t.rest) == 0 {
		if t.over {
			return 0, io.EOF
		}
		if err := t.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// fill reads one event, or what becomes of it.
func (t *tapped) fill() error {
	var event json.RawMessage
	if err := t.events.Decode(&event); err != nil {
		return err
	}
	t.rest = append(event, '\n')
	switch t.interruption.next(event) {
	case dropped:
		ends := time.AfterFunc(lull, func() { _ = t.Close() })
		defer ends.Stop()
		for t.events.Decode(&event) == nil {
			continue
		}
		t.rest, t.over = []byte(expired), true
	case delayed:
		timer := time.NewTimer(lull)
		<-timer.C
	case brokenOff:
		t.rest, t.over = nil, true
		_ = t.Close()
	default:
	}
	return nil
}
