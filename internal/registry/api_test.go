// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/informercache"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// world is a registry with a fake API server, whose tokens and permissions are tables.
type world struct {
	// handler calls unvalidated and validates its responses.
	handler, unvalidated http.Handler
	api                  *api

	tokens map[string]access.Caller
	// may lists the namespaces that a user may list; "" stands for all.
	may    map[string][]string
	broken error
	// cluster has the Agents that sign their cards, and their pods, into which the registry writes
	// the reports of sidecars.
	cluster client.Client
}

// clusterScheme has the kinds that the registry reads and writes.
var clusterScheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := errors.Join(a2av1alpha1.AddToScheme(s), corev1.AddToScheme(s)); err != nil {
		panic(err)
	}
	return s
}()

func newWorld(tb testing.TB, s *index.Snapshot) *world {
	tb.Helper()
	return newWorldWith(tb, s, func(*api) {})
}

// newWorldWith returns a registry. It calls change before the registry serves.
func newWorldWith(tb testing.TB, s *index.Snapshot, change func(*api)) *world {
	tb.Helper()
	w := &world{
		tokens: map[string]access.Caller{
			"admin": caller(tb, "admin", nil),
			"home":  caller(tb, "system:serviceaccount:team-a:bot", nil),
			"dev":   caller(tb, "dev", nil),
			"none":  caller(tb, "nobody", nil),
			"peer":  caller(tb, "peer", nil),
		},
		may:     map[string][]string{"admin": {""}, "dev": {"team-b", "team-c"}},
		cluster: fake.NewClientBuilder().WithScheme(clusterScheme).WithIndex(&corev1.Pod{}, names.PodsByAgent, informercache.PodKeys).WithStatusSubresource(&corev1.Pod{}).Build(),
	}
	review := func(_ context.Context, token string, _ access.Sender) (access.Caller, bool, error) {
		c, valid := w.tokens[token]
		return c, valid, w.broken
	}
	allows := func(_ context.Context, c access.Caller, right access.Right) (bool, error) {
		if right.Peer {
			return c.Username == "peer", w.broken
		}
		return slices.Contains(w.may[c.Username], right.Namespace), w.broken
	}
	feed := feedOf(tb, s)
	authz := access.NewAuthorizer(access.AuthorizerOptions{
		Review: allows, Bindings: access.NewBindings(clock.RealClock{}), Clock: clock.RealClock{},
		Candidates: func() []string { return s.Namespaces(nil) },
	})
	a := &api{
		feed: feed,
		// The clock stands still, so that the rate limit for wrong tokens does not refill while a
		// test runs on a busy machine.
		authn:        access.NewAuthenticator(access.AuthenticatorOptions{Review: review, Clock: testclock.NewFakePassiveClock(time.Now())}),
		authz:        authz,
		watches:      newWatches(feed, clock.RealClock{}),
		searchLimits: newSearchLimits(clock.RealClock{}),
		signatures:   newCardSignatures(w.cluster),
		log:          logr.Discard(),
		denials:      newDenials(logr.Discard(), clock.RealClock{}),

		publisher: &ard.Publisher{Domain: "agents.example.com", BaseURL: "http://registry.test"},
	}
	a.services = servicesOf(w.cluster)
	change(a)
	w.unvalidated, w.api = a.handler(), a
	w.handler = validated(tb, w.unvalidated)
	return w
}

// feedOf returns a feed with a snapshot, which may be nil.
func feedOf(tb testing.TB, s *index.Snapshot) *index.Feed {
	tb.Helper()
	f := index.NewFeed(func(_ context.Context, key index.Key, _ *index.Entry, _ index.Revision) (*index.Entry, error) {
		return s.Get(key), nil
	}, clock.RealClock{}, logr.Discard())
	if s == nil {
		return f
	}
	for e := range s.All {
		f.Touch(index.Revision{}, e.Key)
	}
	ctx, cancel := context.WithCancel(tb.Context())
	cancel()
	f.Run(ctx) // publishes once
	return f
}

// specification returns the router of openapi.yaml, which is read once.
var specification = sync.OnceValues(func() (routers.Router, error) {
	document, err := openapi3.NewLoader().LoadFromData(openapi)
	if err != nil {
		return nil, fmt.Errorf("load openapi.yaml: %w", err)
	}
	if err := document.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("openapi.yaml is invalid: %w", err)
	}
	return gorillamux.NewRouter(document)
})

