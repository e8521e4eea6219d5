// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo shows the product on a cluster in which the chart is installed. Like a user, it needs only kubectl, HTTP
// and tokens. `make demo` prepares the cluster and runs it. It can run again on the same cluster.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	d := &demo{}
	flag.StringVar(&d.namespace, "namespace", "default", "The `namespace` of the agents. The demo creates it if it is missing.")
	flag.StringVar(&d.operator, "operator-namespace", "a2a-system", "The `namespace` of the operator.")
	flag.StringVar(&d.samples, "samples", "config/samples", "The `folder` of the manifests.")
	flag.StringVar(&d.images, "images", "a2a-operator/sample-{name}:dev", "The `pattern` of the image names of the agents.")
	flag.StringVar(&d.sidecar, "sidecar-image", "", "The `image` of the sidecar, if the demo waits for it.")
	flag.StringVar(&d.undo, "undo", "make demo-down", "The `command` that removes everything, shown at the end.")
	path := flag.String("path", "", "The `folders` of kubectl and its plugin, as PATH has them, if PATH does not.")
	flag.Parse()
	if *path != "" {
		d.path = " PATH=" + *path + ":$PATH"
		if err := os.Setenv("PATH", *path+":"+os.Getenv("PATH")); err != nil {
			fmt.Fprintln(os.Stderr, "demo:", err)
			os.Exit(1)
		}
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := d.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

type demo struct {
	namespace, operator, samples, images, sidecar, undo, path string
}

func (d *demo) run(ctx context.Context) error {
	begin := time.Now()
	steps := []struct {
		title string
		do    func(context.Context) error
	}{
		{"Two agents and two skills that both share", d.apply},
		{"Until the agents are ready", d.wait},
		{"The card of echo, at both well-known paths", d.card},
		{"A call without a token is refused", d.refused},
		{"An answer arrives chunk by chunk", d.stream},
		{"The registry finds agents, by skill and by what they do", d.search},
		{"One card has the skills of all agents that its caller sees", d.clusterCard},
		{"An agent asks back, then finds echo in the registry and calls it", d.research},
		{"A framework finds echo and calls it, with an MCP client only", d.mcp},
		{"kubectl a2a sends a message, and prints the answer as it arrives", d.send},
		{"kubectl a2a chat continues the conversation when the agent asks back", d.chat},
		{"A page of the agents, with their health and a place to try them", d.page},
	}
	for i, step := range steps {
		if i == len(steps)-1 { // print the end before the last step, which may wait for the reader
			fmt.Printf("\nThe demo took %.0f s.\n", time.Since(begin).Seconds())
			d.farewell()
		}
		fmt.Printf("\n\033[1m%d. %s\033[0m\n\n", i+1, step.title)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// apply creates the namespace and applies the samples.
func (d *demo) apply(ctx context.Context) error {
	if err := d.makeNamespace(ctx); err != nil {
		return err
	}
	manifests, err := kubectl(ctx, "", "kustomize", d.samples)
	if err != nil {
		return err
	}
	for _, name := range []string{"echo", "researcher"} {
		manifests = strings.ReplaceAll(manifests, "a2a-operator/sample-"+name+":dev", strings.ReplaceAll(d.images, "{name}", name))
	}
	show("kubectl" + inNamespace(d.namespace) + " apply --server-side -k " + d.samples)
	// --force-conflicts overwrites the edits that a visitor made since the last run.
	out, err := kubectl(ctx, manifests, "-n", d.namespace, "apply", "--server-side", "--force-conflicts", "-f", "-")
	indent(out)
	return err
}

func (d *demo) makeNamespace(ctx context.Context) error {
	if d.namespace == standard {
		return nil
	}
	manifest := "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: " + d.namespace +
		"\n  labels:\n    pod-security.kubernetes.io/enforce: restricted\n    a2a-operator.dev/made-by: demo\n"
	_, err := kubectl(ctx, manifest, "apply", "--server-side", "-f", "-")
	return err
}

// standard is the namespace that kubectl uses by default.
const standard = "default"

// inNamespace returns the flag -n for a printed kubectl command, or "" for the namespace that
// kubectl uses by default.
func inNamespace(namespace string) string {
	if namespace == standard {
		return ""
	}
	return " -n " + namespace
}

// readyTimeout bounds the wait for both agents, image pulls included.
const readyTimeout = 3 * time.Minute

// wait prints the agents whenever they change, until all are ready.
func (d *demo) wait(ctx context.Context) error {
	begin := time.Now()
	wait, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	show("kubectl" + inNamespace(d.namespace) + " get agents --watch")
	var last []string
	for {
		table, err := kubectl(wait, "", "-n", d.namespace, "get", "agents.a2a-operator.dev", "echo", "researcher")
		if err != nil && wait.Err() == nil {
			return err
		}
		states, ready := states(table)
		if len(states) > 0 && !slices.Equal(states, last) {
			fmt.Printf("  after %.1f s\n", time.Since(begin).Seconds())
			indent(table)
			last = states
		}
		if ready && d.current(wait) {
			return nil
		}
		select {
		case <-wait.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			why, _ := kubectl(ctx, "", "-n", d.namespace, "describe", "agents.a2a-operator.dev", "echo", "researcher")
			indent(why)
			return fmt.Errorf("the agents are not ready after %s", readyTimeout)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// current reports whether the rollouts of both agents have ended, with the sidecar image of this demo. Agents of an
// earlier demo have the earlier image until the operator changes their Deployments.
func (d *demo) current(ctx context.Context) bool {
	for _, name := range []string{"echo", "researcher"} {
		images, err := kubectl(ctx, "", "-n", d.namespace, "get", "deployment", name, "-o=jsonpath={.spec.template.spec.initContainers[*].image}")
		if err != nil || !strings.Contains(images, d.sidecar) {
			return false
		}
		rollout, err := kubectl(ctx, "", "-n", d.namespace, "rollout", "status", "--watch=false", "deployment", name)
		if err != nil || !strings.Contains(rollout, "successfully") {
			return false
		}
	}
	return true
}

// states returns name, Ready and reason of the two agents from kubectl's table, and whether both are ready.
func states(table string) (states []string, ready bool) {
	count := 0
	for line := range strings.Lines(table) {
		columns := strings.Fields(line)
		if len(columns) < 3 || columns[0] != "echo" && columns[0] != "researcher" {
			continue
		}
		states = append(states, strings.Join(columns[:3], " "))
		if columns[1] == "True" {
			count++
		}
	}
	return states, count == 2
}

func (d *demo) farewell() {
	fmt.Print("\n\033[1mCommands to try next\033[0m\n\n")
	settings := d.path
	if path := os.Getenv("KUBECONFIG"); path != "" {
		settings = " KUBECONFIG=" + path + settings
	}
	if settings != "" {
		fmt.Printf("    export%s\n\n", settings)
	}
	fmt.Printf("    kubectl a2a chat researcher%s\n", inNamespace(d.namespace))
	fmt.Printf("    kubectl a2a doctor echo%s\n", inNamespace(d.namespace))
	fmt.Printf("    kubectl%s edit agentskill quote    # both cards change, and no pod restarts\n", inNamespace(d.namespace))
	fmt.Printf("    %s    # removes everything\n", d.undo)
}

// show prints a command that a reader can type.
func show(command string) { fmt.Printf("  $ %s\n", command) }

func indent(text string) {
	for line := range strings.Lines(text) {
		fmt.Print("    ", strings.TrimSuffix(line, "\n"), "\n")
	}
}
