// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFile is the file in the state directory that is locked.
const lockFile = "lock"

// Lock is the exclusive right to change a cluster.
type Lock struct {
	file *os.File
}

// Acquire makes the state directory and waits for its lock. It calls waiting before it waits for another process that
// holds the lock.
func Acquire(dir Dir, waiting func()) (*Lock, error) {
	if err := checkOwned(dir); err != nil {
		return nil, err
	}
	path := dir.Path(lockFile)
	for {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, fmt.Errorf("create state directory: %w", err)
		}
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open lock: %w", err)
		}
		if err := flock(file, waiting); err != nil {
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if current, err := isCurrent(file, path); err != nil {
			_ = file.Close()
			return nil, err
		} else if current {
			return &Lock{file: file}, nil
		}
		// The former holder removed the state directory during the wait, so the locked file is no longer the
		// lock.
		_ = file.Close()
	}
}

// checkOwned returns an error for a directory that contains files but no cluster, because Down removes the whole
// directory.
func checkOwned(dir Dir) error {
	entries, err := os.ReadDir(string(dir))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list state directory: %w", err)
	}
	foreign := false
	for _, entry := range entries {
		if entry.Name() == recordFile {
			return nil
		}
		foreign = foreign || entry.Name() != lockFile
	}
	if foreign {
		return fmt.Errorf("use state directory %s: it holds files that are not a cluster's; choose an empty or a new one", dir)
	}
	return nil
}

// Release releases the lock.
func (l *Lock) Release() {
	_ = l.file.Close()
}

func flock(file *os.File, waiting func()) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != syscall.EWOULDBLOCK {
		return err
	}
	waiting()
	for {
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			return err
		}
	}
}

func isCurrent(file *os.File, path string) (bool, error) {
	ours, err := file.Stat()
	if err != nil {
		return false, fmt.Errorf("inspect lock: %w", err)
	}
	theirs, err := os.Stat(path)
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("inspect lock: %w", err)
	}
	return os.SameFile(ours, theirs), nil
}
