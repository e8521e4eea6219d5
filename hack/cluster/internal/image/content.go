// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// content is the content of an image: its filesystem and its start configuration.
type content struct {
	entries map[string]entry
	config  ocispec.ImageConfig
	system  ocispec.Platform
}

// entry is a file or directory without its times.
type entry struct {
	kind  byte
	mode  int64
	owner string
	link  string
	sum   string
}

func (e entry) String() string {
	return fmt.Sprintf("type %c mode %04o owner %s link %q content %.12s", e.kind, e.mode, e.owner, e.link, e.sum)
}

// readArchive reads an archive that holds one image as an OCI image layout.
func readArchive(archivePath string) (content, error) {
	archive, err := os.Open(archivePath)
	if err != nil {
		return content{}, fmt.Errorf("open archive: %w", err)
	}
	defer func() { _ = archive.Close() }()
	var index ocispec.Index
	if err := readJSON(archive, ocispec.ImageIndexFile, &index); err != nil {
		return content{}, err
	}
	if len(index.Manifests) != 1 {
		return content{}, fmt.Errorf("read %s: it holds %d images, not one", archivePath, len(index.Manifests))
	}
	var manifest ocispec.Manifest
	if err := readJSON(archive, blobPath(index.Manifests[0].Digest), &manifest); err != nil {
		return content{}, err
	}
	var config ocispec.Image
	if err := readJSON(archive, blobPath(manifest.Config.Digest), &config); err != nil {
		return content{}, err
	}
	read := content{entries: map[string]entry{}, config: config.Config, system: config.Platform}
	for _, layer := range manifest.Layers {
		if err := read.addLayer(archive, layer.Digest); err != nil {
			return content{}, err
		}
	}
	return read, nil
}

// addLayer adds a layer.
func (c content) addLayer(archive io.ReadSeeker, layer digest.Digest) error {
	return readEntry(archive, blobPath(layer), func(blob io.Reader) error {
		plain, err := decompress(blob)
		if err != nil {
			return err
		}
		files := tar.NewReader(plain)
		for {
			header, err := files.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read layer: %w", err)
			}
			if err := c.addEntry(header, files); err != nil {
				return err
			}
		}
	})
}

func (c content) addEntry(header *tar.Header, body io.Reader) error {
	name := path.Clean("/" + header.Name)
	if name == "/" {
		return nil
	}
	if strings.HasPrefix(path.Base(name), ".wh.") {
		return fmt.Errorf("read layer: %s removes a file, which an image from scratch never does", name)
	}
	e := entry{kind: header.Typeflag, mode: header.Mode & 0o7777, owner: fmt.Sprintf("%d:%d", header.Uid, header.Gid), link: header.Linkname}
	if header.Typeflag == tar.TypeReg {
		sum := sha256.New()
		if _, err := io.Copy(sum, body); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		e.sum = hex.EncodeToString(sum.Sum(nil))
	}
	c.entries[name] = e
	return nil
}

func decompress(blob io.Reader) (io.Reader, error) {
	var magic [2]byte
	count, err := io.ReadFull(blob, magic[:])
	if err != nil {
		return nil, fmt.Errorf("read layer: %w", err)
	}
	whole := io.MultiReader(bytes.NewReader(magic[:count]), blob)
	if magic != [2]byte{0x1f, 0x8b} {
		return whole, nil
	}
	plain, err := gzip.NewReader(whole)
	if err != nil {
		return nil, fmt.Errorf("decompress layer: %w", err)
	}
	return plain, nil
}

func readJSON(archive io.ReadSeeker, name string, into any) error {
	return readEntry(archive, name, func(content io.Reader) error {
		if err := json.NewDecoder(content).Decode(into); err != nil {
			return fmt.Errorf("parse %s: %w", name, err)
		}
		return nil
	})
}

// readEntry calls read with the content of one file of the archive. It searches the archive from the beginning each
// time, and returns an error if the file is missing.
func readEntry(archive io.ReadSeeker, name string, read func(io.Reader) error) error {
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("rewind archive: %w", err)
	}
	files := tar.NewReader(archive)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("find %s in archive: it is not there", name)
		}
		if err != nil {
			return fmt.Errorf("read archive: %w", err)
		}
		if path.Clean(header.Name) == name {
			return read(files)
		}
	}
}
