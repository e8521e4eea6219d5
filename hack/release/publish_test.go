// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// outage counts the steps of a release that change a registry: each push of a manifest and each command of cosign. Step failAt and
// all later steps fail. If failAt is 0, no step fails.
type outage struct {
	mu            sync.Mutex
	failAt, steps int
	// signed are the references of the signed objects.
	signed []string
}

func (o *outage) step() (failed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.steps++
	return o.failAt > 0 && o.steps >= o.failAt
}

// end ends the outage: all later steps succeed.
func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failAt, o.steps = 0, 0
}

// serve returns a registry that refuses pushes during the outage, like a registry for which the token has expired.
func (o *outage) serve(t *testing.T) (repository string) {
	t.Helper()
	accepting := registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPut && strings.Contains(req.URL.Path, "/manifests/") && o.step() {
			http.Error(w, `{"errors":[{"code":"DENIED","message":"the token has expired"}]}`, http.StatusForbidden)
			return
		}
		accepting.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://") + "/a2a-operator"
}

// cosign records the objects to sign, and does not sign them.
func (o *outage) cosign(_ context.Context, args ...string) error {
	if o.step() {
		return errors.New("run cosign " + args[0] + ": no token")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.signed = append(o.signed, args[0]+" "+args[len(args)-1])
	return nil
}

func (o *outage) hasSigned(reference string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Contains(o.signed, "sign "+reference) && slices.Contains(o.signed, "attest "+reference)
}

// runFakes replaces go and helm. Its package of a chart contains only values.yaml.
func runFakes(ctx context.Context, _, program string, args ...string) (string, error) {
	last := args[len(args)-1]
	switch command := program + " " + strings.Join(args, " "); {
	case strings.HasPrefix(command, "go run ./hack/supply sbom"):
		dir := args[slices.Index(args, "--output")+1]
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		for _, file := range args[slices.Index(args, "--output")+2:] {
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)+".spdx.json"), []byte("{}"), 0o600); err != nil {
				return "", err
			}
		}
		return "", nil
	case strings.HasPrefix(command, "go run ./hack/supply licenses"):
		return "", os.WriteFile(last, []byte("licenses"), 0o600)
	case strings.HasSuffix(command, "kustomize build config/default"):
		text, err := os.ReadFile("../../config/manager/deployment.yaml")
		return string(text), err
	case strings.HasSuffix(command, "kustomize build config/samples"):
		return "image: a2a-operator/sample-echo:dev\n", nil
	case strings.HasPrefix(command, "helm package"):
		values, err := os.ReadFile(filepath.Join(args[1], "values.yaml"))
		if err != nil {
			return "", err
		}
		return "", os.WriteFile(filepath.Join(last, "a2a-operator-"+args[3]+".tgz"), values, 0o600)
	case strings.HasPrefix(command, "helm push"):
		return "", pushFakeChart(ctx, args[1], strings.TrimPrefix(args[2], "oci://"))
	default:
		return "", fmt.Errorf("unexpected command %s", command)
	}
}

func pushFakeChart(ctx context.Context, pkg, charts string) error {
	content, err := os.ReadFile(pkg)
	if err != nil {
		return err
	}
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(pkg), "a2a-operator-"), ".tgz")
	reference, err := name.ParseReference(charts + "/a2a-operator:" + version)
	if err != nil {
		return err
	}
	chart, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), static.NewLayer(content, types.OCILayer))
	if err != nil {
		return err
	}
	if err := remote.Write(reference, chart, remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("run helm push: %w", err)
	}
	return nil
}

// outageRelease returns a release that starts no program and publishes to a registry with the outage o.
func outageRelease(t *testing.T, o *outage) *release {
	t.Helper()
	r := testRelease(t)
	r.repository, r.run, r.helm, r.signer = o.serve(t), runFakes, "helm", signer{cosign: o.cosign}
	return r
}

