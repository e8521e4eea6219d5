// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registryca

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/utils/clock"
)

func authority(t *testing.T, serial int64) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), IsCA: true, BasicConstraintsValid: true, NotAfter: time.Unix(1<<33, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSourceFollowsItsFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "ca.crt")
		source := New(file, clock.RealClock{}, logr.Discard())
		if source.NeedLeaderElection() || source.Current() != nil {
			t.Errorf("without a file: Current() = %v", source.Current())
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = source.Start(ctx) }()
		expect := func(what, content string, changed bool) {
			t.Helper()
			time.Sleep(pollInterval)
			synctest.Wait()
			got := ""
			if current := source.Current(); current != nil {
				got = current.PEM
			}
			if got != content {
				t.Errorf("%s: Current() = %q, want %q", what, got, content)
			}
			select {
			case <-source.Changes():
				if !changed {
					t.Errorf("%s: an event without a change", what)
				}
			default:
				if changed {
					t.Errorf("%s: no event", what)
				}
			}
		}
		expect("nothing", "", false)
		first, second := authority(t, 1), authority(t, 2)
		write(t, file, first)
		expect("first", first, true)
		before := source.Current()
		expect("unchanged", first, false)
		if source.Current() != before {
			t.Error("an unchanged file has another pointer")
		}
		write(t, file, "garbage")
		expect("garbage", first, false)
		write(t, file, first+second)
		expect("both", first+second, true)
		third := authority(t, 3)
		write(t, file, third)
		expect("third", third+first+second, true)
		time.Sleep(overlap)
		expect("third after the overlap", third, true)
		write(t, file, "\n")
		expect("empty", "", true)
	})
}

func TestSourceLogsEachFailureOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	write(t, file, strings.Repeat("x", maxFile+1))
	var logged []string
	source := New(file, clock.RealClock{}, funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{}))
	source.reload()
	write(t, file, "garbage")
	source.reload()
	source.reload()
	if len(logged) != 2 || !strings.Contains(logged[0], "larger than") || !strings.Contains(logged[1], "no PEM certificate") {
		t.Errorf("logged %q", logged)
	}
}
