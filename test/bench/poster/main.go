// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command poster is a lower bound for the cost of push notifications in Go: for each request, it posts prepared
// notifications with an http.Client. It posts as many at a time as a sidecar does to one host.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/test/bench/process"
)

const (
	atATime      = 4
	notification = `{"statusUpdate":{"taskId":"0198c2f4-0000-7000-8000-000000000000","contextId":"0198c2f3-0000-7000-8000-000000000000",` +
		`"status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-01T00:00:00.000Z"}}}`
)

func main() {
	sink := flag.String("sink", "", "`URL` of the receiver")
	process.Serve(func() http.Handler {
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atATime, DisableCompression: true}}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			count, err := strconv.Atoi(r.URL.Query().Get("count"))
			if err == nil {
				err = all(r.Context(), client, *sink, count)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		})
	})
}

func all(ctx context.Context, client *http.Client, sink string, count int) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range atATime {
		group.Go(func() error {
			for range (count + i) / atATime {
				if err := post(ctx, client, sink); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func post(ctx context.Context, client *http.Client, sink string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, sink, bytes.NewReader([]byte(notification)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/a2a+json")
	request.Header.Set("A2A-Version", "1.0")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}
