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
	dto "github.com/prometheus/client_model/go"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/operator/polledfile"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
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
	// A source that reads meanwhile must not see a part of the file.
	next := file + ".next"
	if err := os.WriteFile(next, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, file); err != nil {
		t.Fatal(err)
	}
}

func TestSourceFollowsItsFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "ca.crt")
		source, err := New(file, clock.RealClock{}, logr.Discard())
		if err != nil || source.NeedLeaderElection() || source.Current() != nil {
			t.Errorf("without a file: Current() = %v, %v", source.Current(), err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = source.Start(ctx) }()
		additional := false
		expect := func(what, content string, changed bool) {
			t.Helper()
			time.Sleep(polledfile.Interval)
			synctest.Wait()
			var got state.RegistryCA
			if current := source.Current(); current != nil {
				got = *current
			}
			if got.PEM != content || got.Additional != additional {
				t.Errorf("%s: Current() = %v, want %q, additional %v", what, got, content, additional)
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
		// During the overlap after the first authority, the registry may still serve its former certificate, so
		// sidecars also verify it by their own authorities.
		additional = true
		expect("first", first, true)
		expect("first for a while", first, false)
		additional = false
		time.Sleep(overlap)
		expect("first after the overlap", first, true)
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
		write(t, file, "garbage")
		time.Sleep(2 * overlap)
		expect("garbage for long", third, false)
		write(t, file, third)
		expect("third again", third, false)
		for what, remove := range map[string]func(){
			"an empty file":  func() { write(t, file, "\n") },
			"a missing file": func() { _ = os.Remove(file) },
		} {
			remove()
			additional = true
			expect(what, third, true)
			time.Sleep(overlap - 2*polledfile.Interval)
			expect(what+" for nearly an hour", third, false)
			additional = false
			expect(what+" after the overlap", "", true)
			write(t, file, third)
			additional = true
			expect("third after "+what, third, true)
			additional = false
			time.Sleep(overlap)
			expect("third after "+what+" and the overlap", third, true)
		}
	})
}

// TestUnusableFileAtTheStartIsAnError checks that New returns an error for unusable files, so that
// sidecars do not lose the authorities that they have.
func TestUnusableFileAtTheStartIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	// Without the last line, the file would be valid: a read up to the limit must not pass for the whole file.
	padded := authority(t, 1) + strings.Repeat("\n", maxFile) + "garbage"
	for _, content := range []string{"garbage", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", strings.Repeat("x", maxFile+1), padded} {
		write(t, file, content)
		if _, err := New(file, clock.RealClock{}, logr.Discard()); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%.20q: %v", content, err)
		}
	}
	if _, err := New(filepath.Dir(file), clock.RealClock{}, logr.Discard()); err == nil {
		t.Error("a folder is no error")
	}
}

func TestSourceReportsEachFailureOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "ca.crt")
		var logged []string
		source, err := New(file, clock.RealClock{}, funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = source.Start(ctx) }()
		for _, step := range []struct {
			content string
			refused float64
		}{{strings.Repeat("x", maxFile+1), 1}, {"garbage", 1}, {"", 0}} {
			write(t, file, step.content)
			time.Sleep(3 * polledfile.Interval)
			synctest.Wait()
			var metric dto.Metric
			if err := refused.Write(&metric); err != nil || metric.GetGauge().GetValue() != step.refused {
				t.Errorf("%.20q: a2a_registry_ca_refused is %v, %v", step.content, metric.GetGauge().GetValue(), err)
			}
		}
		if len(logged) != 2 || !strings.Contains(logged[0], "larger than") || !strings.Contains(logged[1], "no PEM certificate") {
			t.Errorf("logged %q", logged)
		}
	})
}
