// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// refusals waits until a source has refused its files n times, which the log says too.
func (p *pod) refusals(source string, n int) {
	p.t.Helper()
	want := fmt.Sprintf(`a2a_reloads_total{result="refused",source=%q} %d`, source, n)
	p.eventually(want, func() bool {
		_, metrics := p.do("GET", p.health("/metrics"), "")
		return strings.Contains(metrics, want+"\n") && strings.Contains(metrics, fmt.Sprintf("a2a_reload_refused{source=%q} 1\n", source))
	})
	if events := p.log.events(p.t, source+" refused, the former stays in use"); len(events) != n {
		p.t.Errorf("%d events for %d refusals of %s", len(events), n, source)
	}
}

// doesNotStart checks that a new sidecar does not open with the files that are mounted now.
func (p *pod) doesNotStart(what string) {
	p.t.Helper()
	if s, err := Open(p.t.Context(), p.flags, slog.New(slog.DiscardHandler), time.Now); err == nil {
		s.listeners.Close()
		p.t.Errorf("%s: a sidecar starts", what)
	}
}

// TestNothingOpensByLossOfTheConfiguration damages the mounted file. TestNothingOpensByLossOfAMember in
// package sidecarconfig removes every single member.
func TestNothingOpensByLossOfTheConfiguration(t *testing.T) {
	p := newPod(t, respondHi, withRules(
		sidecarconfig.Rule{Action: sidecarconfig.ActionDeny, Namespaces: []string{"team"}, Methods: []string{"SendMessage"}},
		sidecarconfig.Rule{Action: sidecarconfig.ActionAllow, Namespaces: []string{"team"}},
	))
	whole, former := string(p.encode()), p.sidecar.current()
	replaced := func(old, with string) map[string][]byte {
		text := strings.Replace(whole, old, with, 1)
		if text == whole {
			t.Fatalf("the file has no %s", old)
		}
		return map[string][]byte{sidecarconfig.FileName: []byte(text)}
	}
	losses := map[string]map[string][]byte{
		"deleted": {}, "emptied": {sidecarconfig.FileName: nil}, "an empty object": {sidecarconfig.FileName: []byte("{}")},
		"another version":           replaced(`"v1"`, `"v2"`),
		"without rules":             replaced(`"authorization"`, `"Authorization"`),
		"a second list of rules":    replaced(`"authorization"`, `"authorization": null, "authorization"`),
		"an empty ACCESS":           replaced(`"limits"`, `"ACCESS": {"authentication": [{"type": "Anonymous"}], "namespaces": [], "authorization": null}, "limits"`),
		"an unknown member":         replaced(`"rules"`, `"default": "Deny", "rules"`),
		"an unknown action":         replaced(`"Deny"`, `"Audit"`),
		"an unknown method":         replaced(`"SendMessage"`, `"SendTelegram"`),
		"an unknown authentication": replaced(`"Kubernetes"`, `"Passkey"`),
		"a condition that is lost":  replaced(`"methods"`, `"name"`),
	}
	for _, share := range []int{1, 25, 50, 75, 99} {
		losses[fmt.Sprintf("cut at %d %%", share)] = map[string][]byte{sidecarconfig.FileName: []byte(whole[:len(whole)*share/100])}
	}
	for i, loss := range slices.Sorted(maps.Keys(losses)) {
		mount(t, p.dir, losses[loss])
		p.sidecar.reloader.Reload(p.sidecar.configuration)
		p.refusals("configuration", i+1)
		if p.sidecar.current() != former {
			t.Errorf("%s: the file is in use", loss)
		}
		if response, body := p.do("POST", p.agent(), hello, p.tokenHeaders("team")...); response.StatusCode != http.StatusForbidden {
			t.Errorf("%s: a denied call is answered with %d %s", loss, response.StatusCode, body)
		}
		p.doesNotStart(loss)
	}
}

// TestNothingOpensByLossOfACredential deletes, empties and damages the files of Secrets.
func TestNothingOpensByLossOfACredential(t *testing.T) {
	ca, certificates, authorities, keys := newAuthority(t, "ca"), t.TempDir(), t.TempDir(), t.TempDir()
	key := []byte("alice-0123456789012345678901234567")
	restore := func() {
		ca.mountCertificate(certificates, "agent")
		mount(t, authorities, map[string][]byte{"ca.crt": ca.pem})
		mount(t, keys, map[string][]byte{"alice": key})
	}
	restore()
	mtls := sidecarconfig.Authentication{Type: sidecarconfig.AuthenticationMTLS, MTLS: &sidecarconfig.MTLSAuthentication{Subject: true}}
	p := newPodWith(t, respondHi, func(c *sidecarconfig.Config) {
		withAPIKeys(c)
		c.Access.Authentication = append(c.Access.Authentication, mtls)
	}, func(o *settings.Options) {
		o.TLS, o.APIKeys = certificates, keys
		o.MTLSCABundle, o.TrustBundle = filepath.Join(authorities, "ca.crt"), filepath.Join(authorities, "ca.crt")
	})
	health := p.client
	call := func(headers ...string) int {
		p.client = caller(t, ca.pool(), false)
		defer func() { p.client = health }()
		response, _ := p.do("POST", p.https(), hello, headers...)
		return response.StatusCode
	}
	damages := map[string][]byte{"emptied": nil, "damaged": []byte("nothing")}
	for _, volume := range []struct {
		dir            string
		files, sources []string
	}{
		{certificates, []string{"tls.crt", "tls.key"}, []string{"tls"}},
		{authorities, []string{"ca.crt"}, []string{"mtls-ca-bundle", "trust-bundle"}},
	} {
		count := 0
		check := func(loss string) {
			count++
			for _, each := range volume.sources {
				p.refusals(each, count)
			}
			if got := call(); got != 401 {
				t.Errorf("%v %s: a call without a credential is answered with %d", volume.sources, loss, got)
			}
			if got := call("X-API-Key", string(key)); got != 200 {
				t.Errorf("%v %s: the former credentials are answered with %d", volume.sources, loss, got)
			}
			p.doesNotStart(volume.sources[0] + " " + loss)
		}
		mount(t, volume.dir, nil)
		check("deleted")
		for loss, text := range damages {
			mounted := map[string][]byte{}
			for _, file := range volume.files {
				mounted[file] = text
			}
			mount(t, volume.dir, mounted)
			check(loss)
		}
		restore()
		p.eventually("the end of the refusal", func() bool {
			_, metrics := p.do("GET", p.health("/metrics"), "")
			return strings.Contains(metrics, fmt.Sprintf("a2a_reload_refused{source=%q} 0\n", volume.sources[0]))
		})
	}
	// Without any key, a sidecar admits no caller by a key, and does not start.
	for loss, files := range map[string]map[string][]byte{"deleted": nil, "emptied": {"alice": nil}, "shortened": {"alice": key[:8]}} {
		restore()
		p.eventually("the key", func() bool { return call("X-API-Key", string(key)) == 200 })
		mount(t, keys, files)
		p.eventually("the end of the key", func() bool { return call("X-API-Key", string(key)) == 401 })
		for _, value := range []string{"", " ", "alice", string(key[:8])} {
			if got := call("X-API-Key", value); got != 401 {
				t.Errorf("keys %s: the key %q is answered with %d", loss, value, got)
			}
		}
		p.doesNotStart("keys " + loss)
	}
}
