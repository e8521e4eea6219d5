// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// Bounds on the card.
const (
	maxCard       = 1 << 20
	maxInterfaces = 64
	cardTimeout   = 10 * time.Second
)

// wellKnown are the places of a card, that of 0.3 and later first.
var wellKnown = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// readCard finds the card and chooses from what it offers.
func (b *Backend) readCard(ctx context.Context, t *backend.Turn) (*peer, error) {
	if b.elsewhere != nil {
		return b.choose(b.elsewhere.Card)
	}
	if b.pinned != (version.Version{}) && b.cardPath == "" {
		return b.assume()
	}
	limited, stop := context.WithTimeout(ctx, cardTimeout)
	defer stop()
	text, err := b.fetchCard(limited, t)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, backend.Failed("The agent did not serve its card within "+cardTimeout.String(), err)
	}
	if err != nil {
		return nil, err
	}
	return b.choose(text)
}

// assume returns the peer for a version that was configured, without a card: JSON-RPC
// at the path of the URL, streaming until the agent refuses it.
func (b *Backend) assume() (*peer, error) {
	o := &offer{streaming: true, pinned: true, interfaces: []offered{{url: "/", binding: string(card.JSONRPC), version: b.pinned.String()}}}
	return o.choose(b.url)
}

// choose takes the best that a card offers.
func (b *Backend) choose(text []byte) (*peer, error) {
	offer, err := decodeCard(text)
	if err != nil {
		return nil, backend.Unrecognized("The agent's card "+stream.Fault(err, "one"), text, err)
	}
	if b.pinned != (version.Version{}) {
		for i := range offer.interfaces {
			offer.interfaces[i].version = b.pinned.String()
		}
		offer.pinned = true
	}
	if b.elsewhere != nil {
		offer.interfaces = slices.DeleteFunc(offer.interfaces, func(i offered) bool { return !i.within(b.url) })
	}
	return offer.choose(b.url)
}

// within reports whether an interface is at an origin.
func (i *offered) within(origin *url.URL) bool {
	u, err := url.Parse(i.url)
	return err == nil && u.User == nil && u.Scheme == origin.Scheme && strings.EqualFold(u.Hostname(), origin.Hostname()) && port(u) == port(origin)
}

