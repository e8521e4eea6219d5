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

// errNoCard is that of a place without a card.
var errNoCard = errors.New("no card here")

// readCard finds the card and chooses from what it offers.
func (b *Backend) readCard(ctx context.Context, t *backend.Turn) (*peer, error) {
	if b.elsewhere != nil {
		return b.choose(b.elsewhere.Card)
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

// choose takes the best that a card offers.
func (b *Backend) choose(text []byte) (*peer, error) {
	offer, err := decodeCard(text)
	if err != nil {
		return nil, backend.Failed("The agent's card "+stream.Fault(err, "one"), err)
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

// fetchCard looks below the path of the agent, if it has one, and at the root.
func (b *Backend) fetchCard(ctx context.Context, t *backend.Turn) ([]byte, error) {
	bases := []string{""}
	if base := strings.TrimSuffix(b.url.EscapedPath(), "/"); base != "" {
		bases = []string{base, ""}
	}
	refusal := error(nil)
	for _, base := range bases {
		for _, place := range wellKnown {
			u := *b.url
			u.RawPath = base + place
			u.Path = strings.TrimSuffix(b.url.Path, "/") + place
			if base == "" {
				u.Path, u.RawPath = place, ""
			}
			text, err := b.fetchCardAt(ctx, t, &u)
			if err == nil || !errors.Is(err, errNoCard) {
				return text, err
			}
			refusal = err
		}
	}
	return nil, backend.Failed("The agent serves no card at "+strings.Join(wellKnown, " or ")+
		"; one that speaks A2A needs it, to say which version", refusal)
}

func (b *Backend) fetchCardAt(ctx context.Context, t *backend.Turn, u *url.URL) ([]byte, error) {
	header := stream.Header(t, "application/json")
	delete(header, "Content-Type")
	// Who serves a card in each version is asked for that of the latest.
	header[version.Name] = []string{version.V10.String()}
	resp, err := b.client.Do(ctx, &stream.Request{Method: http.MethodGet, URL: u, Header: header})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if !stream.Success(resp.StatusCode) {
		return nil, fmt.Errorf("%w: %w", errNoCard, stream.Refusal(resp.StatusCode))
	}
	body := b.client.NewBody(resp, nil)
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

// offer is what counts of a card.
type offer struct {
	interfaces []offered
	streaming  bool
	// old is true for members that only 0.1 has.
	old bool
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
			if v, _ := version.Parse(each.version); err != nil || each.version != "" && v != version.V02 && v != version01 {
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
		return version01
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
