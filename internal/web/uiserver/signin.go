// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/oauth2"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/web/ui"
)

const (
	// signInCookie contains the state of a sign-in that has begun. If a person begins a second sign-in in
	// the same browser, it replaces the first one.
	signInCookie = "__Host-a2a-sign-in"
	// signInTimeout is how long a person may take to sign in.
	signInTimeout = 10 * time.Minute
	// maxReturnPath bounds the path to which the browser returns after a sign-in, in bytes.
	maxReturnPath = 1024
	// maxExchanges bounds the concurrent requests to the token endpoint of the issuer.
	maxExchanges = 16
	// limitedAddresses bounds the addresses that have a rate limit of their own. All further addresses share one rate
	// limit.
	limitedAddresses = 4096
	// maxEnded bounds the states of ended sign-ins.
	maxEnded     = 16_384
	callbackPath = "/callback"
)

// heading is the title of the site.
const heading = "A2A agents"

// signInRate limits how often one address begins a sign-in. failureRate limits how often its sign-ins fail, because
// each failure writes a line into the log. Behind a Gateway, all people share one address, so successful callbacks are
// not limited, and signInRate is high. A high rate costs little: the start of a sign-in needs only one encryption while
// the endpoints of the issuer are known.
var (
	signInRate  = limit.Rate{PerSecond: 1_000, Burst: 1_000}
	failureRate = limit.Rate{PerSecond: 10, Burst: 100}
)

// signInFlow serves the requests that begin and end a session.
type signInFlow struct {
	options   *Options
	people    *access.OIDC
	provider  *provider
	sealer    *sealer
	begun     *limit.Table
	failures  *limit.Table
	exchanges chan struct{}
	ended     endedSignIns
}

// endedSignIns has the states of the last maxEnded sign-ins whose code was sent to the issuer. A client
// can keep the cookie of a sign-in, and must not use it a second time. Each manager has its own list.
type endedSignIns struct {
	mu     sync.Mutex
	states map[string]bool
	// order has the states in a ring, and next is the index of the oldest one.
	order []string
	next  int
}

// add adds a state, and returns false if the list has it.
func (e *endedSignIns) add(state string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.states[state] {
		return false
	}
	if e.states == nil {
		e.states = map[string]bool{}
		e.order = make([]string, maxEnded)
	}
	delete(e.states, e.order[e.next])
	e.states[state] = true
	e.order[e.next] = state
	e.next = (e.next + 1) % maxEnded
	return true
}

func newSignInFlow(o *Options, people *access.OIDC) *signInFlow {
	return &signInFlow{
		options: o, people: people, provider: newProvider(o, o.URL.JoinPath(callbackPath).String()), sealer: &sealer{o.SecretDir},
		begun: limit.NewTable(limitedAddresses, signInRate), failures: limit.NewTable(limitedAddresses, failureRate),
		exchanges: make(chan struct{}, maxExchanges),
	}
}

// pendingSignIn is the content of signInCookie. The cookie binds the sign-in to one browser, so that an attacker cannot
// make the browser of another person use a session of the attacker (login CSRF).
type pendingSignIn struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	Return   string    `json:"return"`
	Expires  time.Time `json:"expires"`
}

// returnPath returns the path and the query in a parameter, or "/" if the parameter is not a path
// of this server.
func returnPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxReturnPath || u.Scheme != "" || u.Host != "" || u.User != nil ||
		!strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") || strings.ContainsAny(text, "\\\r\n\t") {
		return "/"
	}
	return (&url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}).String()
}

// admit counts a request toward the rate limit of its address. If the request exceeds the limit, it responds 429 and
// returns false.
func (s *signInFlow) admit(w http.ResponseWriter, r *http.Request, rates *limit.Table) bool {
	now := s.options.Clock.Now()
	if rates.Bucket(a2a.AccountingPrincipalAt(r.RemoteAddr), now).Take(now) {
		return true
	}
	countSignIn(resultLimited)
	w.Header().Set("Retry-After", "1")
	s.message(w, http.StatusTooManyRequests, "Too many sign-ins", "Too many sign-ins of this address have begun or failed. Try again in some seconds.")
	return false
}

