// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// answerTimeout is the time within which each request of the well-behaved client must be answered. It is generous, because the
	// attacker, the client and the program share the machine.
	answerTimeout = 30 * time.Second
	// slower is how many times its quiet value the p99 of the well-behaved client may be in the long form, but any p99 up to
	// unnoticed is right.
	slower, unnoticed = 5, 100 * time.Millisecond
	// askers is the number of requests that the well-behaved client sends at the same time, and pause the time between them.
	askers, pause = 4, 20 * time.Millisecond
)

// ask is a request of the well-behaved client, and the status of its answer.
type ask struct {
	method, url, host, body string
	header                  [2]string
	// bearer returns the token of each request; nil for none.
	bearer func() string
	status int
	// http2 is true if the listener speaks HTTP/2, too.
	http2 bool
}

// regular is the well-behaved client of a program: it sends its requests in turn, first over new connections, then over connections
// that it keeps, and then over HTTP/2.
type regular struct {
	asks []ask
	http [3]*http.Client
}

func newRegular(t *testing.T, asks []ask) *regular {
	t.Helper()
	c := &regular{asks: asks}
	for i := range c.http {
		transport := &http.Transport{
			DisableKeepAlives: i == 0, MaxIdleConnsPerHost: askers,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // #nosec G402 -- the certificates are self-signed
		}
		if i == 2 {
			transport.Protocols = new(http.Protocols)
			transport.Protocols.SetHTTP2(true)
			transport.Protocols.SetUnencryptedHTTP2(true)
		}
		t.Cleanup(transport.CloseIdleConnections)
		c.http[i] = &http.Client{Transport: transport, Timeout: answerTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	return c
}

// send sends a request, and returns an error if the answer is not the right one.
func (c *regular) send(ctx context.Context, a ask, with *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, a.method, a.url, strings.NewReader(a.body))
	if err != nil {
		return err
	}
	request.Host = a.host
	if a.body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if a.header[0] != "" {
		request.Header.Set(a.header[0], a.header[1])
	}
	if a.bearer != nil {
		request.Header.Set("Authorization", "Bearer "+a.bearer())
	}
	response, err := with.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err == nil && response.StatusCode != a.status {
		err = fmt.Errorf("%s %s: %s, want %d: %.200s", a.method, a.url, response.Status, a.status, text)
	}
	return err
}

// figures are what the well-behaved client has seen.
type figures struct {
	took    []time.Duration
	refused []error
}

// measure sends requests until ctx ends, at least one of each kind.
func (c *regular) measure(ctx context.Context) *figures {
	f := &figures{}
	var mu sync.Mutex
	var group sync.WaitGroup
	sending := context.WithoutCancel(ctx)
	for worker := range askers {
		group.Go(func() {
			for i := worker; i < len(c.http)*len(c.asks)+worker || ctx.Err() == nil; i++ {
				began := time.Now()
				a, with := c.asks[i%len(c.asks)], c.http[i/len(c.asks)%len(c.http)]
				if with == c.http[2] && !a.http2 {
					with = c.http[1]
				}
				err := c.send(sending, a, with)
				mu.Lock()
				f.took = append(f.took, time.Since(began))
				if err != nil {
					f.refused = append(f.refused, fmt.Errorf("client %d: %w", slices.Index(c.http[:], with), err))
				}
				mu.Unlock()
				time.Sleep(pause)
			}
		})
	}
	group.Wait()
	slices.Sort(f.took)
	return f
}

// kinds returns the refusals with their numbers, without ports.
func (f *figures) kinds() string {
	count := map[string]int{}
	for _, err := range f.refused {
		count[strings.Join(strings.Fields(ports.ReplaceAllString(err.Error(), "")), " ")]++
	}
	return fmt.Sprint(count)
}

// ports finds the ports of clients in errors.
var ports = regexp.MustCompile(`:\d{5}->`)

func (f *figures) p99() time.Duration { return f.took[len(f.took)*99/100] }

// subject is a program under attack, with its well-behaved client.
type subject struct {
	*Program
	name      string
	limit     int64
	listeners []listener
	client    *regular
	quiet     time.Duration
	// usual is the memory that the program uses before the first attack, in bytes.
	usual int64
	// grows is true if the attacks leave objects that the answers contain: 2,000 Agents have 20,000 metrics. The quiet value is then
	// measured again with them.
	grows bool
}

// newSubject measures the quiet values of a program.
func newSubject(t *testing.T, name string, limit int64, p *Program, listeners []listener) *subject {
	t.Helper()
	s := &subject{Program: p, name: name, limit: limit, listeners: listeners}
	var asks []ask
	for _, l := range listeners {
		asks = append(asks, l.good...)
		// The limit of concurrent scrapes is as low as the number of requests of the client.
		if l.V4 || l.TLS {
			continue
		}
		for _, a := range l.good { // a client of the other family
			a.url = strings.Replace(a.url, "127.0.0.1", "[::1]", 1)
			asks = append(asks, a)
		}
	}
	s.client = newRegular(t, asks)
	s.awaitReady(t)
	s.listensOnlyAt(t)
	s.quiet = s.measureQuiet(t).p99()
	s.usual = p.Used()
	return s
}

// listener returns the listener with a name.
func (s *subject) listener(name string) *listener {
	return &s.listeners[slices.IndexFunc(s.listeners, func(l listener) bool { return l.Name == name })]
}

// measureQuiet measures without an attack.
func (s *subject) measureQuiet(t *testing.T) *figures {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lasts/4)
	defer cancel()
	quiet := s.client.measure(ctx)
	if len(quiet.refused) > 0 {
		t.Fatalf("%s refuses without an attack: %v", s.name, quiet.refused[0])
	}
	return quiet
}

