// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/notification"
	"github.com/a2a-operator/a2a-operator/internal/kit/httpserver"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

const (
	// maxNotification bounds the body of a notification, in bytes: agents send artifacts of 8 MiB at most. maxReading bounds the bodies that
	// are read at a time.
	maxNotification = 16 << 20
	maxReading      = 4
	// listenMemory bounds the memory of connections and their headers, in bytes.
	listenMemory = 16 << 20
	// listenTimeout bounds the read of a request, and listenShutdown the end of open requests.
	listenTimeout  = 30 * time.Second
	listenShutdown = 2 * time.Second
	// keysAge is the minimum age of the keys when a notification with another key makes the command read them again.
	keysAge = 10 * time.Second
	// maxEventIDs bounds the ids by which repeated notifications are found.
	maxEventIDs = 1024
)

// received is a notification, as listen prints it.
type received struct {
	Time time.Time `json:"time"`
	// Outcome is verified or refused.
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
	Event   string `json:"event,omitempty"`
	// Repeated is true if a notification with the same id was received before.
	Repeated bool `json:"repeated,omitempty"`
	notification.Summary
	Body json.RawMessage `json:"body,omitempty"`
}

// receiver verifies and prints notifications. It is safe for concurrent use.
type receiver struct {
	*app
	origin string
	// fetch reads the keys of the agent.
	fetch func(context.Context) (*jose.JSONWebKeySet, error)

	// reading has an element for each body that is being read.
	reading chan struct{}

	mu   sync.Mutex
	keys *jose.JSONWebKeySet
	read time.Time
	// events has the ids of the last notifications, the last one last.
	events []string
}

func (a *app) listenCommand() *cobra.Command {
	f := &agentFlags{}
	var address, origin string
	cmd := &cobra.Command{
		Use:   "listen [AGENT | --url URL]",
		Short: "Receive, verify and print the push notifications of an agent",
		Long: `Receive, verify and print the push notifications of an agent.

The command is a webhook for tests. It prints one line for each notification until you press Ctrl-C, and answers with status 204. It
refuses a notification whose signature is not valid, with status 401: one without a signature of the agent's keys, for another origin,
with another body, or one that has expired. The agent needs spec.cardSigning to sign, and must be allowed to call the address
(spec.pushNotifications.allowedTargets).`,
		Example: `  kubectl a2a listen --url http://127.0.0.1:8080
  kubectl a2a listen echo --address 0.0.0.0:8090 --origin https://hooks.example.com -o json`,
	}
	f.addTo(a, cmd)
	cmd.Flags().StringVar(&address, "address", "127.0.0.1:8090", "`ADDRESS` at which the command listens; port 0 selects a free port.")
	cmd.Flags().StringVar(&origin, "origin", "", "`ORIGIN` of the webhook as clients register it, such as https://hooks.example.com. By default http:// and --address.")
	a.outputFlag(cmd, outputText, outputJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if origin != "" && !isOrigin(origin) {
			return failure.New(failure.Usage, "--origin %s is not a scheme with a host, such as https://hooks.example.com", origin)
		}
		agent, err := a.findOnly(cmd, f, args)
		if err != nil {
			return err
		}
		defer agent.close()
		if agent.card.URL == nil {
			return failure.New(failure.CardInvalid, "a card in a file has no host that publishes keys").WithHint("name the agent, or its address with --url")
		}
		keys := (&url.URL{Scheme: agent.card.URL.Scheme, Host: agent.card.URL.Host, Path: keySetPath}).String()
		r := &receiver{app: a, origin: origin, fetch: func(ctx context.Context) (*jose.JSONWebKeySet, error) { return fetchKeys(ctx, agent.http, keys) }}
		return r.listen(cmd.Context(), address)
	}
	return cmd
}

func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Scheme+"://"+u.Host == text && u.Host != ""
}

