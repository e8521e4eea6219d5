// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agenttokens

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// exchangeTimeout bounds one exchange.
	exchangeTimeout = 5 * time.Second
	// maxAnswer is the maximum size of a response, and maxToken of a token, in bytes.
	maxAnswer = 64 << 10
	maxToken  = 16 << 10
	// maxLifetime is the longest time that a token is cached.
	maxLifetime = time.Hour
)

// The values of the parameters (RFC 8693, sections 2.1 and 3).
const (
	grantType = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeJWT   = "urn:ietf:params:oauth:token-type:jwt"
)

// Errors of Source.Token.
var (
	// ErrRefused means that the registry does not list the agent for the caller.
	ErrRefused = errors.New("the registry refuses a token for the agent")
	// ErrUnavailable means that the registry did not respond, or responded unexpectedly.
	ErrUnavailable = errors.New("the registry issues no token")
)

// Request describes a token.
type Request struct {
	// URL is the URL of the token exchange.
	URL string
	// SubjectToken is the token of the sidecar for the registry.
	SubjectToken string
	// Audience is the audience of the agent.
	Audience string
}

// answer contains an issued token.
type answer struct {
	token    string
	lifetime time.Duration
}

// exchange sends one request for a token. After an error, wait is the time after which the
// registry allows the next request, or 0 if the registry does not name one.
func exchange(ctx context.Context, transport http.RoundTripper, r Request) (_ answer, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	form := url.Values{
		"grant_type":         {grantType},
		"subject_token":      {r.SubjectToken},
		"subject_token_type": {typeJWT},
		"audience":           {r.Audience},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return answer{}, 0, unavailable(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return answer{}, 0, unavailable(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return answer{}, 0, unavailable(err)
	case len(text) > maxAnswer:
		return answer{}, 0, unavailable(fmt.Errorf("the response has more than %d bytes", maxAnswer))
	case response.StatusCode != http.StatusOK:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return answer{}, time.Duration(max(seconds, 0)) * time.Second, refusal(response.Status, text)
	}
	issued, err := read(text)
	return issued, 0, err
}

func unavailable(err error) error { return fmt.Errorf("%w: %w", ErrUnavailable, err) }

// refusal returns the error for a response with another status than 200.
func refusal(status string, text []byte) error {
	var problem struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &problem) == nil && problem.Error == "invalid_target" {
		return ErrRefused
	}
	return unavailable(fmt.Errorf("status %s, error %.64q", status, problem.Error))
}

// read parses a successful response (RFC 8693, section 2.2.1). Its errors do not contain the
// token.
func read(text []byte) (answer, error) {
	var issued struct {
		AccessToken string  `json:"access_token"`
		TokenType   string  `json:"token_type"`
		ExpiresIn   float64 `json:"expires_in"`
	}
	if json.Unmarshal(text, &issued) != nil {
		return answer{}, unavailable(errors.New("the response is not JSON of a token"))
	}
	lifetime := time.Duration(min(issued.ExpiresIn, maxLifetime.Seconds()) * float64(time.Second))
	switch {
	case !strings.EqualFold(issued.TokenType, "Bearer"):
		return answer{}, unavailable(errors.New("the response has no token of type Bearer"))
	case issued.AccessToken == "" || len(issued.AccessToken) > maxToken || strings.Trim(issued.AccessToken, tokenCharacters) != "":
		return answer{}, unavailable(errors.New("the response has no token that fits into a header"))
	case lifetime <= 0:
		return answer{}, unavailable(errors.New("the response has a token that has expired"))
	}
	return answer{token: issued.AccessToken, lifetime: lifetime}, nil
}

// tokenCharacters are the characters of a bearer token (RFC 6750, section 2.1).
const tokenCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/="