// listensOnlyAt expects that the program has no listener that is missing in the table of those that the tests attack.
func (s *subject) listensOnlyAt(t *testing.T) {
	t.Helper()
	ports, err := Listening(s.PID)
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range ports {
		if !slices.ContainsFunc(s.listeners, func(l listener) bool { return l.Port == strconv.Itoa(port) }) {
			t.Errorf("%s listens at port %d, which no attack reaches: add it to the table of its listeners", s.name, port)
		}
	}
	if len(ports) != len(s.listeners) {
		t.Errorf("%s listens at %d ports, want %d", s.name, len(ports), len(s.listeners))
	}
}

// awaitReady waits until the program gives the right answers.
func (s *subject) awaitReady(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		var err error
		for _, a := range s.client.asks {
			if err == nil {
				err = s.client.send(t.Context(), a, s.client.http[0])
			}
		}
		if err == nil {
			return
		}
		if failure := s.Failure(); failure != "" || time.Now().After(deadline) {
			t.Fatalf("%s does not answer: %v %s", s.name, err, failure)
		}
	}
}

// withstands runs an attack, which ends with its context, and checks its outcome: the program is not killed, the well-behaved
// client is not refused, and the memory is back within 10 s. It reports the figures in a row.
func (s *subject) withstands(t *testing.T, what string, lasts time.Duration, attack func(ctx context.Context) string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var group sync.WaitGroup
	var most int64
	var during *figures
	group.Go(func() { during = s.client.measure(ctx) })
	group.Go(func() {
		for ctx.Err() == nil {
			most = max(most, s.Used())
			time.Sleep(50 * time.Millisecond)
		}
	})
	group.Go(func() {
		// An attacker stops when its victim is dead.
		select {
		case <-s.Exited:
			cancel()
		case <-ctx.Done():
		}
	})
	seen := attack(ctx)
	cancel()
	group.Wait()
	back, after := s.memoryBack()
	if s.grows && s.Failure() == "" {
		s.quiet = max(s.quiet, s.measureQuiet(t).p99())
	}
	verdict := "held"
	if failure := s.Failure(); failure != "" {
		verdict = failure
	} else if len(during.refused) > 0 {
		verdict = fmt.Sprintf("refused %d requests: %s", len(during.refused), during.kinds())
	} else if full && during.p99() > max(slower*s.quiet, unnoticed) {
		verdict = fmt.Sprintf("the p99 is more than %d times its quiet value", slower)
	} else if !back {
		verdict = "memory is not back after 10 s"
	}
	report(t, row{
		program: s.name, attack: what, attempts: seen, requests: len(during.took), refused: len(during.refused), quiet: s.quiet, p99: during.p99(),
		most: most, after: after, kills: s.Kills(), verdict: verdict,
	})
	if verdict != "held" {
		t.Errorf("%s, %s: %s", s.name, what, verdict)
	}
}

// memoryBack waits until the program uses at most an eighth of its limit more than before the attacks, for at most 10 s.
func (s *subject) memoryBack() (back bool, after int64) {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		after = s.Used()
		if after <= s.usual+s.limit/8 || s.Failure() != "" {
			return true, after
		}
		if time.Now().After(deadline) {
			return false, after
		}
	}
}