// listen serves the webhook until ctx ends.
func (r *receiver) listen(ctx context.Context, address string) error {
	keys, err := r.fetch(ctx)
	if err != nil {
		return failure.Of(err).WithHint("spec.cardSigning of the agent names the keys with which it signs")
	}
	r.keys = keys
	r.read = time.Now()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return failure.Wrap(failure.Usage, err, "listen on --address %s", address).WithHint("port 0 selects a free port")
	}
	r.origin = cmp.Or(r.origin, "http://"+listener.Addr().String())
	r.reading = make(chan struct{}, maxReading)
	r.warnf("Waiting for notifications to %s. Press Ctrl-C to stop.", r.origin)
	server := httpserver.New(httpserver.Options{Name: "webhook", Handler: r, Memory: listenMemory, ReadTimeout: listenTimeout})
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	if err := server.Run(ctx, listener, listenShutdown); err != nil {
		return failure.Wrap(failure.Internal, err, "receive notifications")
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "notifications are posted", http.StatusMethodNotAllowed)
		return
	}
	n := received{Time: time.Now().UTC(), Outcome: outcomeVerified, Event: request.Header.Get(notification.HeaderEvent)}
	body, status, err := r.readVerified(w, request)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		n = received{Time: n.Time, Outcome: "refused", Reason: err.Error()}
		http.Error(w, n.Reason, status)
	} else {
		n.Repeated = slices.Contains(r.events, n.Event)
		r.remember(n.Event)
		n.Summary = notification.Summarize(body)
		if json.Valid(body) {
			n.Body = body
		}
		w.WriteHeader(http.StatusNoContent)
	}
	if err := r.print(&n); err != nil {
		r.warnf("A notification could not be printed: %v", err)
	}
}

// readVerified returns the body of a request with a valid signature, and the status for any other one. It reads no body of a request without a
// valid signature, because anyone who reaches the address can send one.
func (r *receiver) readVerified(w http.ResponseWriter, request *http.Request) (body []byte, status int, err error) {
	checkBody, err := r.verify(request)
	if err != nil {
		return nil, http.StatusUnauthorized, err
	}
	select {
	case r.reading <- struct{}{}:
		defer func() { <-r.reading }()
	case <-request.Context().Done():
		return nil, http.StatusServiceUnavailable, request.Context().Err()
	}
	body, err = io.ReadAll(http.MaxBytesReader(w, request.Body, maxNotification))
	if err != nil {
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the body is not complete, or has more than %d bytes", maxNotification)
	}
	return body, http.StatusUnauthorized, checkBody(body)
}

// verify checks the signature of a request. If the keys do not have the key of the signature, it reads them again.
func (r *receiver) verify(request *http.Request) (checkBody func([]byte) error, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	checkBody, err = notification.Verify(request.Header, r.keys, r.origin, time.Now())
	if !errors.Is(err, notification.ErrNoKey) || time.Since(r.read) < keysAge {
		return checkBody, err
	}
	r.read = time.Now()
	keys, problem := r.fetch(request.Context())
	if problem != nil {
		r.warnf("The keys of the agent could not be read again: %v", problem)
		return nil, err
	}
	r.keys = keys
	return notification.Verify(request.Header, r.keys, r.origin, time.Now())
}

// remember adds the id of a notification. r.mu must be held.
func (r *receiver) remember(event string) {
	if len(r.events) == maxEventIDs {
		r.events = slices.Delete(r.events, 0, 1)
	}
	r.events = append(r.events, event)
}

// print writes a notification as a line. r.mu must be held.
func (r *receiver) print(n *received) error {
	if r.output == outputJSON {
		text, err := json.Marshal(n)
		if err != nil {
			return failure.Wrap(failure.Internal, err, "encode the notification")
		}
		return r.printText(append(safetext.JSON(text), '\n'))
	}
	words := []string{n.Time.Format(time.RFC3339), n.Outcome}
	if n.Repeated {
		words = append(words, "repeated")
	}
	for _, each := range []string{n.Kind, n.Task, n.State, n.Event, n.Reason} {
		if each != "" {
			words = append(words, safetext.Clip(each, 200))
		}
	}
	return r.printText([]byte(safetext.Line(strings.Join(words, "  ")) + "\n"))
}
