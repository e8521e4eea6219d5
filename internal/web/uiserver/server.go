// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
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
	// maxHeader bounds the header of a request, in bytes. The cookies of a session have up to 16 KiB.
	maxHeader       = 32 << 10
	readTimeout     = 10 * time.Second
	writeTimeout    = 30 * time.Second
	shutdownTimeout = 5 * time.Second
)

// Server serves the pages of one replica.
type Server struct {
	options     Options
	people      *access.OIDC
	signIns     *signInFlow
	certificate *servingcert.Certificate
}

// New returns a Server. It listens after Start is called.
func New(o Options) *Server {
	issuer := o.OIDC
	issuer.Log = o.Log
	issuer.Now = o.Clock.Now
	people := access.NewOIDC(issuer)
	s := &Server{options: o, people: people, signIns: newSignInFlow(&o, people)}
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
		s.people.Run(ctx)
		return nil
	})
	group.Go(func() error { return server.Run(ctx, listener, shutdownTimeout) })
	s.options.Log.Info("page started", "address", listener.Addr().String(), "url", s.options.URL.String(), "tls", s.certificate != nil)
	return group.Wait()
}

func (s *Server) pages(ctx context.Context) *ui.Pages {
	return ui.New(ctx, ui.Options{
		Registry: &readers{registry: s.options.Registry, agents: s.options.Agents}, Heading: heading, SignOut: "sign-out",
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
	mux := http.NewServeMux()
	mux.Handle("GET /static/", ui.Static())
	mux.HandleFunc("GET /sign-in", s.signIns.begin)
	mux.HandleFunc("GET "+callbackPath, s.signIns.callback)
	mux.HandleFunc("POST /sign-out", s.signIns.signOut)
	mux.HandleFunc("GET /signed-out", s.signIns.signedOut)
	mux.Handle("/", s.authenticated(pages))
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

// authenticated calls next for the requests of people with a session, and cancels the request when the
// session expires. Without a session, it redirects a browser that opens a page to the sign-in, and responds
// 401 to every other request.
func (s *Server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signedIn, err := readSession(r, s.signIns.sealer, s.options.Clock.Now())
		if err != nil {
			s.signIns.fail(w, r, err)
			return
		}
		switch {
		case signedIn != nil:
		case r.Method == http.MethodGet && !ui.IsFragment(r) && r.URL.Path != "/changes":
			http.Redirect(w, r, "/sign-in?"+url.Values{"to": {r.URL.RequestURI()}}.Encode(), http.StatusSeeOther)
			return
		default:
			http.Error(w, "sign in", http.StatusUnauthorized)
			return
		}
		reader, err := signedIn.caller()
		if err != nil {
			s.signIns.fail(w, r, err)
			return
		}
		ctx, cancel := context.WithDeadline(withReader(r.Context(), reader), signedIn.Expires)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
