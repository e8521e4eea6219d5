// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/reload"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// publishedCard serves the card of the configuration in use, signed with the keys in use.
// Its methods are not safe for concurrent use. The reloader calls them one at a time.
type publishedCard struct {
	handler *wellknown.Handler
	options *settings.Options
	keys    []*signing.Key
	// report is called with the signatures of each card that is put into use, for the
	// health report. They are nil if there are no keys, or if the signatures are too large.
	report func(*sidecarconfig.CardSignatures)
	// signing has the preferred key, for push notifications.
	signing *atomic.Pointer[signing.Key]
	// config is the configuration whose card is served. It is nil before the first one.
	config *settings.Loaded
}

// prepare renders the card of a configuration, signs it with keys, and returns the function
// that puts the card and the keys into use.
func (p *publishedCard) prepare(next *settings.Loaded, keys []*signing.Key) (commit func(), err error) {
	var signer *signing.Signer
	var reported *sidecarconfig.CardSignatures
	if len(keys) > 0 {
		if signer, err = signing.NewSigner(keys, next.CardSigning.JWKSURL); err != nil {
			return nil, fmt.Errorf("sign card: %w", err)
		}
		if reported, err = signaturesFor(&next.Configured, signer); err != nil {
			return nil, err
		}
	}
	serve, err := p.handler.Prepare(wellknown.Content{
		Card: &next.Card, Bases: next.Bases, Profile: next.ProtocolOptions.CardProfile, Signer: signer, Modified: p.options.Written(),
		Resource: resource(&next.Access),
	})
	if err != nil {
		return nil, err
	}
	return func() {
		serve()
		p.config = next
		p.keys = keys
		p.prefer(keys)
		p.report(reported)
	}, nil
}

// signaturesFor returns the signatures of a card for the registry. If they exceed
// MaxCardSignatures, it returns nil, because the registry would refuse the whole health
// report.
func signaturesFor(c *card.Card, signer *signing.Signer) (*sidecarconfig.CardSignatures, error) {
	signatures, err := signer.Sign(c)
	if err != nil {
		return nil, fmt.Errorf("sign card for the registry: %w", err)
	}
	keys, err := signer.JWKS()
	if err != nil {
		return nil, fmt.Errorf("encode keys of card: %w", err)
	}
	reported := &sidecarconfig.CardSignatures{Keys: keys, Signatures: signatures}
	encoded, err := json.Marshal(reported)
	if err != nil {
		return nil, fmt.Errorf("encode signatures of card: %w", err)
	}
	if len(encoded) > sidecarconfig.MaxCardSignatures {
		return nil, nil // the health report then has no signatures
	}
	return reported, nil
}

// prefer uses the first of the keys for push notifications, or none.
func (p *publishedCard) prefer(keys []*signing.Key) {
	if len(keys) == 0 {
		p.signing.Store(nil)
		return
	}
	p.signing.Store(keys[0])
}

// useKeys replaces the keys that sign the card.
func (p *publishedCard) useKeys(keys []*signing.Key) error {
	if p.config == nil {
		p.keys = keys
		return nil
	}
	commit, err := p.prepare(p.config, keys)
	if err == nil {
		commit()
	}
	return err
}

// addCardKeys reads the keys that sign the card from files. If a key cannot be used at
// the start, the returned error wraps ErrCardKey. If a changed key cannot be used later,
// all former keys stay in use.
func addCardKeys(e *environment, files []string, p *publishedCard) error {
	tracked := e.health.Add(sidecarconfig.DependencyCardSigningKeys, health.Options{})
	return e.addCredential(&reload.Source{
		Name: "card-signing-keys", Directories: directoriesOf(files),
		Read: func() (reload.Files, error) { return readCardKeys(files) },
		Use: func(texts reload.Files) error {
			keys, err := parseCardKeys(files, texts)
			if err == nil {
				err = p.useKeys(keys)
			}
			if err != nil {
				return err
			}
			if signer, err := signing.NewSigner(keys, ""); err == nil {
				e.log.Info("card signing keys in use", "keys", signer.KeyIDs()) // the ids are public
			}
			return nil
		},
		Report: reportReloads(tracked, "the former keys sign the card"),
	}, ErrCardKey)
}

// readCardKeys reads the files. The result has their paths as keys. The first file must
// exist. The second one exists only during a rotation.
func readCardKeys(files []string) (reload.Files, error) {
	texts := reload.Files{}
	for i, file := range files {
		text, err := os.ReadFile(file)
		if i > 0 && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		texts[file] = text
	}
	return texts, nil
}

// parseCardKeys returns the keys in the order of the files.
func parseCardKeys(files []string, texts reload.Files) (keys []*signing.Key, err error) {
	var errs []error
	for _, file := range files {
		text, ok := texts[file]
		if !ok {
			continue
		}
		key, err := signing.ParseKey(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file, err))
		}
		keys = append(keys, key)
	}
	return keys, errors.Join(errs...)
}

// directoriesOf returns the directory of each file.
func directoriesOf(files []string) (all []string) {
	for _, file := range files {
		all = append(all, filepath.Dir(file))
	}
	return all
}

// resource returns the protected resource metadata, nil for none.
func resource(a *sidecarconfig.Access) *wellknown.Resource {
	j := a.ProtectedResource()
	if j == nil {
		return nil
	}
	return &wellknown.Resource{AuthorizationServers: []string{j.Issuer}, Scopes: slices.Sorted(maps.Keys(j.Scopes))}
}
