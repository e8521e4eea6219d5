// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// maxLogLine bounds a line of a log, in bytes. The rest of a longer line is omitted.
const maxLogLine = 64 << 10

// Special values of --container.
const (
	containersAll     = "all"
	containersAgent   = "agent"
	containersSidecar = "sidecar"
)

type logOptions struct {
	*app
	container, task  string
	follow, previous bool
	since            time.Duration
	tail             int64
	// mu serializes the writes of lines, and guards printed and missing.
	mu sync.Mutex
	// printed is true if at least one container had a log. missing is the reason why a container had no log, nil if every
	// container had a log.
	printed bool
	missing error
}

func (a *app) logsCommand() *cobra.Command {
	o := &logOptions{app: a}
	cmd := &cobra.Command{
		Use:   "logs AGENT",
		Short: "Print the logs of an agent and of its sidecar, of all pods",
		Example: `  kubectl a2a logs echo -f
  kubectl a2a logs echo --task 5d1c... -c sidecar`,
		Args: exactArgs("AGENT"), ValidArgsFunction: a.completeAgents,
	}
	cmd.Flags().StringVarP(&o.container, "container", "c", containersAll, "Print the log of agent (the containers of the template), sidecar, all, or the container of this `NAME`.")
	cmd.Flags().StringVar(&o.task, "task", "", "Print the lines with the `ID` of this task only. The sidecar logs the id; the agent receives it in the header A2A-Task-Id.")
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "Keep printing new lines.")
	cmd.Flags().BoolVarP(&o.previous, "previous", "p", false, "Print the logs of the containers before their last restart.")
	cmd.Flags().DurationVar(&o.since, "since", 0, "Print only lines that are newer than this duration, such as 10m.")
	cmd.Flags().Int64Var(&o.tail, "tail", -1, "Print the last `N` lines of each container; -1 for all.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		agent, err := a.object(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return o.print(cmd.Context(), agent.Namespace, agent.Name)
	}
	return cmd
}

// print writes the logs of the pods of an Agent.
func (o *logOptions) print(ctx context.Context, namespace, agent string) error {
	pods, err := o.cluster.Pods(ctx, namespace, a2av1alpha1.LabelAgent+"="+agent)
	if err != nil {
		return err
	}
	if len(pods.Items) == 0 {
		return failure.New(failure.Unreachable, "Agent %s has no pod", agent).WithHint("find the cause with %s events %s", Program, agent)
	}
	all, ctx := errgroup.WithContext(ctx)
	count := 0
	for i := range pods.Items {
		pod := &pods.Items[i]
		for _, container := range o.containers(&pod.Spec) {
			count++
			all.Go(func() error { return o.printContainer(ctx, pod, container) })
		}
	}
	if count == 0 {
		return failure.New(failure.Usage, "the pods of Agent %s have no container %s", agent, o.container)
	}
	if err := all.Wait(); err != nil {
		return err
	}
	if o.missing != nil && (!o.previous || !o.printed) { // with --previous, one log is enough: most containers never restarted
		return o.missing
	}
	if o.follow {
		o.warnf("All containers have ended.")
	}
	return nil
}

// containers returns the names of the containers to print.
func (o *logOptions) containers(spec *corev1.PodSpec) []string {
	var all []string
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		group := containersAgent
		if c.Name == a2av1alpha1.ContainerSidecar {
			group = containersSidecar
		}
		if slices.Contains([]string{containersAll, group, c.Name}, o.container) {
			all = append(all, c.Name)
		}
	}
	return all
}

// printContainer writes the log of a container. If the container has no log, because it has not started for example,
// printContainer calls miss.
func (o *logOptions) printContainer(ctx context.Context, pod *corev1.Pod, container string) error {
	options := &corev1.PodLogOptions{Container: container, Follow: o.follow, Previous: o.previous}
	if o.since > 0 {
		options.SinceSeconds = new(int64(max(o.since, time.Second) / time.Second))
	}
	if o.tail >= 0 {
		options.TailLines = &o.tail
	}
	log, err := o.cluster.Log(ctx, pod.Namespace, pod.Name, options)
	if err != nil {
		if problem := failure.Of(err); problem.Code == failure.Internal && ctx.Err() == nil {
			o.miss(failure.New(failure.Internal, "container %s of pod %s has no log: %s", container, pod.Name, problem.Message).
				WithHint("find the cause with %s events %s", Program, pod.Labels[a2av1alpha1.LabelAgent]))
			return nil
		}
		return err
	}
	defer func() { _ = log.Close() }()
	o.mu.Lock()
	o.printed = true
	o.mu.Unlock()
	lines := bufio.NewReaderSize(log, maxLogLine)
	for {
		line, long, err := lines.ReadLine()
		for more := long; more && err == nil; {
			_, more, err = lines.ReadLine()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return failure.Wrap(failure.Unreachable, err, "read the log of pod %s", pod.Name)
		}
		if err := o.line(pod.Name, container, string(line)); err != nil {
			return err
		}
	}
}

// miss records that a container has no log, so that the command prints the other logs before it reports the error.
func (o *logOptions) miss(err *failure.Error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.missing != nil {
		o.warnf("%s", err.Message)
		return
	}
	o.missing = err
}

// line writes a line of a log. With --task, it skips lines that do not contain the id of the task.
func (o *logOptions) line(pod, container, line string) error {
	if !strings.Contains(line, o.task) {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.printText(fmt.Appendf(nil, "[%s/%s] %s\n", pod, container, safetext.Line(line)))
}
