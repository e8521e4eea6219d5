// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// Bounds of an import from a catalog.
const (
	maxCatalogs    = 64
	maxCatalogRead = 256
	cardReaders    = 8
)

func (a *app) importCatalogCommand() *cobra.Command {
	f := importFlags{app: a}
	var transport a2aclient.TransportOptions
	var private bool
	cmd := &cobra.Command{
		Use:   "catalog URL",
		Short: "Make remote Agents from the cards in a catalog",
		Long: `Make remote Agents from the cards in a catalog: an AI Catalog, or a manifest of ARD (Agentic Resource Discovery).

The command reads the catalogs that the catalog names at its own origin, too, and at most 256 cards: those of the server of the catalog, and
those at public addresses. It writes the Agents to stdout, for kubectl apply -f -. It writes each entry that is no agent, or that has no usable
card, to stderr, with the reason.`,
		Example: `  kubectl a2a import catalog https://agents.example.com > agents.yaml`,
		Args:    exactArgs("URL"),
	}
	f.addTo(cmd)
	cmd.Flags().StringVar(&transport.CAFile, "ca-file", "", "PEM `FILE` of certificate authorities that may sign the certificates of the servers, in addition to those of the system.")
	cmd.Flags().BoolVar(&private, "private", false, "Read cards at private addresses of other servers than that of the catalog, too.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		namespace, err := a.cluster.Namespace()
		if err != nil {
			return err
		}
		if at, err := url.Parse(args[0]); err == nil && !private {
			transport.Trusted = at
			transport.HowToTrust = "--private reads catalogs and cards at private addresses of other servers, too"
		}
		client, err := a2aclient.NewHTTPClient(transport, a.debugf())
		if err != nil {
			return err
		}
		walk := &catalogWalk{client: client, namespace: namespace, result: &conversion.Result{}}
		if err := walk.run(cmd.Context(), args[0]); err != nil {
			return err
		}
		return f.finish(cmd.Context(), walk.result)
	}
	return cmd
}

// catalogWalk reads catalogs and the cards that they name.
type catalogWalk struct {
	client    *http.Client
	namespace string
	result    *conversion.Result
	// cards are the entries whose cards are read, in the order of the catalogs, catalogs is the number of the catalogs, and entries that of
	// their entries.
	cards             []catalogCard
	catalogs, entries int
}

// catalogCard is an entry of a catalog with the URL of a card.
type catalogCard struct {
	source *conversion.Source
	path   []any
	url    string
}

// run adds the Agents of the catalog at a URL to the result. Its error is about this catalog; the report has the problems of others.
func (w *catalogWalk) run(ctx context.Context, at string) error {
	first, err := a2aclient.ReadCatalog(ctx, w.client, at)
	if err != nil {
		return err
	}
	seen := map[string]bool{first.URL.String(): true}
	waiting := []*a2aclient.Catalog{first}
	for len(waiting) > 0 {
		next := w.read(waiting[0], seen)
		waiting = waiting[1:]
		for _, entry := range next {
			catalog, err := a2aclient.ReadCatalog(ctx, w.client, entry.url)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				entry.source.Check(err.Error(), cureOf(err, "import this catalog later"), entry.path...)
				continue
			}
			waiting = append(waiting, catalog)
		}
	}
	return w.readCards(ctx)
}

// read notes the cards of a catalog, and returns its entries that are catalogs.
func (w *catalogWalk) read(c *a2aclient.Catalog, seen map[string]bool) (catalogs []catalogCard) {
	source := conversion.NewSource("Catalog "+c.URL.String(), map[string]any{}, nil, &w.result.Report)
	rest := min(len(c.Entries), a2aclient.MaxEntries-w.entries)
	w.entries += rest
	if c.Cut || rest < len(c.Entries) {
		source.Check(fmt.Sprintf("at most %d entries are read", a2aclient.MaxEntries), "import the other cards by themselves", "entries")
	}
	for i, entry := range c.Entries[:rest] {
		path := []any{"entries", i}
		at, err := c.URL.Parse(entry.URL)
		kind := cmp.Or(entry.Type, entry.MediaType)
		switch {
		case err != nil || entry.URL == "" || at.Scheme != "http" && at.Scheme != "https":
			source.Check("the entry has no URL", "ask the publisher of the catalog", path...)
		case seen[at.String()]:
		case kind == a2aclient.TypeAgentCard && len(w.cards) == maxCatalogRead:
			source.Check(fmt.Sprintf("at most %d cards are read", maxCatalogRead), "import the card by itself", path...)
		case kind == a2aclient.TypeAgentCard:
			w.cards = append(w.cards, catalogCard{source, path, at.String()})
		case kind == a2aclient.TypeCatalog && !isSameOrigin(at, c.URL):
			source.Check("the catalog is at another origin: "+at.String(), "import it by itself, if you trust its publisher", path...)
		case kind == a2aclient.TypeCatalog && w.catalogs == maxCatalogs:
			source.Check(fmt.Sprintf("at most %d catalogs are read", maxCatalogs), "import the catalog by itself", path...)
		case kind == a2aclient.TypeCatalog:
			w.catalogs++
			catalogs = append(catalogs, catalogCard{source, path, at.String()})
		default:
			source.Check(fmt.Sprintf("the entry is no agent: its type is %q", kind), conversion.NothingToDo, path...)
		}
		if at != nil {
			seen[at.String()] = true
		}
	}
	return catalogs
}

// cureOf returns the hint of an error about a connection, or else another cure.
func cureOf(err error, otherwise string) string {
	problem, ok := errors.AsType[*failure.Error](err)
	if ok && problem.Code == failure.Unreachable {
		return cmp.Or(problem.Hint, otherwise)
	}
	return otherwise
}

func isSameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// readCards reads the cards, a few at a time, and adds their Agents.
func (w *catalogWalk) readCards(ctx context.Context) error {
	results := make([]*conversion.Result, len(w.cards)) // without the cards, which may be large
	problems := make([]error, len(w.cards))
	var readers errgroup.Group
	readers.SetLimit(cardReaders)
	for i, entry := range w.cards {
		readers.Go(func() error {
			card, err := a2aclient.ReadCard(ctx, w.client, entry.url)
			if err == nil {
				results[i], err = conversion.FromCard(card.Card, card.URL, w.namespace, "")
			}
			problems[i] = err
			return ctx.Err()
		})
	}
	if err := readers.Wait(); err != nil {
		return err
	}
	names := map[string]int{}
	for i, entry := range w.cards {
		made := results[i]
		err := problems[i]
		if err != nil {
			entry.source.Check("no Agent was made: "+err.Error(), cureOf(err, "import the card later with kubectl a2a import card"), entry.path...)
			continue
		}
		for _, agent := range made.Agents {
			name := agent.Name
			names[name]++
			if names[name] > 1 {
				agent.Name = conversion.AgentName(fmt.Sprintf("%.48s-%d", name, names[name]))
				entry.source.Check("another agent of the catalog has the same name", "choose the name", entry.path...)
			}
		}
		w.result.Agents = append(w.result.Agents, made.Agents...)
		w.result.Report = append(w.result.Report, made.Report...)
	}
	if len(w.result.Agents) == 0 {
		return failure.New(failure.CardNotFound, "the catalog names no agent with a usable card").WithHint("it has %d cards; kubectl a2a import card URL says what is wrong with one", len(w.cards))
	}
	return nil
}
