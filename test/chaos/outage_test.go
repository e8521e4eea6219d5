// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// outage is an outage of the control plane.
type outage struct {
	name string
	// happen returns when the outage is over.
	happen func(*testing.T)
}

// etcdPause is the time for which etcd sends no answer.
const etcdPause = 30 * time.Second

var outages = []outage{
	{name: "API server killed", happen: func(t *testing.T) { restartAPIServer(t, syscall.SIGKILL) }},
	{name: "etcd paused", happen: pauseEtcd},
}

// TestControlPlaneFails is the campaign "control plane" of docs/explanation/reliability.md. Right
// after users have acted, the API server dies and starts again 2 s later, or etcd sends no answer
// for 30 s. All workloads must reach the state of an undisturbed run, and no writes may follow.
func TestControlPlaneFails(t *testing.T) {
	abreast, err := strconv.Atoi(parallelRuns)
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for _, o := range outages {
		for first := 0; first < len(workloads); first += abreast {
			if !full && (first > 0 || o.name == "etcd paused") {
				continue
			}
			some := workloads[first:min(first+abreast, len(workloads))]
			runs += len(some)
			t.Run(fmt.Sprintf("%s %d", o.name, first/abreast), func(t *testing.T) { o.runDuringOutage(t, some) })
		}
	}
	t.Logf("%d workloads during an outage", runs)
}

// runDuringOutage runs workloads in parallel, with the outage when all users have acted.
func (o outage) runDuringOutage(t *testing.T, some []workload) {
	var acted sync.WaitGroup
	acted.Add(len(some))
	over := make(chan struct{})
	go func() {
		defer close(over)
		acted.Wait()
		o.happen(t)
	}()
	t.Cleanup(func() { <-over })
	for _, w := range some {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			has := sync.OnceFunc(acted.Done)
			defer has()
			want := runReference(t, w)
			b := newBench(t, w.namespace())
			b.prepare(w, want.made)
			if err := w.act(t.Context(), b.user); err != nil {
				t.Fatal(err)
			}
			has()
			<-over
			b.waitForEnd(want.state)
			b.expectQuiet(want.state, quietPeriod())
		})
	}
}

// childProcess returns a program that this test has started, by its name. Programs of other tests on
// the machine are not its children.
func childProcess(name string) (pid int, args []string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue
		}
		// pid (name) state parent ...
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) < 2 || string(fields[0]) == "Z" || string(fields[1]) != strconv.Itoa(os.Getpid()) {
			continue
		}
		line, err := os.ReadFile(filepath.Join(filepath.Dir(stat), "cmdline"))
		if err != nil {
			continue
		}
		for arg := range bytes.SplitSeq(bytes.TrimSuffix(line, []byte{0}), []byte{0}) {
			args = append(args, string(arg))
		}
		if filepath.Base(args[0]) == name {
			pid, _ = strconv.Atoi(filepath.Base(filepath.Dir(stat)))
			return pid, args
		}
		args = nil
	}
	return 0, nil
}

// restartAPIServer stops the API server and starts it again, with the same certificates and the
// same etcd, and with more flags before its former ones.
func restartAPIServer(t *testing.T, signal syscall.Signal, flags ...string) {
	const away = 2 * time.Second
	pid, args := childProcess("kube-apiserver")
	if pid == 0 {
		t.Error("there is no API server")
		return
	}
	if err := syscall.Kill(pid, signal); err != nil {
		t.Error(err)
		return
	}
	timer := time.NewTimer(away)
	<-timer.C
	again := exec.Command(args[0], append(flags, args[1:]...)...)
	// End the API server with this process, in case the tests end before stopRestarted runs.
	again.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := again.Start(); err != nil {
		t.Error(err)
		return
	}
	restarted = append(restarted, again)
	deadline := time.Now().Add(runTimeout)
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for range ticker.C {
		if err := cluster.List(t.Context(), &corev1.NamespaceList{}); err == nil {
			return
		} else if time.Now().After(deadline) {
			t.Errorf("the API server does not start again: %v", err)
			return
		}
	}
}

// restarted holds the API servers that envtest did not start.
var restarted []*exec.Cmd

// stopRestarted stops the API servers in restarted.
func stopRestarted() {
	for _, server := range restarted {
		_ = server.Process.Kill()
		_ = server.Wait()
	}
}

func pauseEtcd(t *testing.T) {
	pid, _ := childProcess("etcd")
	if pid == 0 {
		t.Error("there is no etcd")
		return
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Error(err)
		return
	}
	timer := time.NewTimer(etcdPause)
	<-timer.C
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Error(err)
	}
}
