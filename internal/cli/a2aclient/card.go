// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package a2aclient connects the CLI to agents: it reads a card from a URL or a file, makes connections through the
// proxy of the environment, and adds the credential of the user. Package client makes the calls.
//
// It returns errors of package failure.
package a2aclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// Card is the card of an agent.
type Card struct {
	*card.Card
	// JSON is the text of the card.
	JSON []byte
	// URL is the address from which the card was read, nil for a file.
	URL *url.URL
}

// ReadCard reads the card that a reference names: a host or an origin, the URL of an agent or of a card, or a file. It
// sends no credential. The code of its failure is Usage, CardNotFound, CardInvalid or Unreachable, unless ctx has
// ended.
func ReadCard(ctx context.Context, httpClient *http.Client, reference string) (*Card, error) {
	if path, ok := strings.CutPrefix(reference, "file://"); ok {
		return readCardFile(path)
	}
	if !strings.Contains(reference, "://") {
		if _, err := os.Stat(reference); err == nil || strings.ContainsAny(reference[:1], "./") {
			return readCardFile(reference)
		}
		reference = defaultScheme(reference) + "://" + reference
	}
	u, err := url.Parse(reference)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, failure.New(failure.Usage, "%q is no URL of an agent: it must begin with http:// or https://, or be a file", reference)
	}
	if u.User != nil {
		return nil, failure.New(failure.Usage, "the URL of the agent has a user name: use --bearer or --api-key for credentials")
	}
	text, at, err := fetch(ctx, httpClient, u, places(u), "card")
	if err != nil {
		return nil, err
	}
	return parseCard(text, at, at.String())
}

// defaultScheme returns http for loopback hosts, and https for all others.
func defaultScheme(host string) string {
	name, _, _ := strings.Cut(host, "/")
	name = strings.TrimPrefix(strings.ToLower(name), "[")
	if strings.HasPrefix(name, "localhost") || strings.HasPrefix(name, "127.") || strings.HasPrefix(name, "::1") {
		return "http"
	}
	return "https"
}

func readCardFile(path string) (*Card, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, failure.Wrap(failure.CardNotFound, err, "read card")
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, client.MaxCard+1))
	if err != nil {
		return nil, failure.Wrap(failure.CardNotFound, err, "read card")
	}
	return parseCard(text, nil, path)
}

// places returns the URLs at which a card may be, in the order in which ReadCard tries them.
func places(u *url.URL) []*url.URL {
	if u.Path == "" || u.Path[0] != '/' { // the URL has no path, such as https://host?query
		rooted := *u
		rooted.Path = "/" + u.Path
		rooted.RawPath = ""
		u = &rooted
	}
	if strings.HasSuffix(u.Path, ".json") {
		return []*url.URL{u}
	}
	below, root := client.CardURLs(u)
	if len(root) > 0 {
		below = append(below, u) // the URL may be the URL of the card
	}
	return append(below, root...)
}

// fetch reads a document, which kind names, from the first of the places that serves one. u is the URL that the user has named.
func fetch(ctx context.Context, httpClient *http.Client, u *url.URL, places []*url.URL, kind string) ([]byte, *url.URL, error) {
	text, at, err := client.ResolveCard(ctx, newStream(following{httpClient}), places, nil)
	missing, isMissing := errors.AsType[*client.NoCardError](err)
	switch {
	case err == nil:
		return text, at, nil
	case errors.Is(err, client.ErrCardTooLarge):
		return nil, nil, tooLarge(kind, at.String())
	case !isMissing:
		return nil, nil, explainConnection(ctx, err, u)
	}
	problem := failure.New(failure.CardNotFound, "no %s at %s: the answer is %d %s", kind, missing.URL, missing.Status, http.StatusText(missing.Status))
	problem.Cause = missing
	if missing.Status == http.StatusUnauthorized || missing.Status == http.StatusForbidden {
		return nil, nil, problem.WithHint("the server shows its %s to authenticated callers only: save the card to a file, and name the file", kind)
	}
	return nil, nil, problem.WithHint("name the URL of the %s, which its documentation has", kind)
}

// following sends requests by an HTTP client that follows redirects.
type following struct{ *http.Client }

// RoundTrip implements http.RoundTripper. Its errors are failures.
func (f following) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := f.Do(r)
	if err != nil {
		return nil, ExplainConnection(r.Context(), err, r.URL)
	}
	return resp, nil
}

// tooLarge returns the failure for a document of more than client.MaxCard bytes.
func tooLarge(kind, place string) error {
	return failure.New(failure.CardInvalid, "the %s at %s has more than %d bytes", kind, place, client.MaxCard)
}

func parseCard(text []byte, u *url.URL, place string) (*Card, error) {
	if len(text) > client.MaxCard {
		return nil, tooLarge("card", place)
	}
	if isCatalog(text) {
		return nil, failure.New(failure.CardInvalid, "the document at %s is a catalog of agents, and no card", place).
			WithHint("kubectl a2a import catalog makes remote Agents of its entries; or name the URL of one of its cards")
	}
	parsed, err := card.Parse(text)
	if err != nil {
		return nil, failure.New(failure.CardInvalid, "the document at %s is not an Agent Card: %s", place, strings.TrimPrefix(err.Error(), "read card: ")).
			WithHint("name the URL of the agent or of its card")
	}
	return &Card{Card: parsed, JSON: text, URL: u}, nil
}

// Credential authenticates the caller. At most one field is set.
type Credential struct {
	Bearer string
	APIKey string
}

// IsZero reports whether there is no credential.
func (c Credential) IsZero() bool { return c == Credential{} }

// apiKeyScheme returns the first security scheme of the card that is an API key, nil for none.
func apiKeyScheme(c *Card) *card.SecurityScheme {
	for i := range c.SecuritySchemes {
		if s := &c.SecuritySchemes[i]; s.Type == card.SchemeAPIKey {
			return s
		}
	}
	return nil
}

// authenticate adds the credential to a request. It sends an API key in the header, query parameter or cookie that the
// card declares. The card must declare one if the credential has an API key.
func (c Credential) authenticate(r *http.Request, to *Card) {
	if c.Bearer != "" {
		r.Header.Set("Authorization", "Bearer "+c.Bearer)
	}
	if c.APIKey == "" {
		return
	}
	scheme := apiKeyScheme(to)
	key := c.APIKey
	switch scheme.In {
	case "query":
		q := r.URL.Query()
		q.Set(scheme.ParameterName, key)
		r.URL.RawQuery = q.Encode()
	case "cookie":
		r.AddCookie(&http.Cookie{Name: scheme.ParameterName, Value: url.QueryEscape(key)}) //nolint:gosec // a client sends no attributes
	default:
		r.Header.Set(scheme.ParameterName, key)
	}
}

// schemesHint returns a hint that names the credential for the first security scheme of the card.
func schemesHint(c *Card) string {
	for i := range c.SecuritySchemes {
		switch s := &c.SecuritySchemes[i]; s.Type {
		case card.SchemeAPIKey:
			return "the card asks for an API key: set A2ACLI_API_KEY or --api-key"
		case card.SchemeOpenIDConnect:
			return fmt.Sprintf("the card asks for a token of %s: set A2ACLI_BEARER or --bearer", s.OpenIDConnectURL)
		case card.SchemeHTTP, card.SchemeOAuth2:
			return "the card asks for a bearer token: set A2ACLI_BEARER or --bearer"
		case card.SchemeMutualTLS:
			return "the card asks for a client certificate: use --cert-file and --key-file"
		}
	}
	return "set A2ACLI_BEARER or --bearer to a token for the agent"
}
