// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
)

const (
	// pollInterval is the time between two reads of the peers file and the token files.
	pollInterval = 10 * time.Second
	// maxFile bounds the peers file, and maxToken a token, in bytes.
	maxFile = 1 << 20
	// maxMemory bounds the responses of peers in memory, in bytes. A search reserves
	// searchMemory for each of its peers: for the response and the results read from it. The
	// concurrent searches of one caller use at most half of maxMemory, unless it has only one.
	maxMemory    = 64 << 20
	searchMemory = 2 * maxResponse
	// reserveTimeout is how long a search waits for memory.
	reserveTimeout = time.Second
)

// Options configures a Federation.
type Options struct {
	// File is the path of the peers file.
	File string
	// Publisher identifies this registry. A peer with the same publisher or URL is this
	// registry, and Federation ignores it.
	Publisher *ard.Publisher
	// ClusterDomain is the DNS domain of the cluster. Results with URLs below it are dropped.
	ClusterDomain string
	Clock         clock.PassiveClock
	Log           logr.Logger
}

// Federation searches peers. It is safe for concurrent use.
type Federation struct {
	options Options
	current atomic.Pointer[peerSet]
	// memory is the budget of maxMemory, from which the searches in progress reserve.
	memory *limit.Budget

	// mu guards the fields below, which reload changes.
	mu sync.Mutex
	// lastRead is the content of the peers file at the last read, or the text of the error.
	lastRead []byte
}

// peerSet is the content of one peers file. It is immutable.
type peerSet struct {
	hops int
	// peers has all peers in the order of the file, without this registry.
	peers []*peer
}

// budgetFor returns the size of a limit.Budget whose large reservations have at most so many
// bytes in total. The Budget reserves the last quarter of its size for small reservations.
func budgetFor(bytes int64) int64 { return (bytes*4 + 2) / 3 }

// New returns a Federation with the peers of the file. If the file has a mistake, the
// Federation has no peers until Run reads a file without one.
func New(o Options) *Federation {
	f := &Federation{options: o, memory: limit.NewBudget(budgetFor(maxMemory), reserveTimeout)}
	f.current.Store(&peerSet{hops: defaultHops})
	f.reload()
	return f
}

// reserve reserves memory for the responses of some peers. ok is false if the memory is not
// free within reserveTimeout.
func (f *Federation) reserve(ctx context.Context, caller a2a.AccountingPrincipal, peers int) (release func(), ok bool) {
	reservation := &limit.Reservation{}
	ok = f.memory.Grow(ctx, reservation, caller, min(f.memory.Largest(), int64(peers)*searchMemory))
	return reservation.Release, ok
}

// Run reads the peers file and the token files every ten seconds until ctx ends.
func (f *Federation) Run(ctx context.Context) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			f.current.Swap(&peerSet{hops: defaultHops}).close(nil)
			return
		case <-ticker.C:
			f.reload()
		}
	}
}

// reload reads the peers file and the token files. If the peers file has a mistake, the
// former peers stay in use.
func (f *Federation) reload() {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, err := readFile(f.options.File, maxFile)
	read := text
	if err != nil {
		read = []byte(err.Error())
	}
	if !bytes.Equal(read, f.lastRead) || f.lastRead == nil {
		f.lastRead = read
		f.use(text, err)
	}
	for _, p := range f.current.Load().peers {
		p.reloadToken(f.options.Log)
	}
}

func (f *Federation) use(text []byte, err error) {
	var c *configuration
	if err == nil {
		c, err = parse(text)
	}
	former := f.current.Load()
	if err != nil {
		fileRefused.Set(1)
		f.options.Log.Error(err, "peers file refused; correct it, the former peers stay in use", "file", f.options.File, "peers", len(former.peers))
		return
	}
	next := &peerSet{hops: *c.MaxHops}
	for i := range c.Peers {
		configured := &c.Peers[i]
		if f.isSelf(configured) {
			f.options.Log.Info("peer ignored: its publisher or URL is the one of this registry", "peer", configured.Name, "url", configured.URL)
			continue
		}
		next.peers = append(next.peers, former.reuse(configured))
	}
	fileRefused.Set(0)
	f.current.Store(next)
	former.close(next.peers)
	f.options.Log.Info("peers file loaded", "file", f.options.File, "peers", len(next.peers))
}

func (f *Federation) isSelf(p *Peer) bool {
	return p.Publisher == f.options.Publisher.Domain || p.URL == strings.TrimRight(f.options.Publisher.Source(), "/")
}

// reuse returns the peer of the set that has the given configuration, with its connections
// and state, or a new peer if there is none.
func (s *peerSet) reuse(configured *Peer) *peer {
	for _, p := range s.peers {
		if reflect.DeepEqual(p.Peer, *configured) {
			return p
		}
	}
	return newPeer(*configured)
}

// close closes the idle connections of the peers that are not in kept, and deletes the
// metrics of the names that are not in kept.
func (s *peerSet) close(kept []*peer) {
	for _, p := range s.peers {
		if slices.Contains(kept, p) {
			continue
		}
		p.guard.CloseIdleConnections()
		if !slices.ContainsFunc(kept, func(k *peer) bool { return k.Name == p.Name }) {
			deleteMetrics(p.Name)
		}
	}
}

// publisherOf returns the peer of the set with a publisher, nil for none.
func (s *peerSet) publisherOf(domain string) *peer {
	for _, p := range s.peers {
		if p.Publisher == domain {
			return p
		}
	}
	return nil
}
