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

// watchFault is a fault of a watch at one of its events.
type watchFault string

const (
	// dropped loses the event and the following ones for a while. Then the API server reports that
	// the version is too old, as after a compaction, so the events never arrive.
	dropped watchFault = "drop"
	// delayed delivers the event and the following ones much later than other watches deliver
	// theirs.
	delayed watchFault = "delay"
	// brokenOff ends the watch before the event.
	brokenOff watchFault = "break"
)

// watchFaultDuration is the duration of a watch fault.
const watchFaultDuration = 400 * time.Millisecond

// expired is the answer of the API server for a version that is too old.
const expired = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},` +
	`"status":"Failure","message":"too old resource version","reason":"Expired","code":410}}` + "\n"

// watchDisturbance disturbs one event of all watches of a transport. It counts events from the moment
// when it is armed, without bookmarks.
type watchDisturbance struct {
	mu         sync.Mutex
	watchFault watchFault
	at         int
	armed      bool
	count      int
	met        bool
}

func (i *watchDisturbance) arm(m watchFault, at int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.watchFault, i.at, i.armed, i.count = m, at, true, 0
}

// events returns the number of events since the disturbance was armed. met is true if the fault has happened.
func (i *watchDisturbance) events() (count int, met bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.count, i.met
}

// next counts an event and returns its fault.
func (i *watchDisturbance) next(event []byte) watchFault {
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
	i.met = i.watchFault != ""
	return i.watchFault
}

// decodeWatch wraps a watch to read it event by event.
func (i *watchDisturbance) decodeWatch(stream io.ReadCloser) io.ReadCloser {
	return &decodedWatch{ReadCloser: stream, events: json.NewDecoder(stream), watchDisturbance: i}
}

// decodedWatch is a watch that can be disturbed.
type decodedWatch struct {
	io.ReadCloser
	events           *json.Decoder
	watchDisturbance *watchDisturbance
	rest             []byte
	over             bool
}

// Read implements io.Reader.
func (t *decodedWatch) Read(p []byte) (int, error) {
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

// fill reads one event, or applies its fault.
func (t *decodedWatch) fill() error {
	var event json.RawMessage
	if err := t.events.Decode(&event); err != nil {
		return err
	}
	t.rest = append(event, '\n')
	switch t.watchDisturbance.next(event) {
	case dropped:
		ends := time.AfterFunc(watchFaultDuration, func() { _ = t.Close() })
		defer ends.Stop()
		for t.events.Decode(&event) == nil {
			continue
		}
		t.rest, t.over = []byte(expired), true
	case delayed:
		timer := time.NewTimer(watchFaultDuration)
		<-timer.C
	case brokenOff:
		t.rest, t.over = nil, true
		_ = t.Close()
	default:
	}
	return nil
}
