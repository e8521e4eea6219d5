// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/component"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/process"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

const (
	// startLimit bounds the time until a component answers. On two busy cores, a component needs a tenth of it.
	startLimit = 2 * time.Minute
	// stopGrace is how long a component may take to end after SIGTERM.
	stopGrace = 20 * time.Second
	// probePause is the interval of the probes of a starting component.
	probePause = 50 * time.Millisecond
	// logTail is the number of log lines in the error of a component that failed.
	logTail = 12
)

// probe returns nil when a component answers.
type probe func(context.Context) error

// ensure starts a component unless it already runs with the same configuration, and waits until it answers.
func (c *Cluster) ensure(ctx context.Context, ledger *state.Ledger, wanted component.Component, answers probe) error {
	fingerprint, err := fingerprint(wanted)
	if err != nil {
		return err
	}
	recorded, known := ledger.Record().Processes[wanted.Name]
	if known && recorded.Alive() && recorded.Fingerprint == fingerprint {
		return c.await(ctx, wanted.Name, recorded.Identity, answers)
	}
	return c.config.Reporter.Step(ctx, wanted.Name, func(ctx context.Context) error {
		if err := recorded.Stop(ctx, stopGrace); err != nil {
			return fmt.Errorf("stop %s: %w", wanted.Name, err)
		}
		identity, err := c.start(ledger, wanted, fingerprint)
		if err != nil {
			return err
		}
		return c.await(ctx, wanted.Name, identity, answers)
	})
}

func (c *Cluster) start(ledger *state.Ledger, wanted component.Component, fingerprint string) (process.Identity, error) {
	for path, content := range wanted.Files {
		if err := state.WriteFile(path, content, 0o644); err != nil {
			return process.Identity{}, err
		}
	}
	identity, err := process.Start(process.Daemon{
		Path: wanted.Binary, Args: wanted.Args, Log: c.config.State.Log(wanted.Name), Mark: string(c.config.State),
	})
	if err != nil {
		return process.Identity{}, err
	}
	return identity, ledger.Update(func(r *state.Record) {
		r.Processes[wanted.Name] = state.Process{Identity: identity, Fingerprint: fingerprint}
	})
}

// await waits until a component answers, or ends.
func (c *Cluster) await(ctx context.Context, name string, identity process.Identity, answers probe) error {
	ended := errors.New("it ended")
	err := poll(ctx, startLimit, func(ctx context.Context) error {
		err := answers(ctx)
		if err != nil && !identity.Alive() {
			return final{ended}
		}
		return err
	})
	if ctx.Err() != nil {
		return fmt.Errorf("start %s: %w", name, context.Cause(ctx))
	}
	if err != nil {
		log := c.config.State.Log(name)
		return fmt.Errorf("start %s: %w; the end of %s:\n%s", name, err, log, tail(log, logTail))
	}
	return nil
}

// final is an error after which poll does not retry.
type final struct{ error }

// Unwrap returns the marked error.
func (f final) Unwrap() error { return f.error }

// poll repeats an attempt until it succeeds, its error is final, or the limit has passed.
func poll(ctx context.Context, limit time.Duration, attempt probe) error {
	deadline := time.Now().Add(limit)
	for {
		err := attempt(ctx)
		if err == nil {
			return nil
		}
		if hopeless, ok := errors.AsType[final](err); ok {
			return hopeless.error
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not ready after %s: %w", limit, err)
		}
		time.Sleep(probePause)
	}
}

// fingerprint returns a digest of everything that a component reads at its start.
func fingerprint(c component.Component) (string, error) {
	digest := sha256.New()
	_, _ = fmt.Fprintf(digest, "%q\n", append([]string{c.Binary}, c.Args...))
	binary, err := os.Stat(c.Binary)
	if err != nil {
		return "", fmt.Errorf("inspect program of %s: %w", c.Name, err)
	}
	_, _ = fmt.Fprintf(digest, "%d %d\n", binary.Size(), binary.ModTime().UnixNano())
	for _, path := range slices.Sorted(maps.Keys(c.Files)) {
		_, _ = fmt.Fprintf(digest, "%q %q\n", path, c.Files[path])
	}
	for _, path := range c.Reads {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read configuration of %s: %w", c.Name, err)
		}
		_, _ = fmt.Fprintf(digest, "%q %q\n", path, content)
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

// listens returns a probe that connects to an address.
func listens(address string) probe {
	return func(ctx context.Context) error {
		dialer := net.Dialer{Timeout: time.Second}
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return connection.Close()
	}
}

func tail(path string, count int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
