// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package clusteraccess

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
)

// fakeTunnel is a tunnel to a pod. The kubelet reports problem for each connection, "" for none.
type fakeTunnel struct {
	problem string
	closed  chan bool
}

func (f *fakeTunnel) CreateStream(header http.Header) (httpstream.Stream, error) {
	s := &fakeStream{reset: make(chan struct{})}
	if header.Get(corev1.StreamType) == corev1.StreamTypeError {
		s.Reader = strings.NewReader(f.problem)
	}
	return s, nil
}

func (f *fakeTunnel) Close() error {
	close(f.closed)
	return nil
}

func (f *fakeTunnel) CloseChan() <-chan bool           { return f.closed }
func (*fakeTunnel) SetIdleTimeout(time.Duration)       {}
func (*fakeTunnel) RemoveStreams(...httpstream.Stream) {}

// fakeStream has the text of its Reader. Without a Reader, it has no end until it is reset.
type fakeStream struct {
	io.Reader

	reset chan struct{}
}

func (f *fakeStream) Read(p []byte) (int, error) {
	if f.Reader != nil {
		return f.Reader.Read(p)
	}
	<-f.reset
	return 0, io.EOF
}

func (*fakeStream) Write(p []byte) (int, error) { return len(p), nil }
func (*fakeStream) Close() error                { return nil }
func (*fakeStream) Headers() http.Header        { return nil }
func (*fakeStream) Identifier() uint32          { return 0 }

func (f *fakeStream) Reset() error {
	if f.Reader == nil {
		select {
		case <-f.reset:
		default:
			close(f.reset)
		}
	}
	return nil
}

// A tunnel to a pod that is gone is left with the first connection that fails, although it stays open. A tunnel whose
// connections end is kept.
func TestTunnelToADeadPodIsLeft(t *testing.T) {
	for problem, left := range map[string]bool{"failed to find sandbox": true, "": false} {
		tunnel := &fakeTunnel{problem: problem, closed: make(chan bool)}
		f := &Forward{tunnel: tunnel}
		conn, err := f.DialContext(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		<-conn.(*forwardedConn).failed
		if left {
			<-tunnel.closed
			if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) || err.Error() != problem {
				t.Errorf("Read() error = %v, want %s", err, problem)
			}
		}
		f.mu.Lock()
		kept := f.tunnel != nil
		f.mu.Unlock()
		if kept == left {
			t.Errorf("after %q: the tunnel is kept: %t", problem, kept)
		}
		_ = conn.Close()
	}
}
