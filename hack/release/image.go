// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the conventional user "nonroot", as a number, because the images have no /etc/passwd.
const user = "65532:65532"

// certificatesPath is a path from which Go programs load certificate authorities.
const certificatesPath = "etc/ssl/certs/ca-certificates.crt"

// imageIndex is the image of a program: an index that lists an image for each platform.
type imageIndex struct {
	artifact
	program   program
	platforms []platformImage
	index     v1.ImageIndex
}

// platformImage is the image of a platform.
type platformImage struct {
	artifact
	platform target
	// sbom is the path of the SBOM of the program for this platform.
	sbom string
}

// buildImages builds all programs, their SBOMs and their images. It pushes nothing.
func (r *release) buildImages(ctx context.Context) ([]imageIndex, error) {
	for _, t := range imageTargets {
		dir := filepath.Join(r.output, "programs", t.directory())
		var files []string
		for _, p := range imagePrograms {
			file := filepath.Join(dir, t.executable(p))
			if err := r.build(ctx, p, t, file); err != nil {
				return nil, err
			}
			files = append(files, file)
		}
		if err := r.writeSBOMs(ctx, filepath.Join(r.output, "sbom", t.directory()), files...); err != nil {
			return nil, err
		}
	}
	var images []imageIndex
	for _, p := range imagePrograms {
		image, err := r.buildImage(p)
		if err != nil {
			return nil, fmt.Errorf("build image %s: %w", p.name, err)
		}
		images = append(images, image)
	}
	return images, nil
}

// buildImage makes the image of a program that is built for all platforms.
func (r *release) buildImage(p program) (imageIndex, error) {
	built := imageIndex{artifact: artifact{repository: r.repository + "/" + p.name}, program: p}
	labels := map[string]string{
		"org.opencontainers.image.title":    p.name,
		"org.opencontainers.image.version":  r.version,
		"org.opencontainers.image.revision": r.commit,
		"org.opencontainers.image.source":   sourceURL,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	var addenda []mutate.IndexAddendum
	for _, t := range imageTargets {
		file := filepath.Join(r.output, "programs", t.directory(), t.executable(p))
		image, err := newImage(file, t, r.date, labels)
		if err != nil {
			return imageIndex{}, err
		}
		digest, err := image.Digest()
		if err != nil {
			return imageIndex{}, err
		}
		addenda = append(addenda, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: t.system, Architecture: t.architecture},
		}})
		built.platforms = append(built.platforms, platformImage{
			artifact: artifact{repository: built.repository, digest: digest.String()}, platform: t,
			sbom: filepath.Join(r.output, "sbom", t.directory(), p.binary()+".spdx.json"),
		})
	}
	index := mutate.IndexMediaType(mutate.AppendManifests(empty.Index, addenda...), types.OCIImageIndex)
	index, ok := mutate.Annotations(index, labels).(v1.ImageIndex)
	if !ok {
		return imageIndex{}, fmt.Errorf("annotate the index of %s: the result is no index", p.name)
	}
	digest, err := index.Digest()
	if err != nil {
		return imageIndex{}, err
	}
	built.digest, built.index = digest.String(), index
	return built, nil
}

// tag returns the tag of an image in the registry.
func (r *release) tag(image imageIndex) (name.Tag, error) {
	return name.NewTag(image.repository+":"+r.version, name.StrictValidation)
}

// refuseOtherImages returns an error if a tag of the release refers to another image, because a published version never changes. It
// returns nil if it cannot read the registry, because the push reports this error.
func (r *release) refuseOtherImages(ctx context.Context, images []imageIndex) error {
	for _, image := range images {
		tag, err := r.tag(image)
		if err != nil {
			return err
		}
		found, err := remote.Head(tag, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
		if err == nil && found.Digest.String() != image.digest {
			return fmt.Errorf("%s is published with the digest %s, and commit %s makes %s: a published version never changes, release the next one",
				tag, found.Digest, r.commit, image.digest)
		}
	}
	return nil
}

// pushImages pushes images. A second run for the same commit pushes the images that are missing.
func (r *release) pushImages(ctx context.Context, images []imageIndex) error {
	for _, image := range images {
		tag, err := r.tag(image)
		if err != nil {
			return err
		}
		if err := remote.WriteIndex(tag, image.index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return fmt.Errorf("push image %s: %w", tag, err)
		}
		r.reportf("image    %s %s", tag, image.digest)
	}
	return nil
}

// newImage returns the image of a program. It contains the program in the root directory, as the entrypoint, and the certificate
// authorities.
//
// The release does not use ko, because the operator executes /sidecar in the pods of agents, and ko chooses the path of a program
// itself.
func newImage(file string, t target, created time.Time, labels map[string]string) (v1.Image, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	entrypoint := filepath.Base(file)
	layer, err := newLayer(map[string][]byte{entrypoint: content, certificatesPath: certificates()}, entrypoint)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{
		Created: v1.Time{Time: created}, CreatedBy: "hack/release", Comment: "the program and the certificate authorities",
	}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = t.system, t.architecture, v1.Time{Time: created}
	config.Config = v1.Config{
		User: user, WorkingDir: "/", Entrypoint: []string{"/" + entrypoint}, Labels: labels,
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}
	return mutate.ConfigFile(image, config)
}

// newLayer returns a layer with files and their directories, sorted, owned by root and without times. executable is the path of the
// executable file.
func newLayer(files map[string][]byte, executable string) (v1.Layer, error) {
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	epoch := time.Unix(0, 0).UTC()
	directories := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		for _, dir := range parents(file) {
			if directories[dir] {
				continue
			}
			directories[dir] = true
			if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: epoch}); err != nil {
				return nil, err
			}
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: file, Mode: 0o644, Size: int64(len(files[file])), ModTime: epoch}
		if file == executable {
			header.Mode = 0o755
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(files[file]); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// parents returns the directories above a file, the outermost first.
func parents(file string) []string {
	var above []string
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		above = append([]string{dir}, above...)
	}
	return above
}

// certificates returns the certificate authorities of Mozilla as the Go project publishes them. go.mod pins them, so that the images
// do not depend on the machine.
func certificates() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
	}
	return out.Bytes()
}
