// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
)

// FuzzResponse checks that the results of any response are bounded and marked with their
// origin, and that none has the publisher of another registry.
func FuzzResponse(f *testing.F) {
	f.Add(`{"results":[{"identifier":"urn:air:west.example:a:b","displayName":"b","type":"application/a2a-agent-card+json","url":"https://a.example/"}]}`, 0, 10)
	f.Add(`{"results":[{"identifier":"urn:air:self.example:a:b","displayName":"b","type":"a/b","url":"http://169.254.169.254/","metadata":{"peer":1}}]}`, 0, 1)
	f.Add(`{"results":[{},{},null,1,"x",[]]}`, 1, 3)
	f.Add(`{"results":null,"results":[{"displayName":"\u202e"}]}`, 0, 3)
	f.Fuzz(func(t *testing.T, body string, skip, limit int) {
		skip, limit = max(0, skip%maxDepth), max(1, limit%maxDepth)
		west := &peer{Peer: Peer{Name: "west", URL: "https://west.example/ard", Publisher: "west.example"}}
		east := &peer{Peer: Peer{Name: "east", URL: "https://east.example/ard", Publisher: "east.example"}}
		federation := &Federation{options: Options{Publisher: &ard.Publisher{Domain: "self.example"}}}
		a := &answer{peer: west}
		if _, err := federation.read(a, []byte(body), window{&peerSet{peers: []*peer{west, east}}, nil, skip, limit}); err != nil {
			return
		}
		if len(a.results) != len(a.positions) || len(a.results) > max(0, limit-skip) {
			t.Fatalf("%d results at %v, with skip %d and limit %d", len(a.results), a.positions, skip, limit)
		}
		for i := range a.results {
			r := &a.results[i]
			publisher, _, _ := strings.Cut(strings.TrimPrefix(r.Identifier, "urn:air:"), ":")
			if publisher == "self.example" || publisher == "east.example" || r.Metadata[metadataPublisher] != publisher || r.Metadata[metadataPeer] != "west" {
				t.Errorf("result %+v", r)
			}
			if r.Metadata[metadataVerified] != (publisher == "west.example") || r.Source != "https://west.example/ard/" || !strings.HasPrefix(strings.ToLower(r.URL), "https:") {
				t.Errorf("result %+v", r)
			}
			if strings.ContainsFunc(r.DisplayName+r.Description+fmt.Sprint(r.Tags, r.Capabilities, r.Metadata), unicode.IsControl) {
				t.Errorf("result %+v has control characters", r)
			}
			if text, err := json.Marshal(r); err != nil || len(text) > 16*maxResult {
				t.Errorf("result of %d bytes: %v", len(text), err)
			}
		}
	})
}

// TestResultsKeepLittleMemory reads a response of which little is shown: the memory that its results keep until the slowest peer has answered
// is bounded by what a search reserves.
func TestResultsKeepLittleMemory(t *testing.T) {
	for name, member := range map[string]string{
		"tags":     `"tags":[` + strings.Repeat(`"",`, 5_000) + `""]`,
		"queries":  `"representativeQueries":[` + strings.Repeat(`"",`, 5_000) + `""]`,
		"texts":    `"description":"` + strings.Repeat("x", 15_000) + `"`,
		"too many": `"tags":[` + strings.Repeat(`"",`, 10_000) + `""]`,
		"objects":  `"metadata":{"x":[` + strings.Repeat(`{},`, 10_000) + `{}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			var body strings.Builder
			body.WriteString(`{"results":[`)
			count := 0
			for body.Len() < maxResponse-maxResult {
				_, _ = fmt.Fprintf(&body, `{"identifier":"urn:air:west.example:a:b%d","displayName":"b","type":"a/b","url":"https://a.example/",%s},`, count, member)
				count++
			}
			body.WriteString(`{}]}`)
			west := &peer{Peer: Peer{Name: "west", URL: "https://west.example/ard", Publisher: "west.example"}}
			federation := &Federation{options: Options{Publisher: &ard.Publisher{Domain: "self.example"}}}
			a := &answer{peer: west}
			text := []byte(body.String())
			before := liveHeap()
			if _, err := federation.read(a, text, window{&peerSet{peers: []*peer{west}}, nil, 0, maxDepth}); err != nil {
				t.Fatal(err)
			}
			kept := liveHeap() - before
			if isTooLarge := name == "too many" || name == "objects"; isTooLarge != (len(a.results) == 0) {
				t.Errorf("%d of %d results are read", len(a.results), count)
			}
			t.Logf("%d results keep %d bytes", len(a.results), kept)
			if kept > maxResponse {
				t.Errorf("%d results of a response of %d bytes keep %d bytes", len(a.results), len(text), kept)
			}
			runtime.KeepAlive(text)
			runtime.KeepAlive(a)
		})
	}
}

// liveHeap returns the bytes of the heap that are in use.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// A decoded page token of merged results equals the encoded position, or parsePosition refuses it.
func FuzzPageToken(f *testing.F) {
	f.Add("", 0, "west", 3)
	f.Add("b64", 12, "east", 100)
	f.Fuzz(func(t *testing.T, local string, taken int, name string, rank int) {
		want := position{Local: strings.ToValidUTF8(local, "?"), LocalTaken: taken, Peers: map[string]int{strings.ToValidUTF8(name, "?"): rank}}
		token, err := want.token()
		if err != nil {
			t.Fatal(err)
		}
		got, err := parsePosition(token)
		if err != nil {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" || rank < 0 || rank > maxDepth || taken < 0 {
			t.Errorf("position (-want +got):\n%s", diff)
		}
	})
}
