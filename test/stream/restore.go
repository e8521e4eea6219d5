// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/test/redistest"
	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
	"github.com/a2a-operator/a2a-operator/test/stream/script"
)

const (
	// workAfterBackup is the time for which clients work between the backup and the loss of the store.
	workAfterBackup = 2 * time.Second
	// servesWithin bounds the time from the first answer of the restored store until the sidecars complete a new task.
	servesWithin = 10 * time.Second
	// endsWithin bounds the time until the sidecars end each task that has lost events: one renewal of the lease, and one
	// retry.
	endsWithin = 10 * time.Second
)

// backup is a way to back up the store while it runs, and to start it with the backup.
type backup struct {
	name string
	// save writes the backup into a directory.
	save func(ctx context.Context, c *goredis.Client, data, to string) error
	// run starts the store from the backup in its directory.
	run func(f *fleet, ctx context.Context) error
}

var backups = []backup{{"RDB file", saveRDB, (*fleet).runFromRDB}, {"append-only file", saveAOF, (*fleet).runFromAOF}}

// runRestores deletes the data of the store while tasks run, and restores it from a backup. It checks that tasks that
// ended before the backup are unchanged, that no completed task lacks a part, and that all other tasks have failed or are
// not found. The sidecars do not restart, and complete a new task within servesWithin.
func runRestores(ctx context.Context, s *settings, r *report) error {
	p := plan{Seed: s.seed, Tasks: 300, Chunks: 1200, Concurrency: 24, FaultRate: 0.1, Limit: 5 * time.Minute, OneTurn: true}
	times := 6
	if s.short {
		p.Tasks, p.Chunks, p.Concurrency, times = 48, 1000, 12, 2
	}
	f, stop, err := s.fleet(ctx, fleetOptions{grace: 10 * time.Second})
	if err != nil {
		return err
	}
	defer stop()
	c := &campaign{plan: &p, fleet: f, counts: newCounts(), progress: s.progress}
	c.extraFaults = map[int][]func(context.Context) error{}
	var slowest time.Duration
	for i := range times {
		n := p.Tasks * (i + 1) / (times + 1)
		c.extraFaults[n] = append(c.extraFaults[n], func(ctx context.Context) error {
			served, err := f.loseRedis(ctx, backups[i%len(backups)])
			slowest = max(slowest, served)
			return err
		})
	}
	err = c.run(ctx)
	f.checkRunning(r)
	r.Tally, r.Failed = c.counts.snapshot(), c.failed
	if err != nil {
		return err
	}
	r.addFinding("restores of the store", true, "any number", fmt.Sprint(times))
	r.addFinding("tasks of after a backup, lost or failed", r.Tally.LostWithStore > 0, "some", fmt.Sprint(r.Tally.LostWithStore))
	r.addFinding("the first new task after a restore took", slowest < servesWithin, "less than "+servesWithin.String(), slowest.Round(100*time.Millisecond).String())
	r.addFinding("the slowest task took", r.Tally.Slowest < outageTimeout, "less than "+outageTimeout.String(), r.Tally.Slowest.Round(100*time.Millisecond).String())
	return nil
}

// loseRedis backs up the store, lets clients work, kills the store, deletes its data and starts it with the backup. It
// returns the time until the next new task was completed.
func (f *fleet) loseRedis(ctx context.Context, b backup) (served time.Duration, err error) {
	c := goredis.NewClient(&goredis.Options{Addr: f.redis.address})
	defer func() { _ = c.Close() }()
	at := f.now()
	to, err := os.MkdirTemp("", "backup")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(to) }()
	if err := b.save(ctx, c, f.redisData, to); err != nil {
		return 0, fmt.Errorf("back up the store (%s): %w", b.name, err)
	}
	time.Sleep(workAfterBackup)
	err = f.recordFault(outageWindows, "", func() error {
		f.mu.Lock()
		i := len(f.faults.Restores)
		f.faults.Restores = append(f.faults.Restores, history.Restore{Backup: at, Kill: f.now(), End: math.MaxInt64})
		f.mu.Unlock()
		f.redis.process.Stop()
		if err := os.RemoveAll(f.redisData); err != nil {
			return err
		}
		if err := os.CopyFS(f.redisData, os.DirFS(to)); err != nil {
			return err
		}
		if err := b.run(f, context.WithoutCancel(ctx)); err != nil { // the process must outlive the task that caused the loss
			return fmt.Errorf("restore the store (%s): %w", b.name, err)
		}
		restored := time.Now()
		if err := f.completeTask(ctx, fmt.Sprint("after-restore-", i)); err != nil {
			return err
		}
		served = time.Since(restored)
		time.Sleep(endsWithin)
		f.mu.Lock()
		f.faults.Restores[i].End = f.now()
		f.mu.Unlock()
		return nil
	})
	return served, err
}

// saveRDB has the server write an RDB file, and copies it.
func saveRDB(ctx context.Context, c *goredis.Client, data, to string) error {
	if err := c.BgSave(ctx).Err(); err != nil {
		return err
	}
	if err := awaitField(ctx, c, "rdb_bgsave_in_progress:0"); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(data, "dump.rdb"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "dump.rdb"), text, 0o600)
}

// saveAOF copies the append-only files while no rewrite replaces them.
func saveAOF(ctx context.Context, c *goredis.Client, data, to string) (err error) {
	const setting = "auto-aof-rewrite-percentage"
	if err := c.ConfigSet(ctx, setting, "0").Err(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.ConfigSet(ctx, setting, "100").Err()) }()
	if err := awaitField(ctx, c, "aof_rewrite_in_progress:0"); err != nil {
		return err
	}
	return os.CopyFS(filepath.Join(to, "appendonlydir"), os.DirFS(filepath.Join(data, "appendonlydir")))
}

// awaitField waits until the output of INFO persistence contains a line.
func awaitField(ctx context.Context, c *goredis.Client, line string) error {
	for {
		text, err := c.Info(ctx, "persistence").Result()
		if err != nil || strings.Contains(text, line+"\r\n") {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// runFromRDB starts Redis without an append-only file, because Redis ignores an RDB file if the append-only file is on.
// It then switches the append-only file on.
func (f *fleet) runFromRDB(ctx context.Context) (err error) {
	if f.redis.process, err = f.runRedis(ctx, "--appendonly", "no"); err != nil {
		return err
	}
	c := goredis.NewClient(&goredis.Options{Addr: f.redis.address})
	defer func() { _ = c.Close() }()
	return errors.Join(c.ConfigSet(ctx, "appendfsync", "always").Err(), c.ConfigSet(ctx, "appendonly", "yes").Err())
}

func (f *fleet) runFromAOF(ctx context.Context) (err error) {
	f.redis.process, err = f.runRedis(ctx, redistest.Durable...)
	return err
}

// completeTask sends a message until a sidecar completes its task.
func (f *fleet) completeTask(ctx context.Context, token string) error {
	s := script.Script{Token: token, Turns: 1, Turn: 1, Chunks: 1, Size: 20}
	for attempt := 0; ; attempt++ {
		stream, err := client.Auditor.Open(ctx, f.sidecars[attempt%len(f.sidecars)].address, &client.Request{Text: s.String(), MessageID: token})
		for err == nil {
			var item client.Item
			if item, err = stream.Next(); err == nil && item.Terminal() {
				stream.Close()
				return nil
			}
		}
		if stream != nil {
			stream.Close()
		}
		if outcome, reason := client.OutcomeOf(err); outcome == history.Refused {
			return fmt.Errorf("new task after the restore: %s: %w", reason, err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
