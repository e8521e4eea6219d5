// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// testRelease returns a release of a fixed commit to a registry that ends with the test. Short texts replace the programs.
func testRelease(t *testing.T) *release {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return &release{
		run: runProgram, log: io.Discard, root: "../..", output: t.TempDir(), version: "v1.2.3", repository: strings.TrimPrefix(server.URL, "http://") + "/a2a-operator",
		commit: strings.Repeat("c", 40), date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		build: func(_ context.Context, p program, target target, file string) error {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
			return os.WriteFile(file, []byte("program "+p.name+" for "+target.String()), 0o600)
		},
	}
}

// pushImage builds the programs of an image and pushes it.
func pushImage(t *testing.T, r *release, p program) imageIndex {
	t.Helper()
	for _, target := range imageTargets {
		if err := r.build(t.Context(), p, target, filepath.Join(r.output, "programs", target.directory(), target.executable(p))); err != nil {
			t.Fatal(err)
		}
	}
	image, err := r.buildImage(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.pushImages(t.Context(), []imageIndex{image}); err != nil {
		t.Fatal(err)
	}
	return image
}

func TestImageOfEachPlatformHasTheProgramAndCertificates(t *testing.T) {
	r := testRelease(t)
	pushed := pushImage(t, r, program{"sample-echo", "./config/samples/echo"})
	reference, err := name.ParseReference(pushed.repository + ":v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(reference)
	if err != nil {
		t.Fatal(err)
	}
	if digest, _ := index.Digest(); digest.String() != pushed.digest {
		t.Errorf("the tag leads to %s, want %s", digest, pushed.digest)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.MediaType != types.OCIImageIndex || len(manifest.Manifests) != 2 {
		t.Fatalf("the index is %s with %d images", manifest.MediaType, len(manifest.Manifests))
	}
	for i, architecture := range []string{"amd64", "arm64"} {
		descriptor := manifest.Manifests[i]
		if descriptor.Platform.String() != "linux/"+architecture || descriptor.Digest.String() != pushed.platforms[i].digest {
			t.Errorf("image %d is %s of %s, want %s of linux/%s", i, descriptor.Digest, descriptor.Platform, pushed.platforms[i].digest, architecture)
		}
		image, err := index.Image(descriptor.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, image, architecture)
	}
}

func checkImage(t *testing.T, image v1.Image, architecture string) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Architecture != architecture || config.OS != "linux" || config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/echo"}) {
		t.Errorf("configuration = %+v", config)
	}
	labels := config.Config.Labels
	if labels["org.opencontainers.image.version"] != "v1.2.3" || labels["org.opencontainers.image.revision"] != strings.Repeat("c", 40) {
		t.Errorf("labels = %v", labels)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, error = %v", len(layers), err)
	}
	plain, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		found[fmt.Sprintf("%s %04o %d:%d", header.Name, header.Mode, header.Uid, header.Gid)] = string(content)
	}
	if len(found) != 5 {
		t.Errorf("the layer has %d entries, want 3 directories and 2 files: %v", len(found), slices.Sorted(maps.Keys(found)))
	}
	if got := found["echo 0755 0:0"]; got != "program sample-echo for linux/"+architecture {
		t.Errorf("program = %q", got)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(found["etc/ssl/certs/ca-certificates.crt 0644 0:0"])) {
		t.Error("the layer has no certificate authorities")
	}
}

// Each testRelease has its own registry. Although the addresses of the two registries differ, the digests of the
// images must be equal.
func TestTwoRunsPushImagesWithEqualDigests(t *testing.T) {
	p := program{"manager", "./cmd/manager"}
	first, second := pushImage(t, testRelease(t), p), pushImage(t, testRelease(t), p)
	if first.digest != second.digest {
		t.Errorf("digests %s and %s, want one", first.digest, second.digest)
	}
	changed := testRelease(t)
	build := changed.build
	changed.build = func(ctx context.Context, p program, target target, file string) error {
		p.name = "other"
		return build(ctx, p, target, file)
	}
	if third := pushImage(t, changed, p); third.digest == first.digest {
		t.Error("another program has the same digest")
	}
}

