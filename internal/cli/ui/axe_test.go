// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// axeVersion is the version of axe-core, from the npm registry.
const axeVersion = "4.14.1"

// installAxe installs axe-core and returns its source. It skips the test if npm is missing.
func installAxe(t *testing.T) string {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("needs npm, which installs axe-core: apt-get install -y npm")
	}
	directory := t.TempDir()
	command := exec.CommandContext(t.Context(), npm, "install", "--prefix", directory, "--no-audit", "--no-fund", "--ignore-scripts", "axe-core@"+axeVersion)
	if out, err := command.CombinedOutput(); err != nil {
		t.Skipf("npm does not install axe-core: %v\n%s", err, out)
	}
	source, err := os.ReadFile(filepath.Join(directory, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// violation is a rule of axe-core that a page violates.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// violations returns the rules of axe-core that the page violates.
func (b *browser) violations(t *testing.T, axe string) (all []string) {
	t.Helper()
	var found []violation
	b.run(t, chromedp.Evaluate(axe+"; 0", nil),
		chromedp.Evaluate(`axe.run().then((r) => r.violations)`, &found, func(e *cdpruntime.EvaluateParams) *cdpruntime.EvaluateParams {
			return e.WithAwaitPromise(true)
		}))
	for _, v := range found {
		nodes, _ := json.MarshalIndent(v.Nodes, "", " ") // strings have a JSON form
		all = append(all, v.ID+": "+v.Help+"\n"+string(nodes))
	}
	return all
}

func TestThePagesAreAccessible(t *testing.T) {
	b := startBrowser(t)
	axe := installAxe(t)
	p := startPage(t)
	p.example(t)
	decisions := p.decisions(t)
	bases := map[string]string{decisionPath: decisions, tooLongPath: decisions}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1200, 320} {
			for _, path := range []string{"", "?q=nothing", "agents/team/researcher", "agents/team/painter", "agents/team/cleaner", "agents/team/planner", "agents/team/" + hostileName, "agents/team/researcher/card", "agents/team/none", decisionPath, tooLongPath} {
				b.run(t, picture(scheme, width, 800), chromedp.Navigate(cmp.Or(bases[path], p.base)+path), chromedp.WaitVisible("h1", chromedp.ByQuery))
				b.awaitText(t, "#live", "Live")
				if path == "agents/team/researcher" {
					b.run(t, chromedp.SendKeys("#message", "Hello"), chromedp.Click("#submit"))
					b.awaitText(t, "#log", "completed")
					b.awaitText(t, "#tasks", "completed")
					b.run(t, chromedp.Evaluate(`document.querySelectorAll('details').forEach((d) => { d.removeAttribute('name'); d.open = true; })`, nil))
				}
				if path == "agents/team/cleaner" || path == "agents/team/planner" {
					b.run(t, chromedp.SendKeys("#message", "Hello\r"))
					b.awaitText(t, "#task", "waits for your")
				}
				for _, v := range b.violations(t, axe) {
					t.Errorf("%s, %d px, %q: %s", scheme, width, path, v)
				}
			}
		}
	}
	t.Logf("axe-core %s found nothing", axeVersion)
}