// validated returns a handler that checks every response of next against openapi.yaml.
func validated(tb testing.TB, next http.Handler) http.Handler {
	tb.Helper()
	router, err := specification()
	if err != nil {
		tb.Fatal(err)
	}
	options := &openapi3filter.Options{IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			tb.Fatal(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
		next.ServeHTTP(recorder, r)
		r.Body = io.NopCloser(bytes.NewReader(sent))
		body := recorder.Body.Bytes()
		if route, parameters, err := router.FindRoute(r); err == nil {
			in := &openapi3filter.RequestValidationInput{Request: r, PathParams: parameters, Route: route, Options: options}
			checkAnswer(tb, in, recorder, body)
			if err := openapi3filter.ValidateRequest(r.Context(), in); err != nil && recorder.Code == http.StatusOK {
				tb.Errorf("%s %s was answered but openapi.yaml refuses it: %v", r.Method, r.URL, err)
			}
		} else if !errors.Is(err, routers.ErrPathNotFound) && !errors.Is(err, routers.ErrMethodNotAllowed) {
			tb.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		maps.Copy(w.Header(), recorder.Header())
		w.WriteHeader(recorder.Code)
		if _, err := w.Write(body); err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
			tb.Errorf("write: %v", err)
		}
	})
}

func checkAnswer(tb testing.TB, in *openapi3filter.RequestValidationInput, recorder *httptest.ResponseRecorder, body []byte) {
	tb.Helper()
	if in.Request.Method == http.MethodHead || recorder.Code == http.StatusNotModified {
		return
	}
	err := openapi3filter.ValidateResponse(in.Request.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: recorder.Code, Header: recorder.Header(),
		Body: io.NopCloser(bytes.NewReader(body)), Options: in.Options,
	})
	if err != nil {
		tb.Errorf("%s %s: the answer is not the one of openapi.yaml: %v", in.Request.Method, in.Request.URL, err)
	}
}

func (w *world) get(t *testing.T, token, target string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, target, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	return recorder.Result()
}

func bodyOf(t *testing.T, response *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

type listing struct {
	Items      []agentJSON `json:"items"`
	NextCursor string      `json:"nextCursor"`
	Total      int         `json:"total"`
	Revision   string      `json:"revision"`
}

func (w *world) list(t *testing.T, token, target string) (listing, []string) {
	t.Helper()
	response := w.get(t, token, target)
	body := bodyOf(t, response)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("GET %s = %d %s", target, response.StatusCode, body)
	}
	var l listing
	if err := json.Unmarshal([]byte(body), &l); err != nil {
		t.Fatalf("GET %s: %v in %s", target, err, body)
	}
	names := []string{}
	for _, item := range l.Items {
		names = append(names, item.Namespace+"/"+item.Name)
	}
	return l, names
}

// agentJSON is an agent in a response.
type agentJSON struct {
	Namespace, Name, DisplayName, Description, Version, URL string
	ExternalURL, Reason, UpdatedAt                          string
	Ready, Remote                                           bool
	Capabilities                                            map[string]any
	Provider                                                map[string]string
	DefaultInputModes, DefaultOutputModes                   []string
	Skills                                                  []skillJSON
	CardDigest                                              string
}

type skillJSON struct {
	ID, Name, Description string
	Tags                  []string
}