func TestArchivesHoldTheProgramAndTheLicense(t *testing.T) {
	date := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	files := []packedFile{{"kubectl-a2a", 0o755, []byte("program")}, {"LICENSE", 0o644, []byte("license")}}
	for name, pack := range map[string]func(time.Time, []packedFile) ([]byte, error){"tar.gz": packTarGz, "zip": packZip} {
		first, err := pack(date, files)
		if err != nil {
			t.Fatal(err)
		}
		second, err := pack(date, files)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, second) {
			t.Errorf("two %s archives of the same files differ", name)
		}
	}
	packed, err := packTarGz(date, files)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	header, err := tar.NewReader(plain).Next()
	if err != nil || header.Name != "kubectl-a2a" || header.FileInfo().Mode().Perm() != 0o755 || !header.ModTime.Equal(date) {
		t.Errorf("first file = %+v, error = %v", header, err)
	}
	if packed, err = packZip(date, files); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil || len(archive.File) != 2 || archive.File[0].Mode().Perm() != 0o755 || !archive.File[0].Modified.Equal(date) {
		t.Errorf("zip = %+v, error = %v", archive, err)
	}
}

func TestEachArchiveHasTheProgramForCompletion(t *testing.T) {
	r := &release{root: "../.."}
	for _, target := range pluginTargets {
		file, err := r.completionProgram(target)
		if err != nil || file.mode != 0o755 || !bytes.Contains(file.content, []byte("kubectl-a2a __complete")) {
			t.Errorf("%s: %+v, %v", target, file, err)
		}
	}
}

func TestKrewManifestNamesEveryArchive(t *testing.T) {
	got := krewManifest("v1.2.3", []archived{
		{target{"linux", "amd64"}, "kubectl-a2a_v1.2.3_linux_amd64.tar.gz", strings.Repeat("1", 64)},
		{target{"windows", "arm64"}, "kubectl-a2a_v1.2.3_windows_arm64.zip", strings.Repeat("2", 64)},
	})
	for _, want := range []string{
		"  version: v1.2.3\n",
		"          os: windows\n          arch: arm64\n      uri: https://github.com/a2a-operator/a2a-operator/releases/download/v1.2.3/kubectl-a2a_v1.2.3_windows_arm64.zip\n" +
			"      sha256: " + strings.Repeat("2", 64) + "\n      bin: kubectl-a2a.exe\n",
		"      bin: kubectl-a2a\n",
		"      kubectl a2a completion kubectl\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the manifest lacks\n%s\nin\n%s", want, got)
		}
	}
}

var testImages = []imageIndex{
	{artifact: artifact{"127.0.0.1:5005/a2a-operator/manager", "sha256:" + strings.Repeat("1", 64)}, program: program{"manager", "./cmd/manager"}},
	{artifact: artifact{"127.0.0.1:5005/a2a-operator/sidecar", "sha256:" + strings.Repeat("2", 64)}, program: program{"sidecar", "./cmd/sidecar"}},
	{artifact: artifact{"127.0.0.1:5005/a2a-operator/sample-echo", "sha256:" + strings.Repeat("3", 64)}, program: program{"sample-echo", "./config/samples/echo"}},
	{artifact: artifact{"127.0.0.1:5005/a2a-operator/sample-researcher", "sha256:" + strings.Repeat("4", 64)}, program: program{"sample-researcher", "./config/samples/researcher"}},
}

func TestChartPinsTheImagesOfTheRelease(t *testing.T) {
	content, err := os.ReadFile("../../charts/a2a-operator/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := pinValues(file, testImages); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range testImages[:2] {
		for _, want := range []string{"repository: " + image.repository + "\n", `digest: "` + image.digest + `"`} {
			if strings.Count(string(got), want) != 1 {
				t.Errorf("values.yaml has %d times %s", strings.Count(string(got), want), want)
			}
		}
	}
	if strings.Contains(string(got), publicRepository) {
		t.Errorf("an image of %s stays in values.yaml", publicRepository)
	}
	// A chart with an image that the release does not publish would install a tag that does not exist.
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := pinValues(file, testImages[:1]); err == nil || !strings.Contains(err.Error(), "no digest") {
		t.Errorf("without the sidecar: error = %v", err)
	}
}

