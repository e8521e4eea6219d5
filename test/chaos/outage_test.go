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

// outage is something that happens to the control plane, and so to everybody.
type outage struct {
	name string
	// happen returns when it is over.
	happen func(*testing.T)
}

// etcdPause is how long etcd answers nothing.
const etcdPause = 30 * time.Second

var outages = []outage{
	{name: "API server killed", happen: func(t *testing.T) { restartAPIServer(t, syscall.SIGKILL) }},
	{name: "etcd paused", happen: pauseEtcd},
}

// TestControlPlaneFails: what TestWatchesFail leaves of C5 of the reliability
// plan. Right after users have acted, the API server dies and is started again
// 2 s later, or etcd answers nothing for 30 s. All comes to where an
// undisturbed run comes, and then nothing is written.
func TestControlPlaneFails(t *testing.T) {
	abreast, err := strconv.Atoi(lanes)
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
			t.Run(fmt.Sprintf("%s %d", o.name, first/abreast), func(t *testing.T) { o.amid(t, some) })
		}
	}
	t.Logf("%d workloads amid an outage", runs)
}

// amid runs workloads side by side, with the outage when all users have acted.
func (o outage) amid(t *testing.T, some []workload) {
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
			want := refer(t, w)
			b := newBench(t, w.namespace())
			b.prepare(w, want.made)
			if err := w.act(t.Context(), b.user); err != nil {
				t.Fatal(err)
			}
			has()
			<-over
			b.reaches(want.state)
			b.rests(want.state, stillness())
		})
	}
}

// offspring is a program that this test has started, by its name. Programs of
// other tests on the machine are not its children.
func offspring(name string) (pid int, args []string) {
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

// restartAPIServer ends the API server and starts it again, with the same
// certificates and the same etcd.
func restartAPIServer(t *testing.T, signal syscall.Signal) {
	const away = 2 * time.Second
	pid, args := offspring("kube-apiserver")
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
	again := exec.Command(args[0], args[1:]...)
	// It must not outlive the tests: nobody else ends it.
	again.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := again.Start(); err != nil {
		t.Error(err)
		return
	}
	restarted = append(restarted, again)
	deadline := time.Now().Add(patience)
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for range ticker.C {
		if err := cluster.List(t.Context(), &corev1.NamespaceList{}); err == nil {
			return
		} else if time.Now().After(deadline) {
			t.Errorf("the API server does not come back: %v", err)
			return
		}
	}
}

// restarted are API servers that are not envtest's.
var restarted []*exec.Cmd

// endRestarted ends them.
func endRestarted() {
	for _, server := range restarted {
		_ = server.Process.Kill()
		_ = server.Wait()
	}
}

func pauseEtcd(t *testing.T) {
	pid, _ := offspring("etcd")
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
