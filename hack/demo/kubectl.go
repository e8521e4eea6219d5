// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// kubectl runs a command and returns its output.
func kubectl(ctx context.Context, input string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "kubectl", args...)
	command.Stdin = strings.NewReader(input)
	var out, failure bytes.Buffer
	command.Stdout, command.Stderr = &out, &failure
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, failure.String())
	}
	return out.String(), nil
}

// token creates a token of the namespace's default ServiceAccount.
func (d *demo) token(ctx context.Context, audience string) (string, error) {
	show("TOKEN=$(kubectl" + inNamespace(d.namespace) + " create token default --audience " + audience + ")")
	token, err := kubectl(ctx, "", "-n", d.namespace, "create", "token", "default", "--audience", audience)
	return strings.TrimSpace(token), err
}

var forwarding = regexp.MustCompile(`Forwarding from (127\.0\.0\.1:\d+)`)

// forward makes a Service reachable until stop is called.
func forward(ctx context.Context, namespace, service string) (url string, stop func(), err error) {
	return forwardPort(ctx, namespace, "service/"+service, "80")
}

// forwardPort makes a port of a Service or of a pod of a Deployment reachable until stop is called. It uses the API server,
// so it works with a remote cluster, too.
func forwardPort(ctx context.Context, namespace, object, port string) (url string, stop func(), err error) {
	show("kubectl" + inNamespace(namespace) + " port-forward " + object + " :" + port)
	ctx, cancel := context.WithCancel(ctx)
	command := exec.CommandContext(ctx, "kubectl", "-n", namespace, "port-forward", object, ":"+port)
	var failure bytes.Buffer
	command.Stderr = &failure
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		cancel()
		return "", nil, fmt.Errorf("forward %s: %w", object, err)
	}
	stop = func() {
		cancel()
		_ = command.Wait()
	}
	address := make(chan string, 1)
	go func() {
		defer close(address)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if found := forwarding.FindStringSubmatch(lines.Text()); found != nil && len(address) == 0 {
				address <- found[1]
			}
		}
	}()
	select {
	case host, ok := <-address:
		if ok {
			return "http://" + host, stop, nil
		}
	case <-time.After(30 * time.Second):
	}
	stop()
	return "", nil, fmt.Errorf("forward %s: %s", object, failure.String())
}