func port(u *url.URL) string {
	if u.Port() == "" {
		return map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Port()
}

// fetchCard looks for the card at its configured path or, without one, at the
// well-known places below the path of the agent, if it has one, and at the root.
func (b *Backend) fetchCard(ctx context.Context, t *backend.Turn) ([]byte, error) {
	places := b.cardPlaces()
	var refusal *noCardError
	for _, u := range places {
		text, err := b.fetchCardAt(ctx, t, u)
		missing, isMissing := errors.AsType[*noCardError](err)
		if !isMissing {
			return text, err
		}
		if refusal == nil || missing.rank() > refusal.rank() {
			refusal = missing
		}
	}
	return nil, refusal.failure(places)
}

func (b *Backend) cardPlaces() []*url.URL {
	at := func(escaped string) *url.URL {
		u := *b.url
		u.Path, u.RawPath = escaped, ""
		if unescaped, err := url.PathUnescape(escaped); err == nil {
			u.Path, u.RawPath = unescaped, escaped
		}
		return &u
	}
	if b.cardPath != "" {
		return []*url.URL{at(b.cardPath)}
	}
	bases := []string{""}
	if base := strings.TrimSuffix(b.url.EscapedPath(), "/"); base != "" {
		bases = []string{base, ""}
	}
	var places []*url.URL
	for _, base := range bases {
		for _, place := range wellKnown {
			places = append(places, at(base+place))
		}
	}
	return places
}

// noCardError is the answer of a place that has no card.
type noCardError struct {
	at      *url.URL
	status  int
	excerpt string
}

// Error returns where there was no card, for the log.
func (n *noCardError) Error() string {
	return "GET " + n.at.EscapedPath() + " was answered " + strconv.Itoa(n.status)
}

// rank says how much the answer explains: nothing is there (0), a status (1), or
// a status with a text (2).
func (n *noCardError) rank() int {
	switch {
	case n.status == http.StatusNotFound:
		return 0
	case n.excerpt == "":
		return 1
	default:
		return 2
	}
}

// failure returns what the client reads when no place has a card: the first answer
// that explains it best, because the places that follow are mere guesses.
func (n *noCardError) failure(places []*url.URL) *backend.TurnError {
	const cure = "; backend.a2a.cardPath and backend.a2a.query say where the card is, and backend.a2a.version does without it"
	if n.rank() > 0 || len(places) == 1 {
		reason := "The agent serves no card: GET " + n.at.EscapedPath() + " was answered " + strconv.Itoa(n.status)
		if text := http.StatusText(n.status); text != "" {
			reason += " " + text
		}
		if n.excerpt != "" {
			reason += ": " + n.excerpt
		}
		return backend.Failed(reason+cure, n)
	}
	return backend.Failed("The agent serves no card at "+strings.Join(wellKnown, " or ")+
		", which says what version of A2A it speaks"+cure, n)
}

func (b *Backend) fetchCardAt(ctx context.Context, t *backend.Turn, u *url.URL) ([]byte, error) {
	header := stream.Header(t, "application/json")
	delete(header, "Content-Type")
	// A server that has a card for each version is asked for that of the latest.
	header[version.Name] = []string{version.V10.String()}
	resp, err := b.client.Do(ctx, &stream.Request{Method: http.MethodGet, URL: u, Header: header})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body := b.client.NewBody(resp, nil)
	if !stream.Success(resp.StatusCode) {
		return nil, &noCardError{at: u, status: resp.StatusCode, excerpt: explanation(body)}
	}
	if _, _, err := body.MediaType(); err != nil {
		return nil, err
	}
	text, fits, err := body.UpTo(maxCard)
	if err != nil {
		return nil, err
	}
	if !fits {
		return nil, backend.Failed(fmt.Sprintf("The agent's card exceeds %d bytes", maxCard), nil)
	}
	return text, nil
}

// explanation returns an excerpt of the body of an error, "" if it is not meant
// to be read as text or cannot be read.
func explanation(body *stream.Body) string {
	mediaType, _, err := body.MediaType()
	if err != nil || mediaType != "application/json" && mediaType != "application/problem+json" && mediaType != "text/plain" {
		return ""
	}
	text, fits, err := body.UpTo(maxRefusal)
	if err != nil || !fits {
		return ""
	}
	return backend.Excerpt(text)
}

// offer is what counts of a card.
type offer struct {
	interfaces []offered
	streaming  bool
	// old is true for members that only 0.1 has.
	old bool
	// pinned is true when the version was configured.
	pinned bool
}

// offered is one interface of a card.
type offered struct {
	url, binding, version, tenant string
}

// decodeCard reads a card of any version. What it says beside interfaces and
// streaming is for others.
func decodeCard(text []byte) (*offer, error) {
	r := jsonread.New(text)
	o := &offer{}
	main := offered{binding: string(card.JSONRPC)}
	var others []offered
	security := false
	for name := range r.Members() {
		switch string(name) {
		case "url":
			main.url = r.String()
		case "preferredTransport":
			main.binding = r.String()
		case "protocolVersion":
			main.version = r.String()
		case "additionalInterfaces":
			others = decodeInterfaces(r)
		case "supportedInterfaces":
			o.interfaces = decodeInterfaces(r)
		case "capabilities":
			for name := range r.Members() {
				if string(name) == "streaming" {
					o.streaming = r.Bool()
				}
			}
		case "authentication":
			o.old = true
		case "securitySchemes", "security", "supportsAuthenticatedExtendedCard":
			security = true
		}
	}
	o.old = o.old && !security
	if main.url != "" {
		o.interfaces = append(o.interfaces, main)
		for _, each := range others {
			each.version = main.version
			o.interfaces = append(o.interfaces, each)
		}
	}
	return o, r.End()
}

func decodeInterfaces(r *jsonread.Reader) []offered {
	var all []offered
	for i := range r.Elements() {
		if i >= maxInterfaces {
			r.TooMany(maxInterfaces)
			return nil
		}
		var each offered
		for name := range r.Members() {
			switch string(name) {
			case "url":
				each.url = r.String()
			case "transport", "protocolBinding":
				each.binding = r.String()
			case "protocolVersion":
				each.version = r.String()
			case "tenant":
				each.tenant = r.String()
			}
		}
		all = append(all, each)
	}
	return all
}

// choose returns the best interface that can be spoken to.
func (o *offer) choose(at *url.URL) (*peer, error) {
	for _, d := range preferred {
		for i := range o.interfaces {
			each := &o.interfaces[i]
			if each.binding != string(d.name) || !d.speaks(each.meant(o)) {
				continue
			}
			p, err := each.peer(d, at, o.streaming)
			if err == nil {
				p.pinned = o.pinned
			}
			if v, _ := version.Parse(each.version); err != nil || o.pinned || each.version != "" && v != version.V02 && v != version.V01 {
				return p, err
			}
			// Cards of 0.1 and 0.2 need not say which they are, and who passes on
			// such a card can but guess.
			other := rpcV01
			if d == rpcV01 {
				other = rpcV03
			}
			p.next, err = each.peer(other, at, o.streaming)
			return p, err
		}
	}
	return nil, backend.Failed(o.excuse(), nil)
}

// meant is the version of an interface. A card of 0.1 or 0.2 need not say it.
func (i *offered) meant(o *offer) version.Version {
	switch v, ok := version.Parse(i.version); {
	case !ok:
		return version.Version{Major: -1}
	case i.version != "":
		return v
	case o.old:
		return version.V01
	default:
		return version.V03
	}
}

func (i *offered) peer(d *dialect, at *url.URL, streaming bool) (*peer, error) {
	p := &peer{dialect: d, url: at, tenant: i.tenant}
	p.streaming.Store(streaming)
	if at.Path == "" {
		named, err := url.Parse(i.url)
		if err != nil {
			return nil, backend.Failed("The agent's card has an interface whose URL cannot be read", err)
		}
		u := *at
		u.Path, u.RawPath = named.Path, named.RawPath
		p.url = &u
	}
	if d.name == card.JSONRPC {
		if p.url.Path == "" {
			u := *p.url
			u.Path = "/"
			p.url = &u
		}
		return p, nil
	}
	u := *p.url
	u.RawPath = strings.TrimSuffix(strings.TrimSuffix(u.EscapedPath(), "/"), d.prefix)
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), d.prefix)
	p.url = &u
	return p, nil
}

// excuse says why nothing could be chosen, in words of our own.
func (o *offer) excuse() string {
	grpc := len(o.interfaces) > 0
	for i := range o.interfaces {
		grpc = grpc && o.interfaces[i].binding == string(card.GRPC)
	}
	switch {
	case len(o.interfaces) == 0:
		return "The agent's card names no interface: it has neither url nor supportedInterfaces"
	case grpc:
		return "The agent's card offers gRPC only; the sidecar talks to agents in JSON-RPC or HTTP+JSON"
	default:
		return "The agent's card offers no version of A2A that the sidecar speaks (0.1 to 1.0, in JSON-RPC or HTTP+JSON)"
	}
}
