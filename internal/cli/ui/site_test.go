// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestTheSiteIsAccessible runs axe-core on pages of the site of docs/, which `make site` has built. It also checks that no page is wider
// than the screen. SITE_PICTURES names a directory for pictures of the pages.
func TestTheSiteIsAccessible(t *testing.T) {
	const site = "../../../bin/site"
	if _, err := os.Stat(site); err != nil || os.Getenv("SITE") == "" {
		t.Skip("it takes minutes: make site builds the site and runs it")
	}
	b := startBrowser(t)
	axe := installAxe(t)
	server := httptest.NewServer(http.FileServer(http.Dir(site)))
	defer server.Close()
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{390, 768, 1280} {
			for _, path := range []string{"index.html", "troubleshooting/index.html", "troubleshooting/not-ready.html", "how-to/agents-without-code.html", "reference/api-reference.html"} {
				b.run(t, picture(scheme, width, 1200), chromedp.Navigate(server.URL+"/"+path), chromedp.WaitVisible("h1", chromedp.ByQuery))
				if directory := os.Getenv("SITE_PICTURES"); directory != "" {
					var png []byte
					b.run(t, chromedp.CaptureScreenshot(&png))
					name := strings.ReplaceAll(strings.TrimSuffix(path, ".html"), "/", "-") + "-" + strconv.FormatInt(width, 10) + "-" + scheme + ".png"
					if err := os.WriteFile(filepath.Join(directory, name), png, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				var wide int64
				b.run(t, chromedp.Evaluate(`document.documentElement.scrollWidth - document.documentElement.clientWidth`, &wide))
				if wide > 0 {
					t.Errorf("%s, %d px, %s: the page is %d px wider than the screen", scheme, width, path, wide)
				}
				for _, v := range b.violations(t, axe) {
					t.Errorf("%s, %d px, %s: %s", scheme, width, path, v)
				}
			}
		}
	}
}
