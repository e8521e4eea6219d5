// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// User is the conventional user "nonroot". It is a number, because the image has no /etc/passwd.
const User = "65532:65532"

// searchPath is the PATH that all builders of Dockerfiles set.
const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// containerdName is the annotation with the full name of an image, which containerd reads on import.
const containerdName = "io.containerd.image.name"

// Program describes an image of one static binary, the certificate authorities and the license texts.
type Program struct {
	Name   Name
	Binary string
	// Certificates is the bundle of certificate authorities; "" for none.
	Certificates string
	// Licenses is the directory with the license texts; "" for none.
	Licenses string
}

// Image is an image with its layer in a temporary file.
type Image struct {
	name     Name
	layer    string
	diff     ocispec.Descriptor
	config   blob
	manifest blob
}

type blob struct {
	descriptor ocispec.Descriptor
	content    []byte
}

// Build builds the image of a program. Close removes the temporary file.
func Build(program Program) (*Image, error) {
	if err := static(program.Binary); err != nil {
		return nil, err
	}
	entrypoint := "/" + filepath.Base(program.Binary)
	files := []file{{path: entrypoint, source: program.Binary, mode: 0o755}}
	if program.Certificates != "" {
		files = append(files, file{path: certificatesPath, source: program.Certificates, mode: 0o644})
	}
	texts, err := licenseTexts(program.Licenses)
	if err != nil {
		return nil, err
	}
	files = append(files, texts...)
	layer, descriptor, err := buildLayer(files)
	if err != nil {
		return nil, err
	}
	built := &Image{name: program.Name, layer: layer, diff: descriptor}
	config := ocispec.Image{
		Created:  &epoch,
		Platform: ocispec.Platform{Architecture: runtime.GOARCH, OS: "linux"},
		Config:   ocispec.ImageConfig{User: User, Env: []string{searchPath}, Entrypoint: []string{entrypoint}, WorkingDir: "/"},
		RootFS:   ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{descriptor.Digest}},
	}
	if built.config, err = newBlob(ocispec.MediaTypeImageConfig, config); err != nil {
		_ = built.Close()
		return nil, err
	}
	built.manifest, err = newBlob(ocispec.MediaTypeImageManifest, ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: ocispec.MediaTypeImageManifest,
		Config:    built.config.descriptor,
		Layers:    []ocispec.Descriptor{descriptor},
	})
	if err != nil {
		_ = built.Close()
		return nil, err
	}
	return built, nil
}

// Digest returns the digest of the manifest, which identifies the image on the node.
func (i *Image) Digest() string {
	return i.manifest.descriptor.Digest.String()
}

// Close removes the temporary file.
func (i *Image) Close() error {
	return os.Remove(i.layer)
}

// WriteArchive writes the image as a tar archive in two formats: an OCI image layout for containerd, podman,
// buildah and newer Docker, and manifest.json for older Docker.
func (i *Image) WriteArchive(out io.Writer) error {
	descriptor := i.manifest.descriptor
	descriptor.Annotations = map[string]string{containerdName: i.name.String(), ocispec.AnnotationRefName: i.name.tag}
	index, err := newBlob(ocispec.MediaTypeImageIndex, ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: ocispec.MediaTypeImageIndex,
		Manifests: []ocispec.Descriptor{descriptor},
	})
	if err != nil {
		return err
	}
	layout, err := newBlob("", ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	if err != nil {
		return err
	}
	docker, err := newBlob("", []dockerManifest{{
		Config: blobPath(i.config.descriptor.Digest), RepoTags: []string{i.name.String()}, Layers: []string{blobPath(i.diff.Digest)},
	}})
	if err != nil {
		return err
	}
	archive := tar.NewWriter(out)
	for _, entry := range []struct {
		name    string
		content []byte
	}{
		{blobPath(i.config.descriptor.Digest), i.config.content},
		{blobPath(i.manifest.descriptor.Digest), i.manifest.content},
		{ocispec.ImageIndexFile, index.content},
		{ocispec.ImageLayoutFile, layout.content},
		{dockerManifestFile, docker.content},
	} {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: entry.name, Mode: 0o644, Size: int64(len(entry.content)), ModTime: epoch}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("write %s: %w", entry.name, err)
		}
		if _, err := archive.Write(entry.content); err != nil {
			return fmt.Errorf("write %s: %w", entry.name, err)
		}
	}
	if err := writeFile(archive, file{path: blobPath(i.diff.Digest), source: i.layer, mode: 0o644}); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("finish archive: %w", err)
	}
	return nil
}

// buildLayer writes a layer to a temporary file and describes it. The layer is not compressed, because it stays
// on this machine.
func buildLayer(files []file) (string, ocispec.Descriptor, error) {
	temporary, err := os.CreateTemp("", "a2a-operator-layer-*.tar")
	if err != nil {
		return "", ocispec.Descriptor{}, fmt.Errorf("create layer: %w", err)
	}
	hash := sha256.New()
	size := &counter{}
	err = writeLayer(io.MultiWriter(temporary, hash, size), files)
	if closing := temporary.Close(); err == nil && closing != nil {
		err = fmt.Errorf("close layer: %w", closing)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
		return "", ocispec.Descriptor{}, err
	}
	return temporary.Name(), ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageLayer,
		Digest:    digest.NewDigestFromEncoded(digest.SHA256, hex.EncodeToString(hash.Sum(nil))),
		Size:      size.count,
	}, nil
}

func newBlob(mediaType string, value any) (blob, error) {
	var content bytes.Buffer
	if err := json.NewEncoder(&content).Encode(value); err != nil {
		return blob{}, fmt.Errorf("encode image: %w", err)
	}
	return blob{content: content.Bytes(), descriptor: ocispec.Descriptor{
		MediaType: mediaType, Digest: digest.FromBytes(content.Bytes()), Size: int64(content.Len()),
	}}, nil
}

func blobPath(d digest.Digest) string {
	return path.Join(ocispec.ImageBlobsDir, d.Algorithm().String(), d.Encoded())
}

// dockerManifestFile lists the images of an archive for Docker.
const dockerManifestFile = "manifest.json"

type dockerManifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// counter counts the bytes that are written to it.
type counter struct {
	count int64
}

func (c *counter) Write(content []byte) (int, error) {
	c.count += int64(len(content))
	return len(content), nil
}
