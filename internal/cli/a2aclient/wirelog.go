// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2aclient

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
)

// maxLogged bounds a logged body, in bytes.
const maxLogged = 64 << 10

// redacted is logged in place of a credential.
const redacted = "[redacted]"

// shownHeaders are the headers whose values are logged. The value of any other header may be a credential.
var shownHeaders = []string{"A2a-Extensions", "A2a-Version", "Accept", "Content-Length", "Content-Type", "Date", "Last-Event-Id", "Retry-After", "Www-Authenticate"}

// secretMembers matches the members of a push configuration that contain credentials, with their values.
var secretMembers = regexp.MustCompile(`"(token|credentials)"\s*:\s*"(?:[^"\\]|\\.)*"?`)

// redact replaces credentials in a body.
func redact(text string) string { return secretMembers.ReplaceAllString(text, `"$1":"`+redacted+`"`) }

// wireLog logs requests and responses without their credentials.
type wireLog struct {
	next http.RoundTripper
	logf func(format string, args ...any)
}

// RoundTrip implements http.RoundTripper.
func (w *wireLog) RoundTrip(r *http.Request) (*http.Response, error) {
	place := *r.URL
	if place.RawQuery != "" {
		place.RawQuery = redacted
	}
	w.logf("> %s %s://%s%s", r.Method, place.Scheme, place.Host, place.RequestURI())
	w.header(">", r.Header)
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
		if len(body) > 0 {
			w.logf("> %s", redact(terminal.Clip(string(body), maxLogged)))
		}
	}
	resp, err := w.next.RoundTrip(r)
	if err != nil {
		w.logf("< %v", err)
		return nil, err
	}
	w.logf("< %s", resp.Status)
	w.header("<", resp.Header)
	resp.Body = &loggedBody{ReadCloser: resp.Body, logf: w.logf}
	return resp, nil
}

func (w *wireLog) header(mark string, header http.Header) {
	names := make([]string, 0, len(header))
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value := redacted
		if slices.Contains(shownHeaders, name) {
			value = strings.Join(header[name], ", ")
		}
		w.logf("%s %s: %s", mark, name, value)
	}
}

// loggedBody is a body of which the first maxLogged bytes are logged when they are read.
type loggedBody struct {
	io.ReadCloser
	logf   func(format string, args ...any)
	logged int
}

// Read implements io.Reader.
func (b *loggedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.logged < maxLogged {
		b.logged += n
		b.logf("< %s", redact(strings.TrimRight(string(p[:n]), "\r\n")))
	}
	return n, err
}