// begin begins a sign-in and redirects the browser to the issuer.
func (s *signInFlow) begin(w http.ResponseWriter, r *http.Request) {
	if !s.admit(w, r, s.begun) {
		return
	}
	config, err := s.provider.oauth(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	begun := pendingSignIn{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		Return: returnPath(r.URL.Query().Get("to")), Expires: s.options.Clock.Now().Add(signInTimeout),
	}
	value, err := s.sealer.seal("sign-in", &begun)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	setCookie(w, signInCookie, value, signInTimeout)
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(begun.Verifier), oauth2.SetAuthURLParam("nonce", begun.Nonce)}
	if r.URL.Query().Has("again") { // after the end of a session, the issuer must ask the person to sign in again
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"))
	}
	http.Redirect(w, r, config.AuthCodeURL(begun.State, options...), http.StatusSeeOther)
}

var (
	errOtherState = errors.New("the sign-in is another one than the last of this browser")
	errNonce      = errors.New("the ID token is of another sign-in")
	errBusy       = errors.New("too many sign-ins at a time")
)

// callback serves the request with which the browser returns from the issuer, and ends the sign-in.
func (s *signInFlow) callback(w http.ResponseWriter, r *http.Request) {
	setCookie(w, signInCookie, "", 0) // each sign-in has only one callback
	person, begun, err := s.finishSignIn(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	now := s.options.Clock.Now()
	signedIn := &session{Username: person.Caller.Username, Groups: person.Caller.Groups, Expires: now.Add(maxSession)}
	if person.Expires.Before(signedIn.Expires) {
		signedIn.Expires = person.Expires
	}
	if err := signedIn.write(w, s.sealer, now); err != nil {
		s.fail(w, r, err)
		return
	}
	countSignIn(resultCompleted)
	s.options.Log.Info("person signed in", "user", signedIn.Username, "expires", signedIn.Expires)
	http.Redirect(w, r, begun.Return, http.StatusSeeOther)
}

// finishSignIn verifies the response of the issuer (OpenID Connect Core 1.0, section 3.1.3.7), which is in the
// parameters of the request. It returns the person and the state of the sign-in.
func (s *signInFlow) finishSignIn(r *http.Request) (*access.Person, *pendingSignIn, error) {
	cookie, err := r.Cookie(signInCookie)
	if err != nil {
		return nil, nil, errNoSignIn
	}
	begun := &pendingSignIn{}
	if err := s.sealer.open("sign-in", cookie.Value, begun); errors.Is(err, errSealed) || err == nil && !s.options.Clock.Now().Before(begun.Expires) {
		return nil, nil, errNoSignIn
	} else if err != nil {
		return nil, nil, err
	}
	parameters := r.URL.Query()
	if subtle.ConstantTimeCompare([]byte(parameters.Get("state")), []byte(begun.State)) != 1 {
		return nil, nil, errOtherState
	}
	// RFC 9207: a response with the iss of another issuer is refused.
	if issuer := parameters.Get("iss"); issuer != "" && issuer != s.options.OIDC.Issuer {
		return nil, nil, errOtherState
	}
	if code := parameters.Get("error"); code != "" {
		return nil, nil, &deniedError{code: code}
	}
	select {
	case s.exchanges <- struct{}{}:
		defer func() { <-s.exchanges }()
	default:
		return nil, nil, errBusy
	}
	if !s.ended.add(begun.State) { // so that the exchanges have the rate limit of the beginnings
		return nil, nil, errNoSignIn
	}
	ctx, cancel := context.WithTimeout(r.Context(), 2*issuerTimeout)
	defer cancel()
	token, err := s.provider.exchange(ctx, parameters.Get("code"), begun.Verifier)
	if err != nil {
		return nil, nil, err
	}
	person, err := s.people.Person(token)
	if err != nil {
		return nil, nil, err
	}
	if subtle.ConstantTimeCompare([]byte(person.Nonce), []byte(begun.Nonce)) != 1 {
		return nil, nil, errNonce
	}
	return person, begun, nil
}

// deniedError is an error response of the issuer (RFC 6749, section 4.1.2.1).
type deniedError struct{ code string }

func (e *deniedError) Error() string { return "the issuer refuses the sign-in" }

// fail responds with the reason why there is no session, and logs the cause. If the address exceeds
// failureRate, fail responds 429 and logs nothing.
func (s *signInFlow) fail(w http.ResponseWriter, r *http.Request, err error) {
	if !s.admit(w, r, s.failures) {
		return
	}
	denied, isDenied := errors.AsType[*deniedError](err)
	switch {
	case errors.Is(err, errNoSignIn), errors.Is(err, errOtherState), errors.Is(err, errNonce):
		s.refuse(w, err, resultIncomplete, http.StatusBadRequest, "The sign-in is not complete", "It began in another browser or tab, or more than ten minutes ago.")
	case isDenied:
		code := safetext.Line(safetext.Clip(denied.code, 100))
		s.refuse(w, err, resultDenied, http.StatusForbidden, "The issuer refuses the sign-in", "Its answer is "+code+".", "code", code)
	case errors.Is(err, access.ErrNotPerson):
		s.refuse(w, err, resultRefused, http.StatusForbidden, "The sign-in is refused", "The issuer made a token that is not valid for this page: for another client, expired, or without a name.")
	case errors.Is(err, errManyGroups):
		s.refuse(w, err, resultRefused, http.StatusForbidden, "You are in too many groups", "Your groups do not fit into the cookie of the session. Ask for tokens that have only the groups that Kubernetes uses.")
	case errors.Is(err, errBusy):
		countSignIn(resultLimited)
		w.Header().Set("Retry-After", "1")
		s.message(w, http.StatusServiceUnavailable, "Too many sign-ins", "Try again in some seconds.")
	case r.Context().Err() != nil: // the browser has disconnected
	default:
		countSignIn(resultFailed)
		s.options.Log.Error(err, "sign-in failed")
		s.message(w, http.StatusBadGateway, "The sign-in is not possible now", "The manager cannot use the OpenID Connect issuer. Its log has the reason.")
	}
}

// refuse counts a sign-in with the result, logs err with the keys and values in log, and responds with a page.
func (s *signInFlow) refuse(w http.ResponseWriter, err error, result signInResult, status int, title, text string, log ...any) {
	countSignIn(result)
	s.options.Log.Info("sign-in refused", append([]any{"reason", err.Error()}, log...)...)
	s.message(w, status, title, text)
}

// signOut ends the session of the browser. The session at the issuer continues.
func (s *signInFlow) signOut(w http.ResponseWriter, r *http.Request) {
	endSession(w)
	http.Redirect(w, r, "/signed-out", http.StatusSeeOther)
}

func (s *signInFlow) signedOut(w http.ResponseWriter, _ *http.Request) {
	s.message(w, http.StatusOK, "You are signed out", "Your session at the issuer may remain. End it there, too, if others use this browser.")
}

// message responds with a page for people who are not signed in. The page links to the sign-in.
func (s *signInFlow) message(w http.ResponseWriter, status int, title, text string) {
	ui.RenderMessage(w, status, ui.Message{
		Layout: ui.Layout{Title: title, Heading: heading, Base: "/"}, Text: text, Link: "/sign-in?again", Label: "Sign in",
	})
}

// signInResult is the value of the label result of signIns.
type signInResult string

const (
	resultCompleted signInResult = "completed"
	// resultIncomplete is the result of a callback that does not belong to the last sign-in of the
	// browser, or that comes too late.
	resultIncomplete signInResult = "incomplete"
	// resultDenied is the result if the issuer denies the sign-in. resultRefused is the result if
	// this server refuses the person: the token is not valid for this client, or the person has too
	// many groups.
	resultDenied  signInResult = "denied"
	resultRefused signInResult = "refused"
	// resultLimited is the result of a request that exceeds a rate limit, or the limit of
	// concurrent exchanges.
	resultLimited signInResult = "limited"
	// resultFailed is the result if the issuer, or reading the Secret, fails.
	resultFailed signInResult = "failed"
)

// signIns counts the sign-ins that have ended, by result.
var signIns = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "a2a_ui_sign_ins_total",
	Help: "Sign-ins at the page for people, by result: completed, incomplete, denied by the issuer, refused because of the token, limited or failed.",
}, []string{"result"})

// Register registers the metrics of the sign-in, with the value 0 for each result. All managers of
// a process share them.
func Register(r prometheus.Registerer) error {
	for _, result := range []signInResult{resultCompleted, resultIncomplete, resultDenied, resultRefused, resultLimited, resultFailed} {
		signIns.WithLabelValues(string(result))
	}
	err := r.Register(signIns)
	if _, again := errors.AsType[prometheus.AlreadyRegisteredError](err); again {
		return nil
	}
	return err
}

func countSignIn(result signInResult) { signIns.WithLabelValues(string(result)).Inc() }