// caller returns the caller with a user name and extra attributes.
func caller(tb testing.TB, username string, extra map[string]authenticationv1.ExtraValue) access.Caller {
	tb.Helper()
	c, err := access.NewCaller(authenticationv1.UserInfo{Username: username, Extra: extra})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// makeEntry returns an agent with a skill for each of skills.
func makeEntry(tb testing.TB, key index.Key, ready bool, skills ...string) *index.Entry {
	tb.Helper()
	c := card.Card{
		Name: "Agent " + key.Name, Description: "Works in " + key.Namespace, Version: "1.0.0",
		Provider:          &card.Provider{Organization: "Owner of " + key.Namespace, URL: "https://owner.example"},
		Capabilities:      card.Capabilities{Streaming: ready, Extensions: []card.Extension{{URI: "urn:x:" + key.Name}}},
		Interfaces:        []card.Interface{{URL: "http://x/", Binding: card.GRPC, ProtocolVersion: "1.0"}, {URL: "http://x/", Binding: card.JSONRPC, ProtocolVersion: "0.3"}},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
	}
	for _, id := range skills {
		c.Skills = append(c.Skills, card.Skill{ID: id, Name: "Skill " + id, Description: "Does " + id, Tags: []string{"Tag-" + id}})
	}
	encoded, err := json.Marshal(map[string]any{"version": sidecarconfig.Version, "card": c})
	if err != nil {
		tb.Fatal(err)
	}
	reason := "PodsNotReady"
	if ready {
		reason = ""
	}
	e, err := index.NewEntry(index.Facts{
		Key: key, URL: "http://" + key.Name + "." + key.Namespace + "/", Ready: ready, Reason: reason,
		ExternalURL: "https://agents.example/" + key.Name, UpdatedAt: time.Unix(1_800_000_000, 0),
	}, index.CardSource{Text: string(encoded)})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func snapshotOf(entries ...*index.Entry) *index.Snapshot {
	byKey := make(map[index.Key]index.Change)
	for _, e := range entries {
		byKey[e.Key] = index.Change{Key: e.Key, After: e}
	}
	return (&index.Snapshot{}).With(slices.SortedFunc(maps.Values(byKey), func(a, b index.Change) int {
		return strings.Compare(a.Key.Namespace+"\x00"+a.Key.Name, b.Key.Namespace+"\x00"+b.Key.Name)
	}))
}

func fleet(t *testing.T) *index.Snapshot {
	t.Helper()
	return snapshotOf(
		makeEntry(t, index.Key{Namespace: "team-a", Name: "echo"}, true, "echo"),
		makeEntry(t, index.Key{Namespace: "team-a", Name: "writer"}, false, "write", "edit"),
		makeEntry(t, index.Key{Namespace: "team-b", Name: "echo"}, true, "echo", "repeat"),
		makeEntry(t, index.Key{Namespace: "team-c", Name: "painter"}, true, "paint"),
		makeEntry(t, index.Key{Namespace: "team-d", Name: "secret"}, true, "echo"),
	)
}

func TestSearch(t *testing.T) {
	w := newWorld(t, fleet(t))
	tests := map[string]struct {
		token, query string
		want         []string
	}{
		"all":                     {"admin", "", []string{"team-a/echo", "team-a/writer", "team-b/echo", "team-c/painter", "team-d/secret"}},
		"skill":                   {"admin", "?skill=echo", []string{"team-a/echo", "team-b/echo", "team-d/secret"}},
		"two skills":              {"admin", "?skill=echo&skill=repeat", []string{"team-b/echo"}},
		"tag in any case":         {"admin", "?tag=tag-PAINT", []string{"team-c/painter"}},
		"text":                    {"admin", "?text=agent+WRITER", []string{"team-a/writer"}},
		"text and namespace":      {"admin", "?text=does&namespace=team-b", []string{"team-b/echo"}},
		"not ready":               {"admin", "?ready=false", []string{"team-a/writer"}},
		"capability":              {"admin", "?capability=streaming&namespace=team-a", []string{"team-a/echo"}},
		"extension":               {"admin", "?capability=urn:x:painter", []string{"team-c/painter"}},
		"protocol and binding":    {"admin", "?protocol=0.3&binding=grpc&skill=paint", []string{"team-c/painter"}},
		"no such binding":         {"admin", "?binding=HTTP%2BJSON", []string{}},
		"provider in any case":    {"admin", "?provider=owner+OF+team-c", []string{"team-c/painter"}},
		"remote":                  {"admin", "?remote=true", []string{}},
		"not remote":              {"admin", "?remote=false&skill=paint", []string{"team-c/painter"}},
		"input mode":              {"admin", "?inputMode=text/plain&skill=paint", []string{"team-c/painter"}},
		"nothing":                 {"admin", "?skill=fly", []string{}},
		"own namespace":           {"home", "", []string{"team-a/echo", "team-a/writer"}},
		"own namespace and skill": {"home", "?skill=echo", []string{"team-a/echo"}},
		"by RBAC":                 {"dev", "", []string{"team-b/echo", "team-c/painter"}},
		"foreign namespace":       {"dev", "?namespace=team-a", []string{}},
		"no visible agents":       {"none", "", []string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l, got := w.list(t, tt.token, "/v1/agents"+tt.query)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
			if l.Total != len(tt.want) || l.NextCursor != "" {
				t.Errorf("total, nextCursor = %d, %q; want %d and none", l.Total, l.NextCursor, len(tt.want))
			}
		})
	}
}

func TestPages(t *testing.T) {
	w := newWorld(t, fleet(t))
	var got []string
	target := "/v1/agents?limit=2"
	for range 3 {
		l, names := w.list(t, "admin", target)
		got = append(got, strings.Join(names, " "))
		if l.Total != 5 {
			t.Errorf("total = %d, want 5", l.Total)
		}
		target = "/v1/agents?limit=2&cursor=" + l.NextCursor
		if l.NextCursor == "" {
			break
		}
	}
	want := []string{"team-a/echo team-a/writer", "team-b/echo team-c/painter", "team-d/secret"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

func TestItem(t *testing.T) {
	w := newWorld(t, fleet(t))
	l, _ := w.list(t, "admin", "/v1/agents?skill=paint")
	response := w.get(t, "admin", "/v1/agents/team-c/painter")
	var one agentJSON
	if err := json.Unmarshal([]byte(bodyOf(t, response)), &one); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l.Items[0], one); diff != "" {
		t.Errorf("list and get disagree (-list +get):\n%s", diff)
	}
	want := agentJSON{
		Namespace: "team-c", Name: "painter", DisplayName: "Agent painter", Description: "Works in team-c", Version: "1.0.0",
		URL: "http://painter.team-c/", Ready: true, ExternalURL: "https://agents.example/painter", UpdatedAt: "2027-01-15T08:00:00Z",
		Capabilities:      map[string]any{"streaming": true, "pushNotifications": false, "extendedCard": false, "extensions": []any{"urn:x:painter"}},
		Provider:          map[string]string{"organization": "Owner of team-c", "url": "https://owner.example"},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills:     []skillJSON{{ID: "paint", Name: "Skill paint", Description: "Does paint", Tags: []string{"Tag-paint"}}},
		CardDigest: one.CardDigest,
	}
	if diff := cmp.Diff(want, one); diff != "" || one.CardDigest == "" {
		t.Errorf("agent (-want +got), cardDigest %q:\n%s", one.CardDigest, diff)
	}
}

func TestUnchanged(t *testing.T) {
	w := newWorld(t, fleet(t))
	etags := make(map[string]string)
	for _, target := range []string{"/v1/agents", "/v1/agents?limit=1", "/v1/agents?skill=echo", "/v1/agents/team-a/echo", "/v1/agents/team-a/echo/card"} {
		etag := w.get(t, "admin", target).Header.Get("ETag")
		if other, taken := etags[etag]; taken || etag == "" {
			t.Errorf("%s: ETag %q is empty or that of %s", target, etag, other)
		}
		etags[etag] = target
		strong := strings.TrimPrefix(etag, "W/")
		for _, condition := range []string{etag, strong, `"other", W/` + strong, "*"} {
			response := w.get(t, "admin", target, "If-None-Match", condition)
			if response.StatusCode != http.StatusNotModified || bodyOf(t, response) != "" || response.Header.Get("ETag") != etag {
				t.Errorf("%s with If-None-Match %s = %d, want 304 without a body", target, condition, response.StatusCode)
			}
		}
		if response := w.get(t, "admin", target, "If-None-Match", `"other"`); response.StatusCode != http.StatusOK {
			t.Errorf("%s with another ETag = %d, want 200", target, response.StatusCode)
		}
	}
	if a, b := w.get(t, "admin", "/v1/agents").Header.Get("ETag"), w.get(t, "dev", "/v1/agents").Header.Get("ETag"); a == b {
		t.Errorf("two callers who see different agents get one ETag %s", a)
	}
}

// Many HTTP clients add a slash to the path of a list.
func TestListWithASlash(t *testing.T) {
	w := newWorld(t, fleet(t))
	want := bodyOf(t, w.get(t, "admin", "/v1/agents?limit=2"))
	response := w.get(t, "admin", "/v1/agents/?limit=2")
	if got := bodyOf(t, response); response.StatusCode != http.StatusOK || got != want {
		t.Errorf("GET /v1/agents/ = %d %s", response.StatusCode, got)
	}
}

// TestAgentOfAHiddenNamespaceIsMissing checks that the response for an agent that the caller does
// not see equals, byte by byte, the response for an agent that does not exist.
func TestAgentOfAHiddenNamespaceIsMissing(t *testing.T) {
	there, gone := newWorld(t, fleet(t)), newWorld(t, snapshotOf())
	for _, target := range []string{"/v1/agents/team-d/secret", "/v1/agents/team-d/secret/card"} {
		foreign, missing := there.get(t, "dev", target), gone.get(t, "dev", target)
		if foreign.StatusCode != http.StatusNotFound || missing.StatusCode != http.StatusNotFound {
			t.Errorf("%s = %d and %d, want 404", target, foreign.StatusCode, missing.StatusCode)
		}
		if diff := cmp.Diff(missing.Header, foreign.Header); diff != "" {
			t.Errorf("%s: headers (-missing +foreign):\n%s", target, diff)
		}
		if diff := cmp.Diff(bodyOf(t, missing), bodyOf(t, foreign)); diff != "" {
			t.Errorf("%s: body (-missing +foreign):\n%s", target, diff)
		}
	}
	foreign, missing := there.get(t, "dev", "/v1/agents?namespace=team-d"), gone.get(t, "dev", "/v1/agents?namespace=team-d")
	if diff := cmp.Diff(bodyOf(t, missing), bodyOf(t, foreign)); diff != "" || foreign.StatusCode != http.StatusOK {
		t.Errorf("list of a foreign namespace (-missing +foreign):\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	w := newWorld(t, fleet(t))
	tests := map[string]struct {
		token, target string
		status        int
		code, field   string
	}{
		"no token":              {"", "/v1/agents", 401, "Unauthenticated", ""},
		"bad token":             {"stolen", "/v1/agents", 401, "Unauthenticated", ""},
		"no token for one":      {"", "/v1/agents/team-a/echo", 401, "Unauthenticated", ""},
		"no token for card":     {"", "/v1/agents/team-a/echo/card", 401, "Unauthenticated", ""},
		"unknown parameter":     {"admin", "/v1/agents?skil=echo", 400, "InvalidParameter", "skil"},
		"repeated parameter":    {"admin", "/v1/agents?ready=true&ready=true", 400, "InvalidParameter", "ready"},
		"empty parameter":       {"admin", "/v1/agents?skill=", 400, "InvalidParameter", "skill"},
		"long parameter":        {"admin", "/v1/agents?tag=" + strings.Repeat("x", 513), 400, "InvalidParameter", "tag"},
		"parameter of 20 KB":    {"admin", "/v1/agents?" + strings.Repeat("x", 20<<10) + "=1", 400, "InvalidParameter", strings.Repeat("x", 64) + "…"},
		"parameter of no UTF-8": {"admin", "/v1/agents?%ff=1", 400, "InvalidParameter", "?"},
		"cursor of a build":     {"admin", "/v1/agents?cursor=M3RlYW0vYQ", 400, "InvalidParameter", "cursor"},
		"id of a build":         {"admin", "/v1/agents?watch=true&since=2.7-9.0123456789abcdef", 400, "InvalidParameter", "since"},
		"peers with parameters": {"admin", "/v1/peers?x=1", 400, "InvalidParameter", "query"},
		"peer search":           {"admin", "/v1/peers/agents?q=a&skill=b", 400, "InvalidParameter", "skill"},
		"repeated peer search":  {"admin", "/v1/peers/agents?q=a&q=b", 400, "InvalidParameter", "q"},
		"empty peer search":     {"admin", "/v1/peers/agents?q=", 400, "InvalidParameter", "q"},
		"long peer search":      {"admin", "/v1/peers/agents?q=" + strings.Repeat("x", 513), 400, "InvalidParameter", "q"},
		"long card parameter":   {"admin", "/v1/agents/team-a/echo/card?" + strings.Repeat("y", 20<<10), 400, "InvalidParameter", strings.Repeat("y", 64) + "…"},
		"limit":                 {"admin", "/v1/agents?limit=999", 400, "InvalidParameter", "limit"},
		"parameter on an agent": {"admin", "/v1/agents/team-a/echo?pretty=1", 400, "InvalidParameter", "pretty"},
		"missing":               {"admin", "/v1/agents/team-a/nobody", 404, "NotFound", ""},
		"no name":               {"admin", "/v1/agents/Team_A/nobody", 404, "NotFound", ""},
		"no path":               {"admin", "/v2", 404, "NotFound", ""},
		"two slashes":           {"admin", "//v1/agents", 404, "NotFound", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			response := w.get(t, tt.token, tt.target)
			var got struct{ Error apierror.Error }
			if err := json.Unmarshal([]byte(bodyOf(t, response)), &got); err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != tt.status || got.Error.Code != tt.code || got.Error.Field != tt.field || got.Error.Message == "" {
				t.Errorf("GET %s = %d %+v", tt.target, response.StatusCode, got.Error)
			}
			if challenged := response.Header.Get("WWW-Authenticate") != ""; challenged != (tt.status == 401) {
				t.Errorf("WWW-Authenticate = %q", response.Header.Get("WWW-Authenticate"))
			}
		})
	}
}

func TestReasonOfAgentThatIsNotReady(t *testing.T) {
	l, _ := newWorld(t, fleet(t)).list(t, "admin", "/v1/agents?ready=false")
	if len(l.Items) != 1 || l.Items[0].Reason != "PodsNotReady" {
		t.Errorf("items = %+v, want one with the reason PodsNotReady", l.Items)
	}
}

func TestRevisionIsNotReachedInTime(t *testing.T) {
	w := newWorld(t, fleet(t))
	l, _ := w.list(t, "admin", "/v1/agents?minRevision=0-0")
	if l.Revision != "0-0" {
		t.Errorf("revision = %q, want 0-0", l.Revision)
	}
	response := w.get(t, "admin", "/v1/agents?minRevision=1-0")
	if body := bodyOf(t, response); response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" || !strings.Contains(body, "minRevision") {
		t.Errorf("GET of a future revision = %d %s, want 503 with Retry-After", response.StatusCode, body)
	}
}

func TestAPIServerDown(t *testing.T) {
	w := newWorld(t, fleet(t))
	w.broken = errors.New("connection refused by 10.0.0.1")
	response := w.get(t, "admin", "/v1/agents")
	if body := bodyOf(t, response); response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" || strings.Contains(body, "10.0.0.1") {
		t.Errorf("GET /v1/agents = %d %s, want 503 without the reason", response.StatusCode, body)
	}
}

func TestNotIndexedYet(t *testing.T) {
	if response := newWorld(t, nil).get(t, "admin", "/v1/agents"); response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("GET /v1/agents = %d, want 503", response.StatusCode)
	}
}

