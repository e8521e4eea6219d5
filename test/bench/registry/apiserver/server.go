// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver is a Kubernetes API server in memory, for benchmarks with more objects than envtest can hold.
//
// It serves discovery, lists and watches (with and without the initial state) of the kinds that a manager reads,
// encoded as the real server encodes them: custom resources in JSON, other kinds in protobuf. It
// answers TokenReviews and SubjectAccessReviews and counts them. It refuses writes, and a Lease that
// another process holds keeps the manager a standby, so that its controllers do nothing.
//
//	kinds      the served kinds, and discovery
//	encoding   objects, lists and events as bytes
//	store      the objects, and the watches of them
//	reviews    TokenReviews and SubjectAccessReviews
//	server     requests -> responses
package apiserver

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Options configure a Server.
type Options struct {
	// Access decides SubjectAccessReviews: whether a user may list Agents in a namespace or, if namespace is "", in all
	// namespaces.
	Access func(user string, groups []string, namespace string) bool
}

// Server is a running API server. Its methods are safe for concurrent use.
type Server struct {
	options Options
	store   *store
	reviews reviews
	http    *http.Server
	address string
}

// Start returns a server that listens on a loopback port.
func Start(o Options) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, store: newStore(), address: listener.Addr().String()}
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(listener) }()
	return s, nil
}

// Close ends all connections.
func (s *Server) Close() { _ = s.http.Close() }

// Put stores objects, each with the next resource version, and sends them to the watches of their kinds. The caller must
// not use the objects anymore.
func (s *Server) Put(objects ...client.Object) error {
	for _, o := range objects {
		if err := s.store.put(o); err != nil {
			return err
		}
	}
	return nil
}

// WriteKubeconfig writes a kubeconfig for the server.
func (s *Server) WriteKubeconfig(file string) error {
	text := `{"apiVersion":"v1","kind":"Config","current-context":"b","clusters":[{"name":"b","cluster":{"server":"http://` + s.address +
		`"}}],"contexts":[{"name":"b","context":{"cluster":"b","user":"b"}}],"users":[{"name":"b","user":{}}]}`
	return os.WriteFile(file, []byte(text), 0o600)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	defer func() { _ = r.Body.Close() }()
	if answer := discovery(r.URL.Path); answer != nil {
		writeJSON(w, http.StatusOK, answer)
		return
	}
	t, ok := targetOf(r.URL.Path)
	switch {
	case !ok:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.Method == http.MethodPost:
		s.create(w, r, t)
	case r.Method != http.MethodGet:
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
	case t.kind.Resource == leases:
		writeJSON(w, http.StatusOK, heldLease(t))
	case t.name != "":
		s.get(w, t)
	case r.URL.Query().Get("watch") != "":
		s.watch(w, r, t)
	default:
		s.list(w, t)
	}
}

// target is the object or the collection that a path names.
type target struct {
	kind            *kind
	namespace, name string
}

// targetOf reads the path of an object or a collection: /api/v1/... or /apis/<group>/<version>/...
func targetOf(path string) (target, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var group string
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return target{}, false
	}
	var t target
	if len(parts) > 2 && parts[0] == "namespaces" {
		t.namespace, parts = parts[1], parts[2:]
	}
	t.kind = kindOf(group, parts[0])
	if len(parts) > 1 {
		t.name = parts[1]
	}
	return t, t.kind != nil
}

func (s *Server) create(w http.ResponseWriter, r *http.Request, t target) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	switch t.kind.Resource {
	case tokenReviews:
		err = s.reviews.token(w, body)
	case accessReviews:
		err = s.reviews.access(w, body, s.options.Access)
	default:
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func (s *Server) get(w http.ResponseWriter, t target) {
	o := s.store.get(t)
	if o == nil {
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	}
	w.Header().Set("Content-Type", t.kind.mediaType())
	_, _ = w.Write(o.envelope(t.kind))
}

func (s *Server) list(w http.ResponseWriter, t target) {
	objects, version := s.store.list(t)
	w.Header().Set("Content-Type", t.kind.mediaType())
	_ = writeList(w, t.kind, objects, version)
}

// watch streams events until the client leaves.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, t target) {
	since, _ := strconv.ParseUint(r.URL.Query().Get("resourceVersion"), 10, 64)
	initial := r.URL.Query().Get("sendInitialEvents") == "true"
	if initial {
		since = 0
	}
	watcher := s.store.watch(t, since)
	defer watcher.stop()
	w.Header().Set("Content-Type", t.kind.mediaType()+t.kind.streamParameter())
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	for eventType := eventTypeOf(initial); control.Flush() == nil; eventType = eventModified {
		events, version := watcher.take()
		for _, o := range events {
			if _, err := w.Write(eventOf(t.kind, eventType, o.envelope(t.kind))); err != nil {
				return
			}
		}
		if initial {
			initial = false
			if err := writeBookmark(w, t.kind, version); err != nil || control.Flush() != nil {
				return
			}
		}
		if control.Flush() != nil {
			return
		}
		select {
		case <-watcher.changed:
		case <-r.Context().Done():
			return
		}
	}
}

func writeJSON(w http.ResponseWriter, status int, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// refuse responds with a failure.
func refuse(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	writeJSON(w, int(code), &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: "the API server of the benchmark refuses this",
	})
}

// heldLease returns a Lease that another process has just renewed.
func heldLease(t target) any {
	now := time.Now()
	return map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{"namespace": t.namespace, "name": t.name, "resourceVersion": strconv.FormatInt(now.UnixNano(), 10)},
		"spec":     map[string]any{"holderIdentity": "another", "leaseDurationSeconds": 3600, "renewTime": metav1.NewMicroTime(now)},
	}
}