func TestManifestsPinTheImagesOfTheRelease(t *testing.T) {
	manager, err := os.ReadFile("../../config/manager/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := testRelease(t)
	version, err := r.chartVersion()
	if err != nil {
		t.Fatal(err)
	}
	got, err := pinManifest(string(manager), publicRepository+"/", version, testImages)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"image: " + testImages[0].reference() + "\n", "--sidecar-image=" + testImages[1].reference() + "\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the Deployment lacks %s", want)
		}
	}
	if _, err := pinManifest(string(manager), publicRepository+"/", version, testImages[:1]); err == nil {
		t.Error("the image of the sidecar stays without a digest")
	}
	if _, err := pinManifest(string(manager), publicRepository+"/", "v9.9.9", testImages); err == nil {
		t.Error("a manifest of another version is accepted")
	}
}

func TestPublishRequiresTheVersionOfTheChart(t *testing.T) {
	r := testRelease(t)
	r.version = "v99.0.0"
	if err := r.matchesChart(); err == nil || !strings.Contains(err.Error(), "Chart.yaml") {
		t.Errorf("matchesChart() error = %v, want it to name Chart.yaml", err)
	}
	version, err := r.chartVersion()
	if err != nil {
		t.Fatal(err)
	}
	if r.version = version; r.matchesChart() != nil {
		t.Errorf("version %s of the chart is refused", version)
	}
}

func TestInvalidVersionsAreRefused(t *testing.T) {
	for _, version := range []string{"", "1.2.3", "v1.2", "v1.2.3+dirty", "v01.2.3", "main"} {
		if _, err := newRelease(t.Context(), version, publicRepository, t.TempDir()); err == nil || !strings.Contains(err.Error(), "VERSION") {
			t.Errorf("version %q: error = %v, want it to name VERSION", version, err)
		}
	}
}

func TestRegistryServesOnLoopbackOnly(t *testing.T) {
	for _, address := range []string{"0.0.0.0:5005", "10.0.0.1:5005", "registry.example:5005", "127.0.0.1"} {
		if _, _, err := serveRegistry(t.Context(), address, t.TempDir()); err == nil {
			t.Errorf("address %s is accepted", address)
		}
	}
}

func TestProvenanceNamesCommitAndBuilder(t *testing.T) {
	r := testRelease(t)
	local := r.newProvenance(func(string) string { return "" })
	if source := local.BuildDefinition.ResolvedDependencies[0]; source.Digest["gitCommit"] != r.commit || local.RunDetails.Metadata != nil {
		t.Errorf("provenance = %+v", local)
	}
	environment := map[string]string{
		"GITHUB_WORKFLOW_REF": "a2a-operator/a2a-operator/.github/workflows/release.yml@refs/tags/v1.2.3",
		"GITHUB_SERVER_URL":   "https://github.com", "GITHUB_REPOSITORY": "a2a-operator/a2a-operator", "GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "1",
	}
	hosted := r.newProvenance(func(name string) string { return environment[name] })
	if hosted.RunDetails.Builder.ID != "https://github.com/"+environment["GITHUB_WORKFLOW_REF"] {
		t.Errorf("builder = %s", hosted.RunDetails.Builder.ID)
	}
	if hosted.RunDetails.Metadata.InvocationID != "https://github.com/a2a-operator/a2a-operator/actions/runs/7/attempts/1" {
		t.Errorf("invocation = %+v", hosted.RunDetails.Metadata)
	}
}

func TestChecksumsListTheFilesOfTheRelease(t *testing.T) {
	r := testRelease(t)
	if err := os.WriteFile(filepath.Join(r.output, "install.yaml"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(r.output, "programs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.writeChecksums(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(r.checksums())
	if want := fmt.Sprintf("%x  install.yaml\n", sha256.Sum256([]byte("a"))); err != nil || string(got) != want {
		t.Errorf("checksums.txt = %q, want %q, error = %v", got, want, err)
	}
}

func TestPublishRefusesAChangedSourceTree(t *testing.T) {
	r := testRelease(t)
	r.run = func(context.Context, string, string, ...string) (string, error) { return " M go.mod\n", nil }
	if err := r.isCommitted(t.Context()); err == nil || !strings.Contains(err.Error(), "go.mod") || !strings.Contains(err.Error(), r.commit) {
		t.Errorf("a changed file: error = %v, want it to name the file and the commit", err)
	}
	r.run = func(context.Context, string, string, ...string) (string, error) { return "", nil }
	if err := r.isCommitted(t.Context()); err != nil {
		t.Errorf("no changed file: error = %v", err)
	}
}
