// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/directory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// rewrite directs a request to its destination. It replaces the agent's credential by the
// sidecar's. The proxy drops hop-by-hop and forwarding headers.
func rewrite(r *httputil.ProxyRequest) {
	to := destinationOf(r.In.Context())
	query := r.Out.URL.RawQuery
	*r.Out.URL = *to.target
	r.Out.URL.RawQuery = query
	r.Out.Host = to.target.Host
	for _, name := range []string{"Authorization", "Cookie", "Origin", "Referer", headerTask} {
		r.Out.Header.Del(name)
	}
	token := to.registryToken
	if to.kind == kindAgent {
		token = to.agentToken
	}
	r.Out.Header.Set("Authorization", "Bearer "+token)
	if to.rewrites == rewriteNone {
		return
	}
	r.Out.Header.Del("Accept-Encoding")
	if to.rewrites.isCard() {
		// A rewritten card has neither an ETag nor a Last-Modified (rewriteBody), so a client
		// cannot have a valid condition for it.
		r.Out.Header.Del("If-None-Match")
		r.Out.Header.Del("If-Modified-Since")
	}
}

// modify refuses redirects, because they lead around the gateway. It rewrites the addresses
// in responses, and removes a token from the cache if the agent has rejected it.
func (h *Handler) modify(response *http.Response) error {
	redirect := response.StatusCode >= 300 && response.StatusCode < 400
	if redirect && response.StatusCode != http.StatusNotModified {
		return errRedirect
	}
	response.Header.Del("Set-Cookie")
	to := destinationOf(response.Request.Context())
	to.result.status = response.StatusCode
	// gRPC-Web responses without messages have their status in a header.
	unauthenticated := response.StatusCode == http.StatusUnauthorized || response.Header.Get("Grpc-Status") == "16"
	if to.kind == kindAgent && unauthenticated {
		h.tokens.Reject(to.agentTokenKey, to.agentToken)
	}
	if to.rewrites == rewriteNone || response.StatusCode != http.StatusOK {
		return nil
	}
	if response.Request.Method == http.MethodHead {
		response.Header.Del("Content-Length") // the rewritten response has another length
		return nil
	}
	return h.rewriteBody(to, response)
}

const (
	// maxCardRequest is the maximum size of a JSON-RPC request whose method the gateway reads,
	// in bytes. A request for the extended card contains little more than its method.
	maxCardRequest = 16 << 10
	// maxCard is the maximum size of a card that is rewritten, in bytes.
	maxCard = 4 << 20
)

// readdressing returns which content of the response must be rewritten, as far as the path
// of the request shows it. For JSON-RPC, the path does not show it, so prepareCall also
// calls readdressingRPC. For the card of an agent in the registry, readdressing also sets
// namespace and name.
func (d *destination) readdressing(r *http.Request) rewriting {
	if d.kind == kindRegistry && d.isARDCard() {
		return rewriteCard
	}
	if d.kind == kindRegistry && (isManifestPath(d.rest) || strings.HasPrefix(d.rest, ardPrefix) && d.rest != ardExplore) {
		return rewriteARD
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return rewriteNone
	}
	if d.kind == kindAgent {
		if isCardPath(d.target.EscapedPath()) {
			return rewriteCard
		}
		return rewriteNone
	}
	if d.rest == registryAgents {
		return rewriteEntries
	}
	rest, ok := strings.CutPrefix(d.rest, registryAgents+"/")
	if !ok {
		return rewriteNone
	}
	namespace, rest, _ := strings.Cut(rest, "/")
	name, rest, deeper := strings.Cut(rest, "/")
	if !directory.IsLabel(namespace) || !directory.IsLabel(name) {
		return rewriteNone
	}
	switch {
	case !deeper:
		return rewriteEntries
	case rest == "card":
		// The interfaces on the card are replaced by interfaces at the URL of this agent.
		d.namespace = namespace
		d.name = name
		return rewriteCard
	default:
		return rewriteNone
	}
}

// isARDCard reports whether a request is for the registry's copy of a card. It sets namespace and name to those of the agent.
func (d *destination) isARDCard() bool {
	rest, isCard := strings.CutPrefix(d.rest, ardCards)
	namespace, name, _ := strings.Cut(rest, "/")
	if !isCard || !directory.IsLabel(namespace) || !directory.IsLabel(name) {
		return false
	}
	d.namespace = namespace
	d.name = name
	return true
}

// readdressingRPC returns rewriteRPCCard if a request asks for the extended card over
// JSON-RPC, and else rewriteNone. It reads at most maxCardRequest+1 bytes of the request and
// puts them back. It returns an error if the body ends early.
func (d *destination) readdressingRPC(r *http.Request) (rewriting, error) {
	if r.Method != http.MethodPost || d.target.Path != "/" || r.Body == nil || r.ContentLength > maxCardRequest {
		return rewriteNone, nil
	}
	head, err := io.ReadAll(io.LimitReader(r.Body, maxCardRequest+1))
	if err != nil {
		return rewriteNone, errors.New("request body is incomplete")
	}
	r.Body = putBack(head, r.Body)
	if len(head) <= maxCardRequest && isCardMethod(methodOf(head)) {
		return rewriteRPCCard, nil
	}
	return rewriteNone, nil
}

// isCardMethod reports whether a JSON-RPC method returns a card. The method may have its name
// of 1.0 or of 0.3.
func isCardMethod(method string) bool {
	return method == "GetExtendedAgentCard" || method == "agent/getAuthenticatedExtendedCard"
}

