// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pagedlist

import (
	"context"
	"errors"
	"strconv"
	"testing"

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
