// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/cardverify"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

const (
	// maxKeySet bounds a key set, in bytes.
	maxKeySet = 1 << 20
	// keySetTimeout bounds the read of a key set.
	keySetTimeout = 10 * time.Second
	// keySetPath is the path at which agents of the operator serve their keys.
	keySetPath = "/.well-known/jwks.json"
)

// verification is the outcome of a verification of a card.
type verification struct {
	// Outcome is one of the constants that begin with outcome.
	Outcome   string `json:"outcome"`
	KeyID     string `json:"keyId,omitempty"`
	Algorithm string `json:"algorithm,omitempty"`
	// Keys is the file or the URL of the keys.
	Keys string `json:"keys,omitempty"`
	// Covers is the part of the card that the signature covers.
	Covers string `json:"covers,omitempty"`
	// Reason says why the outcome is invalid or unverifiable. It is "" for the other outcomes.
	Reason string `json:"reason,omitempty"`
}

// Outcomes of a verification (a2a-cli specification, section 10.1).
const (
	outcomeVerified     = "verified"
	outcomeAbsent       = "absent"
	outcomeUnverifiable = "unverifiable"
	outcomeInvalid      = "invalid"
)

func (a *app) cardVerifyCommand() *cobra.Command {
	f := &agentFlags{}
	var keys string
	cmd := &cobra.Command{
		Use:   "verify [AGENT | --url URL]",
		Short: "Verify the signatures of the card of an agent",
		Long: `Verify the signatures of the card of an agent.

The command verifies with the keys of --key. Without --key, it uses the keys that the host of the card publishes: the key set of the
header jku, if its URL has the same host, or ` + keySetPath + `. Keys of the host prove that the card is unchanged since the host
signed it. They do not prove who runs the host.

The exit status is 0 if a signature is valid, or if the card has no signature. It is 1 otherwise. The field Outcome has the result.`,
		Example: `  kubectl a2a card verify echo
  kubectl a2a card verify --url https://agent.example.com --key publisher.pem`,
	}
	f.addTo(a, cmd)
	cmd.Flags().StringVar(&keys, "key", "", "`FILE` or https URL of the public keys to trust: PEM, a JWK or a JWK set.")
	a.outputFlag(cmd, outputText, outputJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		agent, err := a.findOnly(cmd, f, args)
		if err != nil {
			return err
		}
		defer agent.close()
		v, err := verifyCard(cmd.Context(), agent.http, agent.card, keys)
		if err != nil {
			return err
		}
		return a.reportVerification(v)
	}
	return cmd
}

// reportVerification writes the outcome. For the outcomes invalid and unverifiable, it returns a failure.
func (a *app) reportVerification(v *verification) error {
	if v.Outcome == outcomeInvalid || v.Outcome == outcomeUnverifiable {
		problem := failure.New(failure.CardInvalid, "the card is not verified (%s): %s", v.Outcome, v.Reason)
		if v.Outcome == outcomeUnverifiable {
			return problem.WithHint("--key names the file or the URL of the keys of the publisher")
		}
		return problem.WithHint("do not trust the card; ask the publisher")
	}
	if a.output == outputJSON {
		return a.printJSON(v)
	}
	w := terminal.NewWriter(a.Out)
	w.Field("Outcome", v.Outcome)
	if v.Outcome == outcomeVerified {
		w.Field("Key", cmp.Or(v.KeyID, "(no id)"))
		w.Field("Algorithm", v.Algorithm)
		w.Field("Keys", v.Keys)
		w.Field("Covers", v.Covers)
	}
	return broken(w.Err())
}

