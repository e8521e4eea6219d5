// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

const mediaJSON = "application/json"

// typeJSON is the Content-Type of JSON responses. All responses share this slice, which is safe,
// because net/http copies the headers before it sends them.
var typeJSON = []string{mediaJSON}

// unchanged sets the header ETag. If the header If-None-Match of the request has this ETag or *
// (RFC 9110, section 13.1.2), unchanged responds 304 and returns true. The caller must then write
// no response.
func unchanged(w http.ResponseWriter, r *http.Request, etag string) bool {
	w.Header()["Etag"] = []string{etag}
	has := hasETag(r, etag)
	if has {
		w.WriteHeader(http.StatusNotModified)
	}
	return has
}

// hasETag reports whether the client has the response with an ETag.
func hasETag(r *http.Request, etag string) bool {
	for _, header := range r.Header["If-None-Match"] {
		for candidate := range strings.SplitSeq(header, ",") {
			candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
			if candidate == strings.TrimPrefix(etag, "W/") || candidate == "*" {
				return true
			}
		}
	}
	return false
}

// write sends a body. It ignores the error of a write: the client has then disconnected, or has not
// read in time.
func write(w http.ResponseWriter, body []byte) {
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	_, _ = w.Write(body)
}

// piece is how much of a response with a transfer is written at a time, in bytes.
const piece = 64 << 10

// sender writes a response whose memory it reserves. The response ends if the client is slow while others wait for the memory. One
// goroutine uses it, and calls end at last.
type sender struct {
	http.ResponseWriter
	limits      *searchLimits
	reservation limit.Reservation
	// transfer is nil before the first write, and for a small response.
	transfer    *limit.Transfer
	endTransfer func()
	stopped     atomic.Bool
}

// sender returns a writer of a response.
func (s *searchLimits) sender(w http.ResponseWriter) *sender {
	return &sender{ResponseWriter: w, limits: s}
}

// Unwrap implements the interface of http.ResponseController.
func (s *sender) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Write implements http.ResponseWriter.
func (s *sender) Write(text []byte) (sent int, err error) {
	if s.transfer == nil && s.reservation.Held() > limit.Small {
		s.transfer, s.endTransfer = s.limits.responses.Watch(&s.reservation, s.limits.clock.Now, s.stop)
	}
	if s.transfer == nil {
		return s.ResponseWriter.Write(text)
	}
	for sent < len(text) {
		if s.stopped.Load() { // also if a later deadline was set meanwhile
			return sent, errWriteTimeout
		}
		n, err := s.ResponseWriter.Write(text[sent:min(len(text), sent+piece)])
		s.transfer.Moved(n)
		sent += n
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// stop makes the running write and all later ones fail.
func (s *sender) stop() {
	s.stopped.Store(true)
	_ = http.NewResponseController(s.ResponseWriter).SetWriteDeadline(time.Unix(1, 0)) // without support of deadlines, the response ends after the write
}

// end releases the memory of the response.
func (s *sender) end() {
	if s.transfer != nil {
		s.endTransfer()
	}
	s.reservation.Release()
}

// writeJSON sends a value as JSON.
func writeJSON(w http.ResponseWriter, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header()["Content-Type"] = typeJSON
	write(w, append(body, '\n'))
	return nil
}

// weakETag returns a weak validator for a body.
func weakETag(body []byte) string {
	sum := sha256.Sum256(body)
	return `W/"` + hex.EncodeToString(sum[:8]) + `"`
}

// maxPageBuffer is the largest buffer that writePage reuses for later pages, in bytes. A page of 50 agents has
// about 60 KB.
const maxPageBuffer = 256 << 10

// pageBuffers has buffers for the bodies of pages, for reuse. Without reuse, each page would become garbage.
// The additional garbage collections, which scan the whole index, would double the CPU time of searches.
var pageBuffers = sync.Pool{New: func() any { return new([]byte) }}

// writePage sends a page as JSON.
func writePage(w http.ResponseWriter, p *index.Page) {
	buffer := pageBuffers.Get().(*[]byte)
	body := p.AppendBody((*buffer)[:0])
	w.Header()["Content-Type"] = typeJSON
	write(w, body) // w keeps no reference to the body
	if cap(body) <= maxPageBuffer {
		*buffer = body
		pageBuffers.Put(buffer)
	}
}

// limitedCallers bounds the callers that have limits of their own. All further callers share
// limits.
const limitedCallers = 4096

// limited counts the requests that a limit rejected, by the name of the limit. A limit applies to
// each address (token_reviews), to each pod (health_reports), to each caller (searches, lookups, responses,
// watches), to all callers together (reviews), or to a replica (concurrent_searches,
// card_verifications, response_memory, total_watches).
var limited = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "a2a_registry_limited_total",
	Help: "Requests to the registry that a limit rejected, by the limit; https://github.com/a2a-operator/a2a-operator/blob/main/docs/reference/limits.md lists them.",
}, []string{"limit"})

// principalOf returns the accounting principal of a caller. All pods of a ServiceAccount
// have the same principal, and so share its limits.
func principalOf(c *access.Caller) a2a.AccountingPrincipal {
	return a2a.AccountingPrincipal{Principal: c.Username}
}

// shareOf returns the accounting principal for what all callers share. The callers of a tenant have the same one.
func shareOf(c *access.Caller) a2a.AccountingPrincipal {
	return a2a.AccountingPrincipal{Principal: c.Tenant()}
}
