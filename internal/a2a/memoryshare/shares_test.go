// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryshare

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestBudgetsStayBelowTheSoftLimit(t *testing.T) {
	for _, limit := range []int64{Minimum, 64 << 20, 128 << 20, Default, 512 << 20, 1 << 30, Maximum, 1 << 40} {
		s, err := Divide(limit)
		if err != nil {
			t.Fatal(err)
		}
		// An idle sidecar has 9 MiB of memory that is not a page of a file.
		if sum := s.Budgets() + 9<<20; sum > Heap(limit) {
			t.Errorf("%d MiB: the budgets and an idle sidecar need %d MiB, the soft limit is %d MiB", limit>>20, sum>>20, Heap(limit)>>20)
		}
		// Turns with large messages may use three quarters of the budget of turns.
		if s.MaxBody()*TurnCost > s.Turns/4*3 {
			t.Errorf("%d MiB: the turn of the largest body does not fit", limit>>20)
		}
		// A task that repeats the largest body fits into what the store keeps for one owner.
		if 2*s.MaxBody() > s.Tasks/4*3 {
			t.Errorf("%d MiB: the task of the largest body does not fit", limit>>20)
		}
		if s.MaxEvent() < 512<<10 {
			t.Errorf("%d MiB: an event may have %d bytes", limit>>20, s.MaxEvent())
		}
	}
}

func TestDefaultLimitAllowsTheDefaultBody(t *testing.T) {
	s, err := Divide(Default)
	if err != nil {
		t.Fatal(err)
	}
	if s.MaxBody() < 10<<20 || s.MaxEvent() < 2560<<10 {
		t.Errorf("a body of %d bytes, an event of %d bytes", s.MaxBody(), s.MaxEvent())
	}
}

func TestTooSmallLimitIsRefusedWithTheCure(t *testing.T) {
	_, err := Divide(Minimum - 1)
	if err == nil || !strings.Contains(err.Error(), "47 MiB") || !strings.Contains(err.Error(), "at least 48 MiB") || !strings.Contains(err.Error(), "raise the memory limit") {
		t.Errorf("%v", err)
	}
}

func TestPageHasTheBudgets(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int64{48, 64, 128, 256, 512} {
		s, err := Divide(limit << 20)
		if err != nil {
			t.Fatal(err)
		}
		var row []string
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, fmt.Sprintf("| %d | ", limit)) {
				row = strings.Split(strings.Trim(line, "| \n"), " | ")
			}
		}
		for i, want := range []int64{
			limit << 20, s.Connections, s.Bodies, min(s.MaxBody(), 10<<20), s.Answers, s.Turns, s.Waiting, s.Events, min(s.MaxEvent(), 2560<<10), s.Tasks, s.Pushes,
		} {
			if i >= len(row) {
				t.Fatalf("the row of %d MiB: %q", limit, row)
			}
			if got, err := strconv.ParseFloat(row[i], 64); err != nil || math.Abs(got-float64(want)/(1<<20)) > 0.006 {
				t.Errorf("column %d of the row of %d MiB: %s, want %d bytes", i, limit, row[i], want)
			}
		}
	}
}