// verifyCard verifies a card with the keys in source, which is a file or a URL. If source is "", it uses the keys that
// the card's host publishes. It returns an error only for a mistake of the user, or if ctx ends.
func verifyCard(ctx context.Context, client *http.Client, c *a2aclient.Card, source string) (*verification, error) {
	signatures, err := cardverify.Signatures(c.JSON)
	switch {
	case err != nil:
		return &verification{Outcome: outcomeInvalid, Reason: err.Error()}, nil //nolint:nilerr // the outcome contains the error
	case len(signatures) == 0:
		return &verification{Outcome: outcomeAbsent}, nil
	}
	keys, place, err := readKeys(ctx, client, c, signatures, source)
	if err != nil {
		if problem := failure.Of(err); problem.Code == failure.Usage || ctx.Err() != nil {
			return nil, problem
		}
		return &verification{Outcome: outcomeUnverifiable, Reason: err.Error()}, nil
	}
	match, err := cardverify.Verify(c.JSON, c.Card, signatures, keys)
	switch {
	case errors.Is(err, cardverify.ErrNoKey):
		return &verification{Outcome: outcomeUnverifiable, Reason: err.Error() + " in " + place}, nil
	case err != nil:
		return &verification{Outcome: outcomeInvalid, Reason: err.Error()}, nil //nolint:nilerr // the outcome contains the error
	}
	return &verification{Outcome: outcomeVerified, KeyID: match.KeyID, Algorithm: match.Algorithm, Keys: place, Covers: match.Covers}, nil
}

// readKeys reads the keys for verifyCard, and returns them with the file or URL that contains them.
func readKeys(ctx context.Context, client *http.Client, c *a2aclient.Card, signatures []cardverify.Signature, source string) (*jose.JSONWebKeySet, string, error) {
	if source != "" && !strings.HasPrefix(source, "https://") {
		text, err := os.ReadFile(source)
		if err != nil {
			return nil, "", failure.Wrap(failure.Usage, err, "read --key")
		}
		keys, err := cardverify.ParseKeys(text)
		if err != nil {
			return nil, "", failure.Wrap(failure.Usage, err, "--key %s", source)
		}
		return keys, source, nil
	}
	if source == "" {
		if c.URL == nil {
			return nil, "", failure.New(failure.CardInvalid, "a card in a file has no host that publishes keys")
		}
		source = (&url.URL{Scheme: c.URL.Scheme, Host: c.URL.Host, Path: keySetPath}).String()
		for i := range signatures {
			u, err := url.Parse(signatures[i].JWKSURL)
			if err != nil || u.Host == "" {
				continue
			}
			if u.Scheme != c.URL.Scheme || u.Host != c.URL.Host {
				return nil, "", failure.New(failure.CardInvalid, "the signature names the keys at %s, which is another host than the one of the card", safetext.Clip(u.String(), 500))
			}
			source = u.String()
			break
		}
	}
	keys, err := fetchKeys(ctx, client, source)
	return keys, source, err
}

func fetchKeys(ctx context.Context, client *http.Client, address string) (*jose.JSONWebKeySet, error) {
	ctx, end := context.WithTimeoutCause(ctx, keySetTimeout, failure.New(failure.Timeout, "the keys at %s did not arrive within %s", address, keySetTimeout))
	defer end()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, failure.Wrap(failure.CardInvalid, err, "read the keys")
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, a2aclient.ExplainConnection(ctx, err, r.URL)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxKeySet+1))
	switch {
	case err != nil:
		return nil, a2aclient.ExplainConnection(ctx, err, r.URL)
	case resp.StatusCode != http.StatusOK:
		return nil, failure.New(failure.CardInvalid, "no keys at %s: the answer is %s", address, resp.Status)
	case len(text) > maxKeySet:
		return nil, failure.New(failure.CardInvalid, "the keys at %s have more than %d bytes", address, maxKeySet)
	}
	keys, err := cardverify.ParseKeys(text)
	if err != nil {
		return nil, failure.Wrap(failure.CardInvalid, err, "the keys at %s", address)
	}
	return keys, nil
}

// describeVerification returns the outcome as one line for the output of a card.
func describeVerification(v *verification) string {
	switch v.Outcome {
	case outcomeAbsent:
		return "none"
	case outcomeVerified:
		return "verified by key " + cmp.Or(v.KeyID, "(no id)") + " of " + v.Keys
	default:
		return "not verified (" + v.Outcome + "): " + v.Reason
	}
}
