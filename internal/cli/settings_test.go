// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// writeSettings writes a file with settings and returns its path.
func writeSettings(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// shownSettings returns the settings that `config show` prints, by name, as value and source.
func shownSettings(t *testing.T, args ...string) map[string]string {
	t.Helper()
	r := run(t, append([]string{"config", "show", "-o", "json"}, args...)...)
	var shown struct{ Settings []setting }
	if err := json.Unmarshal([]byte(r.stdout), &shown); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	all := map[string]string{}
	for _, each := range shown.Settings {
		all[each.Name] = each.Value + " of " + each.Source
	}
	return all
}

func TestSettingsComeFromFlagVariableFileAndDefaultInThisOrder(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	global := writeSettings(t, filepath.Join(home, ".config", "a2a-cli", ".env"), "# mine\nA2ACLI_BEARER='a-secret'\nexport A2ACLI_TIMEOUT=1m\nA2ACLI_A2A_VERSION=0.3\nA2ACLI_AGENT_CARD=\"https://file.example\"\n\n", 0o600)
	t.Setenv("A2ACLI_TIMEOUT", "2m")
	t.Setenv("A2ACLI_AGENT_CARD", "https://variable.example")
	got := shownSettings(t, "--url", "https://flag.example")
	for name, want := range map[string]string{
		"agent-card": "https://flag.example of flag --agent-card", "timeout": "2m0s of variable A2ACLI_TIMEOUT", "a2a-version": "0.3 of file " + global,
		"bearer": "[redacted] of file " + global, "poll-interval": "2s of default",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	other := writeSettings(t, filepath.Join(home, "agent.env"), "A2ACLI_A2A_VERSION=0.2\n", 0o600)
	if got := shownSettings(t, "--config", other); got["a2a-version"] != "0.2 of file "+other || got["bearer"] != " of default" {
		t.Errorf("--config: %v", got)
	}
	if r := run(t, "config", "show"); r.status != 0 || strings.Contains(r.stdout, "a-secret") {
		t.Errorf("%+v", r)
	}
}

func TestSettingsThatCannotBeReadAreUsageErrors(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"no value": "A2ACLI_TIMEOUT\n", "a wrong value": "A2ACLI_TIMEOUT=soon\n", "too large": strings.Repeat("#", maxSettings+1)} {
		file := writeSettings(t, filepath.Join(dir, name), text, 0o600)
		if r := run(t, "config", "show", "--config", file); r.status != 2 || !strings.Contains(r.stderr, file) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := run(t, "config", "show", "--config", filepath.Join(dir, "none")); r.status != 2 {
		t.Errorf("%+v", r)
	}
}

func TestCredentialsThatOthersCanReadAreAWarning(t *testing.T) {
	open := writeSettings(t, filepath.Join(t.TempDir(), "open"), "A2ACLI_BEARER=x\nA2ACLI_REGISTRY_TOKEN=x\n", 0o644)
	if r := run(t, "config", "show", "--config", open); r.status != 0 || strings.Count(r.stderr, "chmod 600 "+open) != 1 {
		t.Errorf("%+v", r)
	}
	if r := run(t, "find", "--registry", "http://127.0.0.1:1", "--config", open); r.status != 3 || !strings.Contains(r.stderr, "chmod 600 "+open) {
		t.Errorf("%+v", r)
	}
}

// Others who can write the file could also name the agent to which the CLI sends the credential.
func TestWarningAboutTheModeOfAFileIsTrue(t *testing.T) {
	file := writeSettings(t, filepath.Join(t.TempDir(), "settings"), "A2ACLI_BEARER=x\n", 0o600)
	for mode, want := range map[os.FileMode]string{0o600: "", 0o611: "", 0o640: "can read the credential", 0o604: "can read the credential", 0o620: "can change the file", 0o602: "can change the file", 0o666: "can read the credential"} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		r := run(t, "config", "show", "--config", file)
		if warned := strings.Contains(r.stderr, "Warning"); r.status != 0 || warned != (want != "") || !strings.Contains(r.stderr, want) {
			t.Errorf("mode %o: %+v, want %q", mode, r, want)
		}
	}
}

func TestLoginNamesWhereCredentialsComeFrom(t *testing.T) {
	if r := run(t, "auth", "login", "--agent-card", "x"); r.status != 2 || !strings.Contains(r.stderr, "A2ACLI_ERR_USAGE") {
		t.Errorf("%+v", r)
	}
	if r := run(t, "auth", "login"); r.status != 2 || !strings.Contains(r.stderr, "A2ACLI_BEARER") {
		t.Errorf("%+v", r)
	}
}

func TestValidateNamesTheMembersThatAreWrong(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.TextAgent)
	if r := run(t, "card", "get", "--url", f.URL, "--validate"); r.status != 0 || r.field("Name") == "" {
		t.Errorf("%+v", r)
	}
	for text, want := range map[string]string{
		`{"name":"a","supportedInterfaces":[{"url":"http://a.example"}]}`:               "supportedInterfaces[0].protocolBinding is missing",
		`{"name":"a","supportedInterfaces":[],"skills":[{"id":"x"}]}`:                   "skills[0].tags is missing",
		`{"name":"a","url":"http://a.example","version":"1","defaultInputModes":["a"]}`: "description is missing",
		`{"name":"a","url":"http://a.example","capabilities":{},"skills":[]}`:           "defaultOutputModes is missing",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }))
		r := run(t, "card", "get", "--url", server.URL, "--validate")
		server.Close()
		if r.status != 1 || !strings.Contains(r.stderr, want) || !strings.Contains(r.stderr, "A2ACLI_ERR_CARD_INVALID") {
			t.Errorf("%s: %+v", text, r)
		}
	}
	if got := strings.Join(cardProblems([]byte(`{"name":7,"description":null,"supportedInterfaces":{},"capabilities":[]}`)), "; "); !strings.HasPrefix(got, "name is 7, must be a text; description is null, must be a text; version is missing; supportedInterfaces is {}, must be a list of objects; capabilities is [], must be an object") {
		t.Errorf("the problems are %s", got)
	}
}

func TestConformanceReportsTheChecksThatFail(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.TextAgent)
	for _, flags := range [][]string{nil, {"--transport", "HTTP+JSON"}, {"--a2a-version", "0.3"}} {
		r := run(t, append([]string{"conformance", "--url", f.URL, "--message", "Hello"}, flags...)...)
		if r.status != 0 || strings.Count(r.stdout, "\npass") != 5 {
			t.Errorf("%v: %+v", flags, r)
		}
	}
	u := fakeAgent(t, func(w http.ResponseWriter, _ *http.Request, method, _ string) {
		code := map[string]string{"GetTask": "-32603", "CancelTask": "-32001"}[method]
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":"1","error":{"code":` + code + `,"message":"no"}}`))
	})
	r := run(t, "conformance", "--url", u)
	if r.status != 1 || !strings.Contains(r.stdout, "\nfail") || !strings.Contains(r.stdout, "the error is InternalError") || strings.Count(r.stdout, "\npass") != 2 {
		t.Errorf("%+v", r)
	}
	if r := run(t, "conformance", "--url", u, "-o", "json"); r.status != 1 || !json.Valid([]byte(r.stdout)) {
		t.Errorf("%+v", r)
	}
}
