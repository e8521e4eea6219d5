// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonread

import (
	"fmt"
	"sync"
	"testing"
)

// TestEndedReaderDoesNotUseItsDecoder checks that an ended reader does not use its decoder,
// because the pool may have given it to another reader.
func TestEndedReaderDoesNotUseItsDecoder(t *testing.T) {
	for name, end := range map[string]func(r *Reader){"End": func(r *Reader) { _ = r.End() }, "Close": (*Reader).Close} {
		r := New([]byte(`{"a":1}`))
		r.Skip()
		end(r)
		next := New([]byte(`{"b":"other"}`))
		for range r.Members() {
			t.Error("Members() yields")
		}
		for range r.Elements() {
			t.Error("Elements() yields")
		}
		r.Fail("x")
		r.FailAt("y", "x")
		if r.Kind() != 0 || r.String() != "" || r.Int() != 0 || r.Bool() || r.Bytes() != nil || r.Object() != nil || r.Value() != nil || r.Raw() != nil {
			t.Errorf("something is read after %s", name)
		}
		if err := r.Err(); err != nil {
			t.Errorf("Err() after %s = %v", name, err)
		}
		if err := r.End(); err != nil {
			t.Errorf("End() after %s = %v", name, err)
		}
		for range next.Members() {
			if got := next.String(); got != "other" {
				t.Errorf("the next reader reads %q", got)
			}
		}
		if err := next.End(); err != nil {
			t.Errorf("the next reader: %v", err)
		}
	}
}

func TestErrorIsKeptAfterTheEnd(t *testing.T) {
	for _, text := range []string{`{"a":`, `{"a":1}x`, `{"a":1,"a":2}`} {
		r := New([]byte(text))
		r.Skip()
		err := r.End()
		r.Close()
		if err == nil || r.Err() == nil || r.End() == nil {
			t.Errorf("%s: End() = %v, then Err() = %v", text, err, r.Err())
		}
	}
}

// TestPooledDecoderHasNoEarlierState checks that an error or the unread rest of an earlier
// text does not affect the next text.
func TestPooledDecoderHasNoEarlierState(t *testing.T) {
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 500 {
				half := New([]byte(`{"a":[{"b":[1,2,`))
				half.Skip()
				_ = half.End()
				open := New([]byte(`{"a":[{"b":`))
				for range open.Members() {
					break
				}
				open.Close()
				want := fmt.Sprintf("%d-%d", worker, i)
				r := New(fmt.Appendf(nil, `{"a":%q,"b":[1],"c":2,}`, want))
				got := ""
				for name := range r.Members() {
					if string(name) == "a" && got == "" {
						got = r.String()
					}
				}
				if err := r.End(); err == nil || got != want {
					t.Errorf("read %q, %v, want %q and an error at the end", got, err, want)
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkReader(b *testing.B) {
	text := []byte(`{"kind":"artifact-update","taskId":"t","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"twenty bytes of text"}]}}`)
	b.ReportAllocs()
	for b.Loop() {
		r := New(text)
		r.Skip()
		if err := r.End(); err != nil {
			b.Fatal(err)
		}
	}
}
