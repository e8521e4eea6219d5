// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/test/redistest"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

var (
	key    = store.Key{Owner: "alice", TaskID: "t1"}
	origin = store.Origin{ContextID: "c1", Dialect: a2a.DialectV01}
)

func create(t *testing.T, s store.Store) store.Log {
	t.Helper()
	log, err := s.Create(t.Context(), store.NewTask{Key: key, Origin: origin, Events: storetest.Begin()})
	if err != nil {
		t.Fatalf("Create() error = %v", err)
	}
	return log
}

func reopen(t *testing.T, s store.Store) store.Log {
	t.Helper()
	log, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatalf("Open() error = %v", err)
	}
	return log
}

// add appends a chunk whose text is its number.
func add(t *testing.T, log store.Log, after uint64) {
	t.Helper()
	_, err := log.Append(t.Context(), store.Append{After: after, Events: []a2a.Event{storetest.Chunk("a", strconv.FormatUint(after+1, 10))}})
	if err != nil {
		t.Fatalf("Append(%d) error = %v", after, err)
	}
}

// wantChunks reads a log from its third event on, and requires each event once and in
// order.
func wantChunks(t *testing.T, log store.Log, last uint64) {
	t.Helper()
	after := uint64(2)
	for {
		records, err := log.Read(t.Context(), nil, after)
		if err != nil {
			t.Fatalf("Read(%d) error = %v", after, err)
		}
		for _, r := range records {
			if after++; r.Seq != after || r.Artifact == nil || r.Artifact.Artifact.Parts[0].Text != strconv.FormatUint(after, 10) {
				t.Fatalf("event %d is %+v, numbered %d", after, r.Event, r.Seq)
			}
		}
		if len(records) == 0 {
			break
		}
	}
	if after != last {
		t.Fatalf("log ends at %d, want %d", after, last)
	}
}

