// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/ui"
)

// guard returns the handler of all requests. It refuses requests with another host (DNS rebinding), cross-origin
// requests that change state, and paths without the secret.
func (s *Server) guard() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /open/{code}", s.open)
	mux.Handle("/{secret}/", s.authorize(s.pages))
	protected := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ui.SetSecurityHeaders(w.Header())
		if r.Host != s.host && r.Host != strings.Replace(s.host, "127.0.0.1", "localhost", 1) {
			http.Error(w, "the Host header does not name this server: open the address that kubectl a2a ui printed", http.StatusMisdirectedRequest)
			return
		}
		protected.ServeHTTP(w, r)
	})
}

// authorize passes requests whose path begins with the secret to next, without the secret in the path.
func (s *Server) authorize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secret := r.PathValue("secret")
		if subtle.ConstantTimeCompare([]byte(secret), []byte(s.secret)) != 1 {
			http.NotFound(w, r)
			return
		}
		http.StripPrefix("/"+secret, next).ServeHTTP(w, r)
	})
}

// open redirects the first request with the code to the page, and refuses all later ones. Other users of the machine
// may see the code in the command line of the browser. They do not see the secret.
func (s *Server) open(w http.ResponseWriter, r *http.Request) {
	s.opening.Lock()
	defer s.opening.Unlock()
	switch {
	case subtle.ConstantTimeCompare([]byte(r.PathValue("code")), []byte(s.code)) != 1:
		http.NotFound(w, r)
	case s.opened:
		http.Error(w, "This address works once, and was opened already. If that was not you, end kubectl a2a ui with Ctrl-C. Start it again for a new address.", http.StatusGone)
	default:
		s.opened = true
		http.Redirect(w, r, "/"+s.secret+"/", http.StatusSeeOther)
	}
}
