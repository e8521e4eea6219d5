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
	"github.com/prometheus/client_golang/prometheus"
	"github.com/sony/gobreaker/v2"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/boundedfile"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
)

const (
	// pollInterval is the time between two reads of the peers file and the token files.
	pollInterval = 10 * time.Second
	// maxFile bounds the peers file, and maxToken a token, in bytes.
	maxFile = 1 << 20
	// maxMemory bounds the memory for responses of peers, in bytes. A search reserves searchMemory
	// for each of its peers: for the response, a copy of its results, and the results that are read from it. If one
	// caller has several concurrent searches, they use at most half of maxMemory.
	maxMemory    = 64 << 20
	searchMemory = 3 * maxResponse
	// reserveTimeout is how long a search waits for free memory.
	reserveTimeout = time.Second
)

// Options configures a Federation.
type Options struct {
	// File is the path of the peers file.
	File string
	// Publisher identifies this registry. A configured peer with the same publisher or URL is this
	// registry itself, and is ignored.
	Publisher *ard.Publisher
	// ClusterDomain is the DNS domain of this cluster. Results of peers with URLs below this domain
	// are dropped.
	ClusterDomain string
	// Proxy returns the proxy for public https servers, nil for none. If Proxy is nil, there is none.
	Proxy func() *egress.Proxy
	Clock clock.PassiveClock
	Log   logr.Logger
}

// Federation searches peers. It is safe for concurrent use.
type Federation struct {
	options Options
	current atomic.Pointer[peerSet]
	// memory is a budget of maxMemory bytes, in which running searches reserve memory.
	memory *limit.Budget

	// mu guards the fields below, which reload changes.
	mu sync.Mutex
	// lastRead is the content of the peers file at the last read, or the text of the error of that
	// read.
	lastRead []byte
}

// peerSet is the content of one version of the peers file. Only the state of its peers changes.
type peerSet struct {
	hops int
	// peers are the peers in the order of the file. This registry is not among them.
	peers []*peer
}

// budgetFor returns the size of a limit.Budget that has the given number of bytes for large
// reservations together. The Budget keeps an eighth of its size for small ones.
func budgetFor(bytes int64) int64 { return bytes / 7 * 8 }

// New returns a Federation with the peers in the file. If the file has a mistake, the Federation
// has no peers until Run reads a correct file.
func New(o Options) *Federation {
	f := &Federation{options: o, memory: limit.NewBudget(budgetFor(maxMemory), reserveTimeout)}
	f.current.Store(&peerSet{hops: defaultHops})
	f.reload()
	return f
}

// reserve reserves memory for the responses of a number of peers, until release is called. ok is
// false if the memory does not become free within reserveTimeout, or if ctx ends.
func (f *Federation) reserve(ctx context.Context, caller a2a.AccountingPrincipal, peers int) (release func(), ok bool) {
	reservation := &limit.Reservation{}
	ok = f.memory.Grow(ctx, reservation, caller, min(f.memory.Largest(), int64(peers)*searchMemory))
	return reservation.Release, ok
}

// Run reads the peers file and the token files every ten seconds (hot reload). When ctx ends, it
// removes all peers and returns.
func (f *Federation) Run(ctx context.Context) {
	wait.UntilWithContext(ctx, func(context.Context) { f.reload() }, pollInterval)
	last := f.current.Swap(&peerSet{hops: defaultHops})
	last.retire(nil)
	last.close(nil)
}

// reload reads the peers file and the token files. If the peers file has a mistake, the
// former peers stay in use.
func (f *Federation) reload() {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, err := boundedfile.Read(f.options.File, maxFile)
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
		next.peers = append(next.peers, former.reuse(configured, f.options.ClusterDomain, f.options.Proxy))
	}
	fileRefused.Set(0)
	former.retire(next.peers)
	f.current.Store(next)
	former.close(next.peers)
	f.options.Log.Info("peers file loaded", "file", f.options.File, "peers", len(next.peers))
}

func (f *Federation) isSelf(p *Peer) bool {
	return p.Publisher == f.options.Publisher.Domain || p.URL == strings.TrimRight(f.options.Publisher.Source(), "/")
}

// reuse returns the peer of the set with the given configuration, including its connections and
// state. If there is none, it returns a new peer, which uses the proxy.
func (s *peerSet) reuse(configured *Peer, clusterDomain string, proxy func() *egress.Proxy) *peer {
	for _, p := range s.peers {
		if reflect.DeepEqual(p.Peer, *configured) {
			return p
		}
	}
	return newPeer(*configured, clusterDomain, proxy)
}