// follow reads the events after the number after up to the number last, as a subscriber
// does.
func follow(ctx context.Context, log store.Log, after, last uint64) error {
	wake := make(chan struct{}, 1)
	stop := log.Watch(func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	defer stop()
	for after < last {
		records, err := log.Read(ctx, nil, after)
		if err != nil {
			return err
		}
		for _, r := range records {
			if after++; r.Seq != after {
				return errors.New("got record " + strconv.FormatUint(r.Seq, 10) + ", want " + strconv.FormatUint(after, 10))
			}
		}
		if len(records) > 0 {
			continue
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return errors.New("heard nothing behind " + strconv.FormatUint(after, 10))
		}
	}
	return nil
}

// A replica that follows the log of another replica loses no event when its connections
// or the server fail.
func TestFollowersOfAnotherReplica(t *testing.T) {
	server := start(t, redistest.Durable...)
	for name, disturb := range map[string]func(*testing.T){
		"without a failure": func(*testing.T) {},
		"while connections are lost": func(t *testing.T) {
			c := client.NewClient(&client.Options{Addr: server.Address()})
			defer func() { _ = c.Close() }()
			for _, kind := range []string{"pubsub", "normal"} {
				if err := c.ClientKillByFilter(t.Context(), "TYPE", kind).Err(); err != nil {
					t.Error(err)
				}
			}
		},
		"while the server dies": func(*testing.T) {
			server.Kill()
			server.Run()
		},
	} {
		t.Run(name, func(t *testing.T) {
			const last = 302
			o := server.options()
			o.AppendTimeout = 10 * time.Second
			log := create(t, open(t, o))
			other := open(t, o)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var all sync.WaitGroup
			for range 3 {
				theirs := reopen(t, other)
				all.Go(func() {
					if err := follow(ctx, theirs, 2, last); err != nil {
						t.Error(err)
					}
				})
			}
			for after := uint64(2); after < last; after++ {
				add(t, log, after)
				if after%100 == 50 {
					disturb(t)
				}
			}
			all.Wait()
			wantChunks(t, reopen(t, open(t, o)), last)
		})
	}
}

// After a crash of the server, every acknowledged event is stored once. During the outage,
// subscribers of this replica read the log from memory, and new tasks are refused within the
// timeout.
func TestOutage(t *testing.T) {
	server := start(t, redistest.Durable...)
	o := server.options()
	o.Timeout, o.AppendTimeout = time.Second, 10*time.Second
	s := open(t, o)
	log := create(t, s)
	for after := uint64(2); after < 50; after++ {
		add(t, log, after)
	}
	server.Kill()
	began := time.Now()
	if _, err := s.Create(t.Context(), store.NewTask{Key: store.Key{Owner: "alice", TaskID: "t2"}, Origin: origin, Events: storetest.Begin()}); err == nil {
		t.Error("Create() in an outage: no error")
	}
	if _, err := s.Open(t.Context(), key); err == nil || errors.Is(err, store.ErrNotFound) {
		t.Errorf("Open() in an outage: error = %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("two calls took %v", took)
	}
	wantChunks(t, log, 50)
	appended := make(chan struct{})
	go func() {
		defer close(appended)
		add(t, log, 50)
	}()
	server.Run()
	<-appended
	add(t, log, 51)
	wantChunks(t, log, 52)
	wantChunks(t, reopen(t, open(t, o)), 52)
}

// AppendTimeout bounds an append, reading and writing together.
func TestAppendGivesUpInTime(t *testing.T) {
	server := start(t, redistest.Durable...)
	o := server.options()
	o.AppendTimeout = 2 * time.Second
	log := create(t, open(t, o))
	server.Kill()
	for attempt := range 2 { // the second one reads first
		a := store.Append{After: 2, Events: []a2a.Event{storetest.Chunk("a", "3")}}
		began := time.Now()
		_, err := log.Append(t.Context(), a)
		took := time.Since(began)
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrIndeterminate) != (attempt == 0) {
			t.Errorf("Append() number %d in an outage: error = %v", attempt, err)
		}
		if took < o.AppendTimeout || took > o.AppendTimeout*7/4 {
			t.Errorf("Append() number %d took %v, want %v", attempt, took, o.AppendTimeout)
		}
	}
	server.Run()
	// The engine would append its next event after the last event that it knows.
	add(t, log, 2)
	wantChunks(t, log, 3)
}

// An append whose response is lost happens once.
func TestLostResponse(t *testing.T) {
	server := start(t)
	p := newProxy(t, server.Address())
	o := server.options()
	o.Server.Addresses = []string{p.address}
	// A broken call is retried at once. The timeouts are long only for a busy machine.
	o.Timeout, o.AppendTimeout = 10*time.Second, 10*time.Second
	s := open(t, o)
	p.swallow.Store(true)
	made := make(chan store.Log, 1)
	go func() { made <- create(t, s) }()
	<-p.swallowed
	p.swallow.Store(false)
	log := <-made
	for after := uint64(2); after < 22; after++ {
		if after%5 != 0 {
			add(t, log, after)
			continue
		}
		p.swallow.Store(true)
		done := make(chan struct{})
		go func() {
			defer close(done)
			add(t, log, after)
		}()
		<-p.swallowed
		p.swallow.Store(false)
		<-done
	}
	wantChunks(t, log, 22)
	o.Server.Addresses = []string{server.Address()}
	wantChunks(t, reopen(t, open(t, o)), 22)
}

// proxy is a connection to the server that may lose responses to scripts: it drops the
// response and closes the connection.
type proxy struct {
	address   string
	swallow   atomic.Bool
	swallowed chan struct{}
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: l.Addr().String(), swallowed: make(chan struct{})}
	var all sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				_ = near.Close()
				continue
			}
			asked := &atomic.Bool{}
			all.Go(func() { _, _ = io.Copy(&watched{far, asked}, near); _ = far.Close() })
			all.Go(func() {
				defer func() { _ = near.Close() }()
				p.answer(near, far, asked)
			})
		}
	})
	return p
}

// watched records that a script was sent.
type watched struct {
	io.Writer
	asked *atomic.Bool
}

func (w *watched) Write(b []byte) (int, error) {
	if bytes.Contains(bytes.ToUpper(b), []byte("EVALSHA")) {
		w.asked.Store(true)
	}
	return w.Writer.Write(b)
}

func (p *proxy) answer(near io.Writer, far io.Reader, asked *atomic.Bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := far.Read(buf)
		if err != nil {
			return
		}
		if p.swallow.Load() && asked.Load() {
			select {
			case p.swallowed <- struct{}{}:
			default:
			}
			return
		}
		if _, err := near.Write(buf[:n]); err != nil {
			return
		}
	}
}
