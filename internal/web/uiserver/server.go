// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/internal/kit/httpserver"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/servingcert"
	"github.com/a2a-operator/a2a-operator/internal/web/ui"
)

const (
	// maxStreams bounds the open pages that receive changes. maxViewers bounds the people with open pages,
	// because each of them costs a watch of the registry. maxStreamsPerViewer bounds the open pages of one
	// person, so that other people can open pages, too.
	maxStreams          = 500
	maxStreamsPerViewer = 20
	maxViewers          = 200
	// maxHeader bounds the header of a request, in bytes. A token has up to 16 KiB, and a proxy may pass its cookies on.
	maxHeader       = 32 << 10
	readTimeout     = 10 * time.Second
	writeTimeout    = 30 * time.Second
	shutdownTimeout = 5 * time.Second
	// heading is the title of the site.
	heading = "A2A agents"
)

// Server serves the pages of one replica.
type Server struct {
	options     Options
	issuer      *access.OIDC
	people      *access.Authenticator
	certificate *servingcert.Certificate
}

// New returns a Server. It listens after Start is called.
func New(o Options) *Server {
	options := o.OIDC
	options.Log = o.Log
	options.Now = o.Clock.Now
	s := &Server{options: o, issuer: access.NewOIDC(options)}
	s.people = access.NewAuthenticator(access.AuthenticatorOptions{Clock: o.Clock})
	s.people.AcceptPeople(s.issuer)
	if o.CertificateDir != "" {
		s.certificate = servingcert.New(servingcert.Options{Directory: o.CertificateDir, Listener: servingcert.ListenerUI, Clock: o.Clock, Log: o.Log})
	}
	return s
}

// NeedLeaderElection returns false: every replica serves the pages. No replica needs data of another one.
func (s *Server) NeedLeaderElection() bool { return false }

// Start serves until ctx ends.
func (s *Server) Start(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.options.BindAddress)
	if err != nil {
		return fmt.Errorf("listen for the page: %w", err)
	}
	return s.serve(ctx, listener)
}

func (s *Server) serve(ctx context.Context, listener net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	pages := s.pages(ctx)
	defer pages.Wait()
	options := httpserver.Options{
		// A browser opens a connection for each page that receives changes, and at most six of them over HTTP/1.1.
		Name: "page", Handler: s.options.TrustedProxies.Handler(s.handler(pages)), Memory: s.options.Memory, HTTP2: true, HeaderBytes: maxHeader, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
	}
	if s.certificate != nil {
		options.TLS = s.certificate.TLSConfig()
		group.Go(func() error {
			s.certificate.Run(ctx)
			return nil
		})
	}
	server := httpserver.New(options)
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	group.Go(func() error {
		s.issuer.Run(ctx)
		return nil
	})
	group.Go(func() error { return server.Run(ctx, listener, shutdownTimeout) })
	s.options.Log.Info("page started", "address", listener.Addr().String(), "url", s.options.URL.String(), "tls", s.certificate != nil)
	return group.Wait()
}

func (s *Server) pages(ctx context.Context) *ui.Pages {
	return ui.New(ctx, ui.Options{
		Registry: &readers{registry: s.options.Registry, agents: s.options.Agents}, Heading: heading, SignOut: s.options.SignOut,
		Lost: "The manager does not respond.", Viewer: viewerOf, Now: s.options.Clock.Now,
		MaxViewers: maxViewers, MaxStreams: maxStreams, MaxStreamsPerViewer: maxStreamsPerViewer,
	})
}

// viewerOf returns the Viewer for the person in the context of a request.
func viewerOf(r *http.Request) ui.Viewer {
	reader, _ := r.Context().Value(readerKey{}).(access.Caller)
	groups := slices.Sorted(slices.Values(reader.Groups))
	sum := sha256.Sum256([]byte(reader.Username + "\x00" + strings.Join(groups, "\x00")))
	return ui.Viewer{Name: reader.Username, Key: hex.EncodeToString(sum[:]), Base: "/"}
}

// handler returns the handler of the server. It refuses requests for other hosts (DNS rebinding protection),
// and state-changing requests from pages of other sites (CSRF protection).
func (s *Server) handler(pages *ui.Pages) http.Handler {
	inTurn := newTurns(s.options.Clock, func(w http.ResponseWriter, r *http.Request) {
		pages.Fail(w, r, pages.Layout(r, heading), errNoMemory)
	})
	mux := http.NewServeMux()
	mux.Handle("GET /static/", ui.Static())
	mux.Handle("GET /changes", s.authenticated(pages))
	s.addDecisions(mux, inTurn)
	mux.Handle("/", s.authenticated(inTurn.rendered(pages)))
	protected := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ui.SetSecurityHeaders(w.Header())
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		if !strings.EqualFold(r.Host, s.options.URL.Host) {
			http.Error(w, "the Host header does not name this server: open "+s.options.URL.String(), http.StatusMisdirectedRequest)
			return
		}
		protected.ServeHTTP(w, r)
	})
}

// authenticated calls next for the requests of people, and cancels the request when the token of the person expires.
func (s *Server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		person, valid, err := s.people.Person(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		if !valid || !s.options.Clock.Now().Before(person.Expires) { // the verification tolerates clocks that differ
			s.refuse(w, r)
			return
		}
		ctx := context.WithValue(withReader(r.Context(), person.Caller), personKey{}, person)
		ctx, cancel := context.WithDeadline(ctx, person.Expires)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// refuse responds 401. The token is not in the response and not in the log.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	text := "The request has no token of yours. Open " + s.options.URL.String() + ", where a proxy signs you in."
	if r.Header.Get("Authorization") != "" {
		text = "Your token is not valid for this page: it is of another issuer, for another audience, expired, or without a name. Sign in again."
	}
	s.message(w, r, http.StatusUnauthorized, "You are not signed in", text)
}

// fail responds that no person can be authenticated now.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if limited, ok := errors.AsType[access.LimitedError](err); ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(limited.Wait.Seconds()))))
		s.message(w, r, http.StatusTooManyRequests, "Too many wrong tokens", "Your address has sent too many wrong tokens. Try again in some seconds.")
		return
	}
	if !errors.Is(err, access.ErrNoIssuerKeys) { // the fetch of the keys logs its errors
		s.options.Log.Error(err, "authenticating a person failed")
	}
	w.Header().Set("Retry-After", "5")
	s.message(w, r, http.StatusServiceUnavailable, "The page cannot verify your token now", "The manager cannot use the OpenID Connect issuer. Its log has the reason.")
}

// message responds with a page to a browser, and with a line of text to a script of a page.
func (s *Server) message(w http.ResponseWriter, r *http.Request, status int, title, text string) {
	if ui.IsFragment(r) || r.Method != http.MethodGet || r.URL.Path == "/changes" {
		http.Error(w, text, status)
		return
	}
	ui.RenderMessage(w, status, ui.Message{
		Layout: ui.Layout{Title: title, Heading: heading, Base: "/"}, Text: text, Link: "/" + s.options.SignOut, Label: "Sign in",
	})
}
