// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// problem is the error of a request, with its response.
type problem struct {
	status int
	// retry adds the header Retry-After with a second.
	retry   bool
	Code    string `json:"code"`
	Message string `json:"message"`
	Field   string `json:"field,omitempty"`
}

func notFound(message string) *problem {
	return &problem{status: http.StatusNotFound, Code: "NotFound", Message: message}
}

func (p *problem) Error() string { return p.Message }

// fail writes the response of a problem, with the body {"error": ...}.
func fail(w http.ResponseWriter, p *problem) {
	body, err := json.Marshal(map[string]*problem{"error": p})
	if err != nil {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	body = append(body, '\n')
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if p.retry {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(p.status)
	write(w, body)
}

// tooMany responds to a request that a limit rejects, with Retry-After.
func tooMany(w http.ResponseWriter, name string, refusal limit.Refusal, message string) {
	countLimited(w, name, refusal)
	fail(w, &problem{
		status: http.StatusTooManyRequests, Code: "TooManyRequests",
		Message: message,
	})
}