func TestOpenPaths(t *testing.T) {
	w := newWorld(t, nil)
	for _, target := range []string{"/healthz", "/openapi.yaml"} {
		if response := w.get(t, "", target); response.StatusCode != http.StatusOK {
			t.Errorf("GET %s without a token = %d, want 200", target, response.StatusCode)
		}
	}
}

func TestReadOnly(t *testing.T) {
	w := newWorld(t, fleet(t))
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/v1/agents", strings.NewReader("{}")))
	if recorder.Code != http.StatusMethodNotAllowed || recorder.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST /v1/agents = %d, Allow %q", recorder.Code, recorder.Header().Get("Allow"))
	}
}

func TestCardVersions(t *testing.T) {
	s := fleet(t)
	w := newWorld(t, s)
	want := s.Get(index.Key{Namespace: "team-a", Name: "echo"})
	for version, form := range map[string]string{"": "", "0.3": "", "1.0": "1.0", "1.1": "1.0", "10.0": ""} {
		rendered, err := want.Card(form)
		if err != nil {
			t.Fatal(err)
		}
		response := w.get(t, "home", "/v1/agents/team-a/echo/card", "A2A-Version", version)
		if body := bodyOf(t, response); body != string(rendered.Body) || response.Header.Get("ETag") != rendered.ETag {
			t.Errorf("card for A2A-Version %q = %s with ETag %s, want %s with %s", version, body, response.Header.Get("ETag"), rendered.Body, rendered.ETag)
		}
	}
}
