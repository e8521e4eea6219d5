// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
)

// requests lists requests of the audit log, with the status of a response that is not a success, such as "patch
// deployments" or "get pods 404".
type requests []string

// requested runs f, and returns the requests that the manager sends from then on until it has done at least one
// reconcile and is idle again. The API server writes the audit log before it responds, so the log is complete at this
// time.
func (p *plane) requested(ctx context.Context, m *manager, f func() error) (requests, error) {
	looked, err := m.awaitIdle(ctx, 0)
	if err != nil {
		return nil, err
	}
	before, err := p.auditSize()
	if err != nil {
		return nil, err
	}
	if err := f(); err != nil {
		return nil, err
	}
	if _, err := m.awaitIdle(ctx, looked+1); err != nil {
		return nil, err
	}
	return readAudit(p.auditLog(), before)
}

// auditSize returns the size of the audit log in bytes, zero before there is one.
func (p *plane) auditSize() (int64, error) {
	log, err := os.Stat(p.auditLog())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read audit log: %w", err)
	}
	return log.Size(), nil
}

func readAudit(path string, offset int64) (requests, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	all := requests{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb      string `json:"verb"`
			ObjectRef struct {
				Resource    string `json:"resource"`
				Subresource string `json:"subresource"`
			} `json:"objectRef"`
			ResponseStatus struct {
				Code int `json:"code"`
			} `json:"responseStatus"`
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		request := event.Verb + " " + event.ObjectRef.Resource
		if event.ObjectRef.Subresource != "" {
			request += "/" + event.ObjectRef.Subresource
		}
		if event.ResponseStatus.Code >= http.StatusBadRequest {
			request = fmt.Sprintf("%s %d", request, event.ResponseStatus.Code)
		}
		all = append(all, request)
	}
	slices.Sort(all)
	return all, lines.Err()
}

// reads returns the number of requests that only read.
func (r requests) reads() int {
	return r.count(func(request string) bool {
		return !strings.HasPrefix(request, "patch ") && !strings.HasPrefix(request, "delete ")
	})
}

// refused returns the number of requests that the API server refused, such as conflicts.
func (r requests) refused() int {
	return r.count(func(request string) bool { return strings.Count(request, " ") > 1 })
}

func (r requests) count(of func(string) bool) int {
	n := 0
	for _, request := range r {
		if of(request) {
			n++
		}
	}
	return n
}
