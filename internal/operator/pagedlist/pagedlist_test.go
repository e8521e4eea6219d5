// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pagedlist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// server is an API server with a number of events.
type server struct {
	client.Reader
	events int
	// largest is the largest page.
	largest int
}

func (s *server) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	from, _ := strconv.Atoi(o.Continue)
	events := list.(*corev1.EventList)
	for i := from; i < s.events && (o.Limit == 0 || len(events.Items) < int(o.Limit)); i++ {
		events.Items = append(events.Items, corev1.Event{Reason: strconv.Itoa(i)})
	}
	s.largest = max(s.largest, len(events.Items))
	if end := from + len(events.Items); end < s.events {
		events.Continue = strconv.Itoa(end)
	}
	return nil
}

func TestEach(t *testing.T) {
	for _, test := range []struct {
		events, most, want int
		isTooMany          bool
	}{
		{0, 50, 0, false}, {5, 50, 5, false}, {16, 16, 16, false}, {40, 50, 40, false}, {50, 50, 50, false}, {10_000, 50, 50, true},
	} {
		s := &server{events: test.events}
		var got []string
		err := Each(t.Context(), s, &corev1.EventList{}, test.most, func(o runtime.Object) { got = append(got, o.(*corev1.Event).Reason) })
		if errors.Is(err, ErrTooMany) != test.isTooMany || len(got) != test.want || s.largest > PageSize {
			t.Errorf("%+v: %d objects, a page of %d, %v", test, len(got), s.largest, err)
		}
		for i, reason := range got {
			if reason != strconv.Itoa(i) {
				t.Errorf("%+v: object %d is %s", test, i, reason)
			}
		}
	}
}

// largeServer is an API server whose objects have a number of bytes each.
type largeServer struct {
	client.Reader
	sizes []int
	// pages are the numbers of objects of the pages that were read, and refused is the number of the others.
	pages   []int
	refused int
}

func (s *largeServer) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	from, _ := strconv.Atoi(o.Continue)
	end := min(len(s.sizes), from+int(o.Limit))
	size := 0
	for _, each := range s.sizes[from:end] {
		size += each
	}
	transport := Bound(roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(bytes.NewReader(make([]byte, size)))}, nil
	}))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.invalid", http.NoBody)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		s.refused++
		return err
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || len(body) != size {
		return fmt.Errorf("%d of %d bytes: %w", len(body), size, err)
	}
	s.pages = append(s.pages, end-from)
	events := list.(*corev1.EventList)
	for i := from; i < end; i++ {
		events.Items = append(events.Items, corev1.Event{Reason: strconv.Itoa(i)})
	}
	if end < len(s.sizes) {
		events.Continue = strconv.Itoa(end)
	}
	return nil
}

type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestPagesHaveABoundedSize checks that no page of more than one object has more than MaxBody bytes, also if large objects
// follow small ones, and that the pages of small objects are as large as before.
func TestPagesHaveABoundedSize(t *testing.T) {
	s := &largeServer{}
	for range 2 * PageSize {
		s.sizes = append(s.sizes, 4<<10)
	}
	for range 6 {
		s.sizes = append(s.sizes, MaxBody+MaxBody/2)
	}
	for range 6 {
		s.sizes = append(s.sizes, MaxBody/2)
	}
	for range 4 * PageSize {
		s.sizes = append(s.sizes, 4<<10)
	}
	seen := 0
	if err := Each(t.Context(), s, &corev1.EventList{}, 1000, func(o runtime.Object) {
		if o.(*corev1.Event).Reason != strconv.Itoa(seen) {
			t.Errorf("object %d is %s", seen, o.(*corev1.Event).Reason)
		}
		seen++
	}); err != nil || seen != len(s.sizes) {
		t.Fatalf("%d of %d objects, %v", seen, len(s.sizes), err)
	}
	at := 0
	for _, n := range s.pages {
		size := 0
		for _, each := range s.sizes[at : at+n] {
			size += each
		}
		if at += n; n > 1 && size > MaxBody {
			t.Errorf("a page of %d objects has %d bytes", n, size)
		}
	}
	// Each page of more than smallBody bytes is refused once.
	if s.pages[0] != PageSize || s.pages[1] != PageSize || s.refused > 4+6+6 || len(s.pages) > 2+6+6+8 {
		t.Errorf("pages of %v objects, and %d refused", s.pages, s.refused)
	}
}

// answering is an API server whose answers have a number of bytes. It sends those of namespace "slow" when the test allows it.
type answering struct {
	client.Reader
	size  int
	allow chan struct{}
	reads []int64
}

func (a *answering) Get(ctx context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	transport := Bound(roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(bytes.NewReader(make([]byte, a.size)))}, nil
	}))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.invalid/api/v1/namespaces/n/secrets/s", http.NoBody)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	a.reads = append(a.reads, int64(len(body)))
	if key.Namespace == "slow" {
		<-a.allow
	}
	return err
}

// TestLargeObjectsAreReadOneAtATime reads a small object while a large one is read, and another large one after it.
func TestLargeObjectsAreReadOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		get := func(ctx context.Context, a *answering, namespace string) error {
			handled := false
			err := Get(ctx, a, client.ObjectKey{Namespace: namespace, Name: "s"}, &corev1.Secret{}, func() { handled = true })
			if handled != (err == nil) {
				t.Errorf("handled %t after %v", handled, err)
			}
			return err
		}
		first := &answering{size: smallBody + 1, allow: make(chan struct{})}
		slow := make(chan error, 1)
		go func() { slow <- get(t.Context(), first, "slow") }()
		synctest.Wait()
		if err := get(t.Context(), &answering{size: smallBody}, "other"); err != nil {
			t.Errorf("a small object: %v", err)
		}
		ended, cancel := context.WithCancel(t.Context())
		waiting := make(chan error, 2)
		go func() { waiting <- get(ended, &answering{size: smallBody + 1}, "ended") }()
		synctest.Wait()
		cancel()
		if err := <-waiting; !errors.Is(err, context.Canceled) {
			t.Errorf("a read whose context ends while it waits: %v", err)
		}
		second := &answering{size: maxObject}
		go func() { waiting <- get(t.Context(), second, "other") }()
		synctest.Wait()
		if len(waiting) > 0 || len(second.reads) > 0 {
			t.Error("two large objects are read at a time")
		}
		close(first.allow)
		for _, done := range []chan error{slow, waiting} {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if err := get(t.Context(), &answering{size: maxObject + 1}, "other"); !errors.Is(err, ErrTooLarge) {
			t.Errorf("an object of more than maxObject bytes: %v", err)
		}
	})
}

// TestBoundOfOtherAnswers sends requests that no function of the package sends.
func TestBoundOfOtherAnswers(t *testing.T) {
	for _, test := range []struct {
		method, path string
		size         int
		refuse       bool
	}{
		{http.MethodGet, "/api/v1/namespaces/n/pods/p", maxAnswer, false},
		{http.MethodPatch, "/api/v1/namespaces/n/pods/p/status", maxAnswer + 1, true},
		{http.MethodDelete, "/api/v1/namespaces/n/pods/p", maxAnswer + 1, false},
		{http.MethodGet, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/c", maxAnswer + 1, false},
	} {
		transport := Bound(roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(bytes.NewReader(make([]byte, test.size)))}, nil
		}))
		request, err := http.NewRequestWithContext(t.Context(), test.method, "http://api.invalid"+test.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if errors.Is(err, ErrTooLarge) != test.refuse {
			t.Errorf("%s %s, %d bytes: %v", test.method, test.path, test.size, err)
		}
		if err == nil {
			_ = response.Body.Close()
		}
	}
}