// methodOf returns the method of a JSON-RPC request, or "" if there is none.
func methodOf(body []byte) string {
	d := jsontext.NewDecoder(bytes.NewReader(body))
	if !enter(d, "method") || d.PeekKind() != '"' {
		return ""
	}
	method, err := d.ReadToken()
	if err != nil {
		return ""
	}
	return method.String()
}

// putBack returns a body that starts with head, the bytes that were already read from body.
func putBack(head []byte, body io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), body), body}
}

// rewriteBody replaces the addresses in a response. It charges the budget for the response
// and its rewritten copy until the response has been sent. An event stream is rewritten
// line by line while it is sent, and is not charged. Its error is errBusy, or wraps
// errCard or errEntries.
func (h *Handler) rewriteBody(d *destination, response *http.Response) error {
	if d.rewrites == rewriteEntries && strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		response.Body = newEventRewriter(response.Body, d.gateway)
		response.ContentLength = -1
		response.Header.Del("Content-Length")
		return nil
	}
	most := maxCard
	failure := errCard
	if d.rewrites == rewriteEntries || d.rewrites == rewriteARD {
		most = maxEntries
		failure = errEntries
	}
	reservation := &limit.Reservation{}
	principal := a2a.AccountingPrincipalAt(response.Request.RemoteAddr)
	from := &paced{Reader: response.Body}
	text, err := readCharged(from, response.ContentLength, int64(most), func(size int64) bool {
		if !h.options.Bodies.Grow(response.Request.Context(), reservation, principal, 2*size) {
			return false
		}
		if from.transfer == nil {
			from.transfer, from.end = h.options.Bodies.Watch(reservation, h.options.Now, func() { go response.Body.Close() })
		}
		return true
	})
	if from.transfer != nil {
		from.end()
	}
	closeErr := response.Body.Close()
	var out []byte
	if err = cmp.Or(err, closeErr); err == nil {
		out, err = d.rewritten(text)
	}
	if err != nil {
		reservation.Release()
		if errors.Is(err, errBusy) {
			return err
		}
		return fmt.Errorf("%w: %w", failure, err)
	}
	response.Body = &chargedBody{rest: out, release: sync.OnceFunc(reservation.Release)}
	response.ContentLength = int64(len(out))
	response.Header.Set("Content-Length", strconv.Itoa(len(out)))
	if d.rewrites.isCard() {
		response.Header.Set("Cache-Control", "no-store")
		response.Header.Del("ETag")
		response.Header.Del("Last-Modified")
	}
	return nil
}

// paced is the body of a response. Another agent may send it slowly, so that others get its memory if they wait for it. transfer is nil for a
// small body.
type paced struct {
	io.Reader
	transfer *limit.Transfer
	end      func()
}

// Read implements io.Reader.
func (p *paced) Read(b []byte) (n int, err error) {
	n, err = p.Reader.Read(b)
	if p.transfer != nil {
		p.transfer.Moved(n)
	}
	return n, err
}

func (d *destination) rewritten(body []byte) ([]byte, error) {
	switch d.rewrites {
	case rewriteEntries:
		return rewriteURLs(body, d.gateway)
	case rewriteARD:
		return rewriteARDURLs(body, d.registry, d.gateway)
	case rewriteRPCCard:
		return readdressRPCCard(body, d.base())
	default:
		return readdressCard(body, d.base())
	}
}

// eventRewriter is the body of an event stream of the registry. It rewrites the URLs of
// entries to lead through the gateway, and forwards each line as soon as the line has
// arrived.
type eventRewriter struct {
	io.Closer
	lines   *bufio.Reader
	gateway string
	// pending is the part of the current line that Read has not returned yet. err is the error
	// or io.EOF that follows the line.
	pending []byte
	err     error
}

func newEventRewriter(body io.ReadCloser, gateway string) *eventRewriter {
	return &eventRewriter{Closer: body, lines: bufio.NewReader(body), gateway: gateway}
}

// Read implements io.Reader. Its errors wrap errEntries, except for errors of the body
// itself.
func (r *eventRewriter) Read(p []byte) (int, error) {
	for len(r.pending) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		var line []byte
		line, r.err = r.line()
		if len(line) == 0 {
			continue
		}
		rewritten, err := r.rewrite(line)
		if err != nil {
			r.err = fmt.Errorf("%w: %w", errEntries, err)
			return 0, r.err
		}
		r.pending = rewritten
	}
	n := copy(p, r.pending)
	r.pending = r.pending[n:]
	return n, nil
}

// line reads a line including its line break. A line of more than maxEntries bytes is an
// error.
func (r *eventRewriter) line() (line []byte, err error) {
	for {
		part, err := r.lines.ReadSlice('\n')
		if len(line)+len(part) > maxEntries {
			return nil, fmt.Errorf("%w: a line is larger than %d bytes", errEntries, maxEntries)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// rewrite returns a line. If the line is data with a JSON object, the URLs in it are
// rewritten.
func (r *eventRewriter) rewrite(line []byte) ([]byte, error) {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if object := bytes.TrimLeft(data, " "); !ok || len(object) == 0 || object[0] != '{' {
		return line, nil
	}
	rewritten, err := rewriteURLs(data, r.gateway)
	return append([]byte("data:"), rewritten...), err
}