// publishedChart returns the values of the chart with the tag of the release, or "" if there is none. It fails the test if the chart
// has no signature or no provenance.
func publishedChart(t *testing.T, r *release, o *outage) string {
	t.Helper()
	reference, err := name.ParseReference(r.repository + "/charts/a2a-operator:1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	chart, err := remote.Image(reference)
	if err != nil {
		return ""
	}
	digest, err := chart.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if signed := r.repository + "/charts/a2a-operator@" + digest.String(); !o.hasSigned(signed) {
		t.Errorf("the chart %s has its tag, and no signature or provenance", signed)
	}
	layers, err := chart.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	var values bytes.Buffer
	if _, err := values.ReadFrom(content); err != nil {
		t.Fatal(err)
	}
	return values.String()
}

// checkChartIsInstallable fails the test if the values of a published chart name an image that is missing or not signed.
func checkChartIsInstallable(t *testing.T, r *release, o *outage, values string) {
	t.Helper()
	named := 0
	for _, p := range imagePrograms {
		_, after, found := strings.Cut(values, "repository: "+r.repository+"/"+p.name+"\n")
		if !found {
			continue
		}
		named++
		_, after, _ = strings.Cut(after, `digest: "`)
		digest, _, _ := strings.Cut(after, `"`)
		reference, err := name.NewDigest(r.repository + "/" + p.name + "@" + digest)
		if err != nil {
			t.Fatal(err)
		}
		index, err := remote.Index(reference)
		if err != nil {
			t.Errorf("the published chart names %s, which is missing: %v", reference, err)
			continue
		}
		manifest, err := index.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		for _, platform := range manifest.Manifests {
			if _, err := remote.Image(reference.Digest(platform.Digest.String())); err != nil {
				t.Errorf("the published chart names %s, whose image for %s is missing: %v", reference, platform.Platform, err)
			}
		}
		if !o.hasSigned(reference.String()) {
			t.Errorf("the published chart names %s, which has no signature or provenance", reference)
		}
	}
	if named != 2 {
		t.Errorf("the published chart names %d images of the release, want manager and sidecar", named)
	}
}

// The test runs a release once for each step that can fail: a push that the registry refuses, or a signature.
func TestFailedReleasePublishesNoChartWithoutItsImages(t *testing.T) {
	var complete outage
	r := outageRelease(t, &complete)
	want, err := r.publish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkChartIsInstallable(t, r, &complete, publishedChart(t, r, &complete))
	if complete.steps < 30 {
		t.Fatalf("a release has %d steps, want each push and each signature counted", complete.steps)
	}
	withoutChart := 0
	for failAt := 1; failAt <= complete.steps; failAt++ {
		o := outage{failAt: failAt}
		r := outageRelease(t, &o)
		_, err := r.publish(t.Context())
		if err == nil || !strings.Contains(err.Error(), "push") && !strings.Contains(err.Error(), "cosign") {
			t.Errorf("step %d fails: error = %v, want it to name the push or the signature", failAt, err)
		}
		if values := publishedChart(t, r, &o); values != "" {
			checkChartIsInstallable(t, r, &o, values)
		} else {
			withoutChart++
		}
		if _, err := os.Stat(r.checksums() + ".sigstore.json"); err == nil {
			t.Errorf("step %d fails: the checksums are signed", failAt)
		}
		o.end()
		got, err := r.publish(t.Context())
		if err != nil {
			t.Errorf("the second run after a failure of step %d: %v", failAt, err)
			continue
		}
		for i, image := range got.images {
			if image.digest != want.images[i].digest {
				t.Errorf("the second run after a failure of step %d publishes %s as %s, want %s", failAt, image.repository, image.digest, want.images[i].digest)
			}
		}
	}
	if withoutChart < 25 {
		t.Errorf("%d of %d failures leave no chart, want all those before its push", withoutChart, complete.steps)
	}
}

func TestPublishedVersionNeverChanges(t *testing.T) {
	var o outage
	r := outageRelease(t, &o)
	first, err := r.publish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.commit = strings.Repeat("d", 40)
	if _, err := r.publish(t.Context()); err == nil || !strings.Contains(err.Error(), "never changes") || !strings.Contains(err.Error(), first.images[0].digest) {
		t.Errorf("another commit with the same version: error = %v, want it to name the published digest", err)
	}
	for _, image := range first.images {
		tag, err := r.tag(image)
		if err != nil {
			t.Fatal(err)
		}
		if found, err := remote.Head(tag); err != nil || found.Digest.String() != image.digest {
			t.Errorf("the tag %s leads to %v, error = %v; want %s", tag, found, err, image.digest)
		}
	}
}
