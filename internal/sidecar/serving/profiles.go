// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net/http"
	"net/http/pprof"

	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// maxProfiles is the maximum number of profiles that are recorded at a time.
const maxProfiles = 2

// handleProfiles adds the profiles of the process, in the form of package net/http/pprof. It
// responds 404 while profiling is off, and 403 to callers outside of the pod.
func (p *Probes) handleProfiles(mux *http.ServeMux) {
	slots := make(chan struct{}, maxProfiles)
	profile := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if !p.options.Profiling() {
				http.Error(w, "profiling is off; set spec.observability.profiling to Loopback, or the flag --profiling", http.StatusNotFound)
				return
			}
			if !isFromPod(r) {
				http.Error(w, "only callers inside the pod may read profiles; use kubectl port-forward", http.StatusForbidden)
				return
			}
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			default:
				http.Error(w, "two profiles are being made; try again", http.StatusTooManyRequests)
				return
			}
			unlimitTime(w) // a profile takes as long as the caller asks for
			h(w, r)
		}
	}
	path := "GET " + sidecarconfig.ProfilesPath
	mux.HandleFunc(path, profile(pprof.Index)) // the profiles of runtime/pprof by their names, too
	mux.HandleFunc(path+"cmdline", profile(pprof.Cmdline))
	mux.HandleFunc(path+"profile", profile(pprof.Profile))
	mux.HandleFunc(path+"symbol", profile(pprof.Symbol))
	mux.HandleFunc(path+"trace", profile(pprof.Trace))
}
