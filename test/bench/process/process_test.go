// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if os.Getenv("BENCH_BURN") != "" {
		burn, _ := time.ParseDuration(os.Getenv("BENCH_BURN"))
		Serve(func() http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				spin(burn)
				if r.URL.Path == "/hold" {
					// Use memory outside of the Go heap, because the race detector doubles the resident size of the heap.
					_, err := unix.Mmap(-1, 0, 64<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_POPULATE)
					if err != nil {
						http.Error(w, err.Error(), http.StatusInternalServerError)
					}
				}
			})
		})
	}
	os.Exit(m.Run())
}

// spin uses the CPU time d, however long that takes on a busy machine.
func spin(d time.Duration) {
	var begin, now unix.Timespec
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &begin)
		for now.Nano()-begin.Nano() < int64(d) {
			_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now)
		}
	}()
	<-done
}

func start(t *testing.T, burn string) *Process {
	t.Helper()
	t.Setenv("BENCH_BURN", burn)
	p, err := Start(t.Context(), os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

func get(t *testing.T, url string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCPUOfABusyServer(t *testing.T) {
	p := start(t, "20ms")
	get(t, "http://"+p.Address)
	before, err := p.CPU()
	if err != nil {
		t.Fatal(err)
	}
	const requests = 10
	for range requests {
		get(t, "http://"+p.Address)
	}
	after, err := p.CPU()
	if err != nil {
		t.Fatal(err)
	}
	each := (after - before) / requests
	if each < 20*time.Millisecond || each > 24*time.Millisecond {
		t.Errorf("a request that burns 20 ms of CPU is measured at %v", each)
	}
}

func TestCPUOfAnIdleServer(t *testing.T) {
	p := start(t, "0s")
	get(t, "http://"+p.Address)
	before, err := p.CPU()
	if err != nil {
		t.Fatal(err)
	}
	spin(100 * time.Millisecond)
	after, err := p.CPU()
	if err != nil {
		t.Fatal(err)
	}
	if used := after - before; used > 5*time.Millisecond {
		t.Errorf("an idle server is measured at %v, while this process burned 100 ms", used)
	}
}

func TestRSSGrowsWithUse(t *testing.T) {
	p := start(t, "0s")
	get(t, "http://"+p.Address)
	before, err := p.RSS()
	if err != nil {
		t.Fatal(err)
	}
	get(t, "http://"+p.Address+"/hold")
	after, err := p.RSS()
	if err != nil {
		t.Fatal(err)
	}
	if grown := (after - before) >> 20; grown < 60 || grown > 72 {
		t.Errorf("a server that touched 64 MiB grew by %d MiB", grown)
	}
}

func TestMachineUsageSeparatesOwnAndOthers(t *testing.T) {
	before, err := MachineUsage()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, "200ms")
	get(t, "http://"+p.Address)
	p.Stop()
	after, err := MachineUsage()
	if err != nil {
		t.Fatal(err)
	}
	own, machine := after.Own-before.Own, after.Machine-before.Machine
	if others := after.Others(before); others < 0 || others > machine {
		t.Errorf("others had %v of %v", others, machine)
	}
	if own < 200*time.Millisecond || machine < own-40*time.Millisecond {
		t.Errorf("own %v, machine %v, after a child burned 200 ms", own, machine)
	}
}

func TestStartReportsAnEarlyExit(t *testing.T) {
	t.Setenv("BENCH_BURN", "1ms")
	if p, err := Start(t.Context(), os.Args[0], "--no-such-flag"); err == nil {
		p.Stop()
		t.Error("Start() of a program that ends at once has no error")
	}
}

func TestEndStopsTheServer(t *testing.T) {
	p := start(t, "0s")
	begin := time.Now()
	p.End()
	if took := time.Since(begin); took > endTimeout/2 {
		t.Errorf("End() took %v", took)
	}
}

func TestEndedReportsHowAServerEnded(t *testing.T) {
	p := start(t, "0s")
	if how, ended := p.Ended(); ended {
		t.Fatalf("Ended() of a running server = %q", how)
	}
	if err := p.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if how, ended := p.Ended(); !ended || !strings.Contains(how, "killed") {
		t.Errorf("Ended() of a killed server = %q, %v", how, ended)
	}
}