// close closes the idle connections of the peers that are not in kept. It deletes the metrics of a peer, but that of its certificate, if no
// peer in kept has the same name.
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

// retire deletes the metrics of the certificates of the peers that are not in kept, and lets them set none any more. It runs before the
// peers in kept are in use: those of the same name have set none yet.
func (s *peerSet) retire(kept []*peer) {
	for _, p := range s.peers {
		if !slices.Contains(kept, p) {
			p.mu.Lock()
			p.isRetired = true
			certificateExpiry.DeleteLabelValues(p.Name)
			p.mu.Unlock()
		}
	}
}

// publisherOf returns the peer of the set whose publisher is domain, or nil if there is none.
func (s *peerSet) publisherOf(domain string) *peer {
	for _, p := range s.peers {
		if p.Publisher == domain {
			return p
		}
	}
	return nil
}

// Referrals returns the entries of all peers. The URL of an entry is the peer's search route if
// forSearch is true. Otherwise, for a manifest, it is the base URL of the peer's API.
func (f *Federation) Referrals(forSearch bool) []ard.Entry {
	var entries []ard.Entry
	for _, p := range f.current.Load().peers {
		url := p.URL + "/"
		if forSearch {
			url += "search"
		}
		entries = append(entries, ard.RegistryEntry(p.Publisher, "Registry "+p.Name, url))
	}
	return entries
}

// Values of State.State.
const (
	reachable   = "Reachable"
	unreachable = "Unreachable"
	unknown     = "Unknown"
)

// State is the state of a peer as this replica of the registry observed it.
type State struct {
	Name      string `json:"name"`
	URL       string `json:"url"`
	Publisher string `json:"publisher"`
	Mode      Mode   `json:"mode"`
	// State is Reachable or Unreachable, by the last search that changed it, or Unknown before such
	// a search.
	State string `json:"state"`
	// CircuitOpen is true while the circuit breaker of the peer is open.
	CircuitOpen bool   `json:"circuitOpen"`
	LastSuccess string `json:"lastSuccess,omitempty"`
	// Error is the message of the last failure, "" if there was none since the last success.
	Error string `json:"error,omitempty"`
}

// States returns the states of all peers in the order of the file.
func (f *Federation) States() []State {
	states := []State{}
	for _, p := range f.current.Load().peers {
		s := State{Name: p.Name, URL: p.URL, Publisher: p.Publisher, Mode: p.Mode, State: unknown, CircuitOpen: p.breaker.State() == gobreaker.StateOpen}
		p.mu.Lock()
		if !p.lastSuccess.IsZero() {
			s.State = reachable
			s.LastSuccess = p.lastSuccess.UTC().Format(time.RFC3339)
		}
		if p.last != nil {
			s.State = unreachable
			s.Error = p.last.message
		}
		p.mu.Unlock()
		states = append(states, s)
	}
	return states
}

var (
	requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_registry_peer_requests_total",
		Help: "Searches of the registries of other clusters, by peer and outcome; https://github.com/a2a-operator/a2a-operator/blob/main/docs/how-to/federation.md lists the outcomes.",
	}, []string{"peer", "outcome"})
	requestDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "a2a_registry_peer_request_duration_seconds",
		Help:    "Time of a search of a registry of another cluster, with the wait for its budget, by peer.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2, 5, 10},
	}, []string{"peer"})
	dropped = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_registry_peer_results_dropped_total",
		Help: "Results of peers that the registry dropped, by peer and reason; https://github.com/a2a-operator/a2a-operator/blob/main/docs/how-to/federation.md lists the reasons.",
	}, []string{"peer", "reason"})
	certificateExpiry = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "a2a_registry_peer_tls_certificate_expiry_timestamp_seconds",
		Help: "Unix time at which the certificate of a registry of another cluster expires, by peer, as of the last connection that accepted it.",
	}, []string{"peer"})
	fileRefused = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "a2a_registry_peers_file_refused",
		Help: "Whether the peers file is refused (1), so that the former peers stay in use, or not (0).",
	})
)

// Collectors returns the metrics, which all Federations of a process share.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{requests, requestDuration, dropped, certificateExpiry, fileRefused}
}

// deleteMetrics deletes the metrics of a peer that was removed.
func deleteMetrics(name string) {
	labels := prometheus.Labels{"peer": name}
	requests.DeletePartialMatch(labels)
	requestDuration.DeletePartialMatch(labels)
	dropped.DeletePartialMatch(labels)
}
