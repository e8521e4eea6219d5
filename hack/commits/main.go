// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command commits checks the messages of commits against the rules in
// CONTRIBUTING.md. It checks the commits that are reachable from HEAD and not from
// the commit that added this file, so older history is exempt. It needs neither a
// remote nor a tag, so that it works in a fresh clone.
//
// Run it at the top of the tree:
//
//	commits [range]
//
// With a range, such as main..HEAD, it checks that range instead.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// self is the path of this file. Without an argument, the program checks the commits after
// the one that added the file.
const self = "hack/commits/main.go"

// accepted are commits that break a rule and can no longer be changed, each with
// the reason. The keys are whole hashes.
var accepted = map[string]string{
	"0026514677fc78c387af0f379a07224743ec9ffa": "the subject has a comma after its first verb",
}

func main() {
	if err := run(context.Background(), ".", os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run checks the commits of the repository in dir. It returns an error that names
// every commit that breaks a rule, with the rule.
func run(ctx context.Context, dir string, args []string) error {
	if len(args) == 0 {
		first, err := introduced(ctx, dir)
		if err != nil || first == "" {
			return err
		}
		args = []string{first + "..HEAD"}
	}
	commits, err := list(ctx, dir, args[0])
	if err != nil {
		return err
	}
	var broken []string
	for _, c := range commits {
		if accepted[c.hash] != "" {
			continue
		}
		for _, rule := range check(c.message) {
			broken = append(broken, fmt.Sprintf("commit %.12s (%s): %s", c.hash, subject(c.message), rule))
		}
	}
	if len(broken) == 0 {
		return nil
	}
	return errors.New(strings.Join(broken, "\n") + "\n" +
		"Reword the commits (git rebase -i, CONTRIBUTING.md \"Commits\"), or list one that has landed in 'accepted' of " + self + ".")
}

// introduced returns the commit that added this program, "" if there is none yet.
func introduced(ctx context.Context, dir string) (string, error) {
	out, err := git(ctx, dir, "log", "--diff-filter=A", "--format=%H", "--", self)
	if err != nil {
		return "", err
	}
	hashes := strings.Fields(string(out))
	if len(hashes) == 0 {
		return "", nil
	}
	return hashes[len(hashes)-1], nil // git lists the newest commit first
}

// commit is a commit with its whole message.
type commit struct{ hash, message string }

// list returns the commits of a range, the oldest first. It leaves out merges,
// whose messages git writes.
func list(ctx context.Context, dir, revisions string) ([]commit, error) {
	out, err := git(ctx, dir, "log", "-z", "--reverse", "--no-merges", "--format=%H%n%B", revisions, "--")
	if err != nil {
		return nil, err
	}
	var commits []commit
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		if hash, message, ok := strings.Cut(string(entry), "\n"); ok {
			commits = append(commits, commit{hash, message})
		}
	}
	return commits, nil
}

func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = dir
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
