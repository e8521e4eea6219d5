// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// managed lists an object with managed fields, and counts the reads.
type managed struct {
	client.Reader
	reads int
}

func (m *managed) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	m.reads++
	list.(*metav1.PartialObjectMetadataList).Items = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
		{Manager: "tester", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:a":{}}}`)},
		{Manager: "kubectl-edit", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:a":{}}}`), Subresource: "scale"},
		{Manager: "autoscaler", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`), Subresource: "status"},
		{Manager: "kubectl-edit", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`), Subresource: "scale"},
		{Manager: "status-writer", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:a":{}}}`), Subresource: "status"},
		{Manager: "other", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:b":{}}}`)},
	}}}}
	return nil
}

// TestContestedFields lets another program change a field back.
func TestContestedFields(t *testing.T) {
	want := []state.Contest{{Kind: "ConfigMap", Name: "cm", Field: "data.a", Manager: "kubectl-edit (scale)"}}
	for name, test := range map[string]struct {
		every  time.Duration
		times  int
		want   []state.Contest
		reads  int
		digest string
	}{
		"three times in five minutes":     {every: time.Minute, times: 3, want: want, reads: 1},
		"often":                           {every: time.Second, times: 30, want: want, reads: 1},
		"twice":                           {every: time.Minute, times: 2, reads: 1},
		"three times in a longer time":    {every: 3 * time.Minute, times: 3, reads: 1},
		"changes of the desired content":  {every: time.Second, times: 5, digest: "former"},
		"once, and again after the limit": {every: 6 * time.Minute, times: 5},
	} {
		t.Run(name, func(t *testing.T) {
			w := &writer{version: "2"}
			live := &managed{}
			passive := testingclock.NewFakePassiveClock(time.Now())
			a := New(Config{Writer: w, FieldOwner: "tester", DigestAnnotation: "digest", OwnerLabel: "owner", Clock: passive, Live: live})
			for i := range test.times {
				passive.SetTime(passive.Now().Add(test.every))
				foreign := applied(t)
				foreign.Data["a"] = "foreign"
				want := configMap()
				if test.digest != "" {
					want.Data["b"] = strconv.Itoa(i)
					foreign.Annotations["digest"] = test.digest
				}
				if _, err := a.Set(t.Context(), owner, Of(want, foreign)); err != nil {
					t.Fatal(err)
				}
				a.written.Drop(Of(configMap(), foreign).target) // the cache shows the write, and then the change of the other program
			}
			got, recheck := a.Contested(owner.UID)
			if diff := cmp.Diff(test.want, got); diff != "" || live.reads != test.reads {
				t.Errorf("Contested() with %d reads (-want +got):\n%s", live.reads, diff)
			}
			if (recheck > 0) != (len(test.want) > 0) {
				t.Errorf("recheck = %s", recheck)
			}
			passive.SetTime(passive.Now().Add(contestWindow))
			if got, _ := a.Contested(owner.UID); got != nil {
				t.Errorf("five minutes later: %v", got)
			}
		})
	}
}

// TestContestedPart has a Deployment of which the cache has no spec. Its generation shows whether a write has changed it.
func TestContestedPart(t *testing.T) {
	for what, test := range map[string]struct {
		after int64
		want  []state.Contest
	}{
		"another program changes the spec": {6, []state.Contest{{Kind: "ConfigMap", Name: "cm", Field: "spec", Manager: "kubectl-edit (scale)"}}},
		"only the status changes":          {5, nil},
	} {
		w := &writer{version: "9", generation: test.after}
		a := newApplier(w)
		a.config.Live = &managed{}
		for range contestedTimes {
			part := applied(t)
			part.Data = nil
			part.Generation = 5
			state.MarkTooLarge(part, 1<<20)
			if _, err := a.Set(t.Context(), owner, Of(configMap(), part)); err != nil {
				t.Fatal(err)
			}
			a.written.Drop(Of(configMap(), part).target)
		}
		if got, _ := a.Contested(owner.UID); !cmp.Equal(test.want, got) {
			t.Errorf("%s: Contested() = %v", what, got)
		}
	}
}

// TestFieldsThatAPolicyChanges has an API server that does not keep the value of a write. If only the cache lacks the
// value, the field is not contested.
func TestFieldsThatAPolicyChanges(t *testing.T) {
	for what, test := range map[string]struct {
		cached func(*corev1.ConfigMap)
		want   []state.Contest
	}{
		"the API server keeps another value": {
			func(c *corev1.ConfigMap) { c.Data["a"] = "foreign" }, []state.Contest{{Kind: "ConfigMap", Name: "cm", Field: "data.a", Undone: true}},
		},
		"the cache has no data": {func(c *corev1.ConfigMap) { c.Data = nil }, nil},
		"the cache has a part": {func(c *corev1.ConfigMap) {
			c.Data = map[string]string{}
			state.MarkTooLarge(c, 1<<20)
		}, nil},
	} {
		current := applied(t)
		test.cached(current)
		w := &writer{version: current.ResourceVersion}
		a := New(Config{Writer: w, FieldOwner: "tester", DigestAnnotation: "digest", OwnerLabel: "owner", Clock: testingclock.NewFakePassiveClock(time.Now())})
		if _, err := a.Set(t.Context(), owner, Of(configMap(), current)); err != nil {
			t.Fatal(err)
		}
		if got, _ := a.Contested(owner.UID); !cmp.Equal(test.want, got) || len(w.kinds) != 1 {
			t.Errorf("%s: Contested() = %v after %d writes", what, got, len(w.kinds))
		}
	}
}

func TestDifferingField(t *testing.T) {
	object := func(text string) any {
		out, err := members(rawJSON(text))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, test := range []struct{ want, have, field string }{
		{`{"spec":{"replicas":1}}`, `{"spec":{"replicas":2}}`, "spec.replicas"},
		{`{"kind":"X","metadata":{"uid":"1"}}`, `{"metadata":{"uid":"2"}}`, ""},
		{`{"c":[{"name":"a","env":[{"name":"X","value":"1"}]}]}`, `{"c":[{"name":"b"},{"name":"a","env":[{"name":"X","value":"2"}]}]}`, "c[a].env[X].value"},
		{`{"c":[{"name":"a"}]}`, `{}`, "c[a]"},
		{`{"ports":[{"port":80}]}`, `{"ports":[{"port":81}]}`, "ports[0].port"},
		{`{"cpu":"1000m"}`, `{"cpu":"1"}`, ""},
		{`{"paused":false,"x":""}`, `{}`, ""},
		{`{"a":1}`, `{"a":1,"b":2}`, ""},
	} {
		if got := differingField("", object(test.want), object(test.have)); got != test.field {
			t.Errorf("%s in %s: %q, want %q", test.want, test.have, got, test.field)
		}
	}
}

type rawJSON string

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }
