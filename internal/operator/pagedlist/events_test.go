// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pagedlist

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

// encoded returns events of the given numbers of bytes, as a watch sends them.
func encoded(isJSON bool, sizes ...int) []byte {
	var all bytes.Buffer
	for _, size := range sizes {
		if isJSON {
			all.WriteString(`"` + strings.Repeat("x", size-3) + "\"\n")
			continue
		}
		all.Write(binary.BigEndian.AppendUint32(nil, uint32(size-4)))
		all.Write(bytes.Repeat([]byte{'\n'}, size-4))
	}
	return all.Bytes()
}

// watched is a watch whose client decodes an event when the test asks for it.
type watched struct {
	*events
	t *testing.T
}

// next reads an event of a number of bytes, in pieces.
func (w *watched) next(size int) error {
	piece := make([]byte, 1000)
	for size > 0 {
		n, err := w.Read(piece[:min(len(piece), size)])
		if err != nil {
			return err
		}
		size -= n
	}
	return nil
}

// TestLargeEventsTakeTurns has two watches with large events. The second one gets its event when the client has decoded that of the first.
func TestLargeEventsTakeTurns(t *testing.T) {
	const small, large = 1000, largeEvent + 1
	for name, isJSON := range map[string]bool{"JSON": true, "protobuf": false} {
		for how, end := range map[string]func(first *watched){
			"next event":       func(first *watched) { _ = first.next(small) },
			"end of the watch": func(first *watched) { _ = first.Close() },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					turn := make(chan struct{}, 1)
					open := func(ctx context.Context, sizes ...int) *watched {
						w := &watched{newEvents(ctx, io.NopCloser(bytes.NewReader(encoded(isJSON, sizes...))), isJSON, turn), t}
						t.Cleanup(func() { _ = w.Close() })
						return w
					}
					first := open(t.Context(), small, large, small, large)
					for _, size := range []int{small, large} {
						if err := first.next(size); err != nil {
							t.Fatal(err)
						}
					}
					second := open(t.Context(), small, small, large, small)
					for range 2 {
						if err := second.next(small); err != nil {
							t.Fatal(err)
						}
					}
					decoded := make(chan error, 1)
					go func() { decoded <- second.next(large) }()
					ended, cancel := context.WithCancel(t.Context())
					third := open(ended, large)
					given := make(chan error, 1)
					go func() { given <- third.next(large) }()
					synctest.Wait()
					cancel()
					if err := <-given; !errors.Is(err, context.Canceled) {
						t.Errorf("a watch that ends while it waits: %v", err)
					}
					synctest.Wait()
					if len(decoded) > 0 {
						t.Error("the second watch did not wait")
					}
					end(first)
					if err := <-decoded; err != nil {
						t.Error(err)
					}
					if err := second.next(small); err != nil {
						t.Error(err)
					}
					if err := second.next(1); !errors.Is(err, io.EOF) {
						t.Errorf("at the end: %v", err)
					}
					if len(turn) > 0 {
						t.Error("no watch has the turn, and it is not free")
					}
				})
			})
		}
	}
}

// TestEventsArriveAsTheyAre reads events of many sizes with buffers of many sizes.
func TestEventsArriveAsTheyAre(t *testing.T) {
	for _, isJSON := range []bool{true, false} {
		want := encoded(isJSON, 4, 5, 1000, 16<<10, 4, 70_000, 4, 200_000)
		for _, size := range []int{1, 3, 4, 4096, 1 << 20} {
			turn := make(chan struct{}, 1)
			var got bytes.Buffer
			e := newEvents(t.Context(), io.NopCloser(bytes.NewReader(want)), isJSON, turn)
			if _, err := io.CopyBuffer(&got, struct{ io.Reader }{e}, make([]byte, size)); err != nil || !bytes.Equal(got.Bytes(), want) {
				t.Errorf("JSON %t, %d bytes at a time: %d of %d bytes, %v", isJSON, size, got.Len(), len(want), err)
			}
			if len(turn) > 0 {
				t.Error("the turn is not free")
			}
		}
	}
}

// TestAStalledEventStopsNoOther has a watch whose connection delivers no more bytes in the middle of a large event, at several places.
func TestAStalledEventStopsNoOther(t *testing.T) {
	const large = 2 * largeEvent
	for _, isJSON := range []bool{true, false} {
		all := encoded(isJSON, large)
		for _, arrived := range []int{10, largeEvent + 1, large - 20, large - 2, large - 1} {
			synctest.Test(t, func(t *testing.T) {
				turn := make(chan struct{}, 1)
				body, network := io.Pipe()
				stalled := &watched{newEvents(t.Context(), body, isJSON, turn), t}
				given := make(chan error, 1)
				go func() { given <- stalled.next(large) }()
				if _, err := network.Write(all[:arrived]); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if len(turn) > 0 || len(given) > 0 {
					t.Errorf("JSON %t, %d bytes: the stalled watch has the turn", isJSON, arrived)
				}
				turn <- struct{}{} // another watch has it
				if _, err := network.Write(all[arrived:]); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if len(given) > 0 {
					t.Errorf("JSON %t, %d bytes: the watch did not wait", isJSON, arrived)
				}
				<-turn
				if err := <-given; err != nil || len(turn) != 1 {
					t.Errorf("JSON %t, %d bytes: %v, the watch has the turn: %t", isJSON, arrived, err, len(turn) == 1)
				}
				_ = stalled.Close()
			})
		}
	}
}
