// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/test/bench/load"
	"github.com/a2a-operator/a2a-operator/test/bench/registry/apiserver"
)

const (
	// callerAddresses is the number of addresses from which the callers come, and callersEach the number of callers of
	// an address. The registry limits unknown tokens by address, and searches and watches by caller.
	callerAddresses = 16
	callersEach     = 40
)

// callers are users that see all namespaces.
type callers struct {
	base    string
	clients [callerAddresses]*http.Client
	next    atomic.Int64
}

func newCallers(base string) *callers {
	c := &callers{base: base}
	for i := range c.clients {
		// All addresses of 127.0.0.0/8 are of this machine.
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i+1))}}
		c.clients[i] = &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 1 << 14, DisableCompression: true}}
	}
	return c
}

// get sends a request of the next caller.
func (c *callers) get(ctx context.Context, path string) (*http.Response, error) {
	n := c.next.Add(1)
	at := n % callerAddresses
	token := apiserver.Token(fmt.Sprintf("user-%d-%d", at, n/callerAddresses%callersEach), everything)
	return c.getAs(ctx, c.clients[at], token, path)
}

func (c *callers) getAs(ctx context.Context, client *http.Client, token, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	return client.Do(request)
}

// read sends a request and returns the header and the body of its response.
func (c *callers) read(ctx context.Context, path string) (http.Header, []byte, error) {
	response, err := c.get(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.Header, body, errors.Join(err, check(response, body))
}

// attempts bounds the attempts to open a stream that the registry refuses for now. They are a second apart. On a busy
// machine, a TokenReview can take longer than the registry waits for it.
const attempts = 30

// open sends a request and returns the body of its response, as a stream.
func (c *callers) open(ctx context.Context, path string) (io.ReadCloser, error) {
	for attempt := 1; ; attempt++ {
		response, err := c.get(ctx, path)
		if err != nil {
			return nil, err
		}
		if response.StatusCode == http.StatusOK {
			return response.Body, nil
		}
		text, err := io.ReadAll(io.LimitReader(response.Body, 300))
		err = errors.Join(err, response.Body.Close(), check(response, text))
		if response.StatusCode != http.StatusServiceUnavailable || attempt == attempts {
			return nil, err
		}
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

func check(response *http.Response, body []byte) error {
	if response.StatusCode == http.StatusOK {
		return nil
	}
	return fmt.Errorf("%s: %.300s", response.Status, body)
}

// requests returns an operation that requests the paths in turn. It fails if a response has fewer than size bytes.
func (c *callers) requests(size int, paths ...string) load.Operation {
	var next atomic.Int64
	return func(ctx context.Context) (int, error) {
		response, err := c.get(ctx, paths[int(next.Add(1))%len(paths)])
		if err != nil {
			return 0, err
		}
		defer func() { _ = response.Body.Close() }()
		n, err := io.Copy(io.Discard, response.Body)
		if err == nil && (response.StatusCode != http.StatusOK || n < int64(size)) {
			err = fmt.Errorf("%s with %d bytes, of at least %d", response.Status, n, size)
		}
		return 1, err
	}
}

// warm makes each caller known to the registry.
func (c *callers) warm(ctx context.Context) error {
	for range callerAddresses * callersEach {
		if _, _, err := c.read(ctx, "/v1/agents?limit=1"); err != nil {
			return err
		}
		// The registry limits the number of unknown tokens from one address, and the number of concurrent reviews.
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// recorded is a response for the program static.
type recorded struct {
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

// record writes the responses of a manager to paths into a file.
func (c *cluster) record(ctx context.Context, m *manager, paths []string) (string, error) {
	responses := map[string]recorded{}
	for _, path := range paths {
		header, body, err := m.callers.read(ctx, path)
		if err != nil {
			return "", fmt.Errorf("record %s: %w", path, err)
		}
		header.Del("Date")
		responses[path] = recorded{Header: header, Body: body}
	}
	file, err := os.CreateTemp(c.b.dir, "responses")
	if err != nil {
		return "", err
	}
	err = json.NewEncoder(file).Encode(responses)
	return file.Name(), errors.Join(err, file.Close())
}
