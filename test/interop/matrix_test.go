// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	oldsdk "github.com/a2aproject/a2a-go/a2a"
	newsdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// The cells of the matrix.
const (
	passes  = "ok"
	off     = "off"  // the agent does not support the operation
	none    = "none" // the client does not have the operation
	unknown = "fails"
	fails   = "known failure"
)

// row is the row of a client.
type row struct {
	Client   string            `json:"client"`
	Protocol string            `json:"protocol"`
	Binding  string            `json:"binding"`
	Cells    map[string]string `json:"cells"`
}

func (r *row) name() string { return r.Client + ", " + r.Protocol + ", " + r.Binding }

// matrix is the golden file from which docs/reference/conformance.md is written.
type matrix struct {
	Operations []string `json:"operations"`
	Rows       []row    `json:"rows"`
	// Failures are the known failures of clients.
	Failures []failure `json:"failures"`
}

// failure is an operation that fails in a client with every agent that follows the
// specification.
type failure struct {
	Client    string `json:"client"`
	Operation string `json:"operation"`
	Reason    string `json:"reason"`
}

// knownFailures are defects of clients.
var knownFailures = []failure{
	{
		"a2a-go v0.3.15, 0.3, gRPC", "list",
		"it calls ListTasks of a2a.v1, which is in no published proto of 0.2 or 0.3; the answer is UNIMPLEMENTED.",
	},
}

// TestWire21_Matrix performs every operation with every client, and compares the
// results with the published matrix.
func TestWire21_Matrix(t *testing.T) {
	var mu sync.Mutex
	rows := map[string]row{}
	add := func(r row) {
		mu.Lock()
		defer mu.Unlock()
		rows[r.name()] = r
	}
	t.Run("clients", func(t *testing.T) {
		for _, c := range goClients {
			r := row{Client: c.name, Protocol: c.protocol, Binding: c.binding, Cells: map[string]string{}}
			t.Run(r.name(), func(t *testing.T) {
				t.Parallel()
				playAll(t, &r, c.open)
				add(r)
			})
		}
		for _, c := range jsClients {
			r := row{Client: c.client, Protocol: c.protocol, Binding: c.binding, Cells: map[string]string{}}
			t.Run(r.name(), func(t *testing.T) {
				t.Parallel()
				playJS(t, &r)
				add(r)
			})
		}
		for _, sdk := range pythonSDKs {
			t.Run(sdk.client, func(t *testing.T) {
				t.Parallel()
				playSDK(t, &sdk, add)
			})
		}
	})
	compare(t, rows)
}

func playAll(t *testing.T, r *row, open opener) {
	t.Helper()
	s := newScenario(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client, err := open(ctx, target{client: sidecartest.Client(t, s.token), url: s.url, token: credential(s.token)})
	for _, o := range operations {
		got := ""
		err := err
		if err == nil {
			got, err = s.play(ctx, client, o.name)
		}
		r.Cells[o.name] = judge(t, r, o.name, o.want, got, classify(err), err)
	}
}

// classify returns the cell for an error, "" if err is nil.
func classify(err error) string {
	is := func(targets ...error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
	switch {
	case err == nil:
		return ""
	case is(errNone):
		return none
	case is(errNotOnCard, newsdk.ErrPushNotificationNotSupported, oldsdk.ErrPushNotificationNotSupported,
		newsdk.ErrUnsupportedOperation, oldsdk.ErrUnsupportedOperation,
		newsdk.ErrExtendedCardNotConfigured, oldsdk.ErrAuthenticatedExtendedCardNotConfigured):
		return off
	case strings.Contains(err.Error(), oldsdk.ErrPushNotificationNotSupported.Error()),
		strings.Contains(err.Error(), "Push Notification is not supported"):
		return off // over gRPC, the client of 0.3 has no type for this error
	default:
		return unknown
	}
}

// judge returns the cell for the result of a client. If the client has the operation, it
// fails the test for a result that is neither correct nor a known failure, and for a known
// failure that now works.
func judge(t *testing.T, r *row, operation, want, got, class string, err error) string {
	t.Helper()
	known := reasonOf(r, operation) != ""
	switch {
	case class == none:
		return class
	case class == off && known:
		return fails
	case class == "" && got == want:
		if known {
			t.Errorf("%s of %s is a known failure, but works", operation, r.name())
		}
		return passes
	case known:
		return fails
	default:
		t.Errorf("%s: got %q, %v, want %q", operation, got, err, want)
	}
	return unknown
}

func reasonOf(r *row, operation string) string {
	for _, f := range knownFailures {
		if f.Client == r.name() && f.Operation == operation {
			return f.Reason
		}
	}
	return ""
}

// compare compares the rows with the golden file. It keeps the rows of clients that did
// not run because node or Python is missing.
func compare(t *testing.T, rows map[string]row) {
	t.Helper()
	golden := filepath.Join("testdata", "matrix.json")
	text, err := os.ReadFile(golden)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var former matrix
	if err == nil {
		if err := json.Unmarshal(text, &former); err != nil {
			t.Fatal(err)
		}
	}
	before := map[string]row{}
	for _, r := range former.Rows {
		before[r.name()] = r
	}
	seen := matrix{Failures: knownFailures}
	for _, o := range operations {
		seen.Operations = append(seen.Operations, o.name)
	}
	take := func(r row) {
		if now, ok := rows[r.name()]; ok && len(now.Cells) > 0 {
			r = now
		} else if then, ok := before[r.name()]; ok {
			r = then
		}
		seen.Rows = append(seen.Rows, r)
	}
	for _, c := range goClients {
		take(row{Client: c.name, Protocol: c.protocol, Binding: c.binding})
	}
	for _, c := range jsClients {
		take(row{Client: c.client, Protocol: c.protocol, Binding: c.binding})
	}
	for _, sdk := range pythonSDKs {
		for _, r := range sdk.rows {
			take(row{Client: sdk.client, Protocol: r.protocol, Binding: r.binding})
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(seen); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), out.String()); diff != "" {
		t.Errorf("%s (-published +seen): make conformance\n%s", golden, diff)
	}
}
