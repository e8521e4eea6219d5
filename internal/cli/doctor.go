// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/doctor"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

// troubleshooting is the page on the symptoms of agents that do not work.
const troubleshooting = "https://github.com/a2a-operator/a2a-operator/blob/main/docs/troubleshooting/not-ready.md"

// errProblems is returned by a command that has already written the problems that it found.
const errProblems = statusError(1)

func (a *app) doctorCommand() *cobra.Command {
	var all bool
	calls := &doctor.CallOptions{}
	cmd := &cobra.Command{
		Use:   "doctor [AGENT] [-A]",
		Short: "Find out why agents do not work: the cause and the cure of each problem",
		Long: `Find out why agents do not work: the cause and the cure of each problem.

With an AGENT, the command checks its conditions, pods, Service, NetworkPolicies, card, token and entry in the registry, and
calls the agent through the API server. Without an AGENT, it checks the objects of all Agents of the namespace, and calls none.

The exit status is 1 if there is a problem, and 0 if there are warnings only. The output has no content of Secrets and tokens.`,
		Example: `  kubectl a2a doctor echo
  kubectl a2a doctor -A -o json
  kubectl a2a doctor echo --from team-b/caller-5d9c7-x2x`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeAgents,
	}
	flags := cmd.Flags()
	flags.BoolVarP(&all, "all-namespaces", "A", false, "Check the Agents of all namespaces.")
	flags.StringVar(&calls.From, "from", "", "Check whether NetworkPolicies let this `[NAMESPACE/]POD` call the agent.")
	flags.StringVar(&calls.ServiceAccount, "service-account", "default", "`NAME` of the ServiceAccount whose token is sent to the agent, in the agent's namespace.")
	flags.StringVar(&calls.Credential.Bearer, "bearer", "", "Check this `TOKEN`. Other users of the machine see flags: prefer A2ACLI_BEARER.")
	flags.StringVar(&calls.Credential.APIKey, "api-key", "", "Call with this API `KEY`. Other users of the machine see flags: prefer A2ACLI_API_KEY.")
	flags.StringVar(&calls.Transport.CAFile, "ca-file", "", "PEM `FILE` of additional certificate authorities that may sign the agent's certificate.")
	flags.StringVar(&calls.Transport.CertificateFile, "cert-file", "", "PEM `FILE` of the client certificate for the agent.")
	flags.StringVar(&calls.Transport.KeyFile, "key-file", "", "PEM `FILE` of the key of --cert-file.")
	a.outputFlag(cmd, outputText, outputJSON, outputYAML)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && all {
			return failure.New(failure.Usage, "AGENT and -A exclude each other").WithHint("name the Agent as NAMESPACE/NAME")
		}
		if len(args) == 0 && calls.From != "" {
			return failure.New(failure.Usage, "--from needs an AGENT").WithHint("see %s --help", display(cmd))
		}
		report, err := a.diagnose(cmd.Context(), args, all, calls)
		if err != nil {
			return err
		}
		if err := a.printReport(report, len(args) > 0); err != nil {
			return err
		}
		if report.Level == doctor.LevelProblem {
			return errProblems
		}
		return nil
	}
	return cmd
}

// diagnose checks the Agent that args names. Without args, it checks the Agents of the namespace or, if all is true, of
// the cluster.
func (a *app) diagnose(ctx context.Context, args []string, all bool, calls *doctor.CallOptions) (*doctor.Report, error) {
	namespace, agents, err := a.checkedAgents(ctx, args, all)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		calls = nil
	}
	shared, facts, err := doctor.Gather(ctx, a.cluster, namespace, agents, calls)
	if err != nil {
		return nil, err
	}
	return doctor.NewReport(shared, facts), nil
}

// checkedAgents returns the Agents to check, and their namespace, "" for all namespaces.
func (a *app) checkedAgents(ctx context.Context, args []string, all bool) (string, []*a2av1alpha1.Agent, error) {
	if len(args) > 0 {
		agent, err := a.object(ctx, args[0])
		if err != nil {
			return "", nil, err
		}
		return agent.Namespace, []*a2av1alpha1.Agent{agent}, nil
	}
	namespace, err := a.listed(all)
	if err != nil {
		return "", nil, err
	}
	list, err := a.cluster.Agents(ctx, namespace, "")
	if err != nil {
		return "", nil, err
	}
	agents := make([]*a2av1alpha1.Agent, 0, len(list.Items))
	for i := range list.Items {
		agents = append(agents, &list.Items[i])
	}
	return namespace, agents, nil
}

// printReport writes a report. If detailed is true, the report includes checks that found no problem.
func (a *app) printReport(r *doctor.Report, detailed bool) error {
	if a.output != outputText {
		return a.printDocument(r)
	}
	w := &reportWriter{to: a.Out, detailed: detailed}
	for i := range r.Agents {
		agent := &r.Agents[i]
		w.section(agent.Level, "Agent "+agent.Namespace+"/"+agent.Name, agent.Findings)
	}
	if len(r.Agents) == 0 {
		a.warnf("There are no Agents to check.")
	}
	w.section(doctor.Worst(r.Shared), "Cluster", r.Shared)
	if r.Level == doctor.LevelProblem {
		w.linef("More: %s", troubleshooting)
	}
	return broken(w.err)
}

// reportWriter writes findings as text. After the first error of a write, it writes nothing.
type reportWriter struct {
	to       io.Writer
	detailed bool
	err      error
}

func (w *reportWriter) linef(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.to, "%s\n", safetext.Line(fmt.Sprintf(format, args...)))
	}
}

// section writes the findings about an agent or about the cluster.
func (w *reportWriter) section(level doctor.Level, title string, findings []doctor.Finding) {
	w.linef("%-7s  %s", level, title)
	for i := range findings {
		f := &findings[i]
		if f.Level == doctor.LevelOK {
			if w.detailed {
				w.linef("  %-7s  %s: %s", f.Level, f.Check, strings.Join(f.Seen, "; "))
			}
			continue
		}
		w.linef("  %-7s  %s", f.Level, f.Check)
		for _, text := range f.Seen {
			w.linef("    seen:   %s", text)
		}
		w.linef("    cause:  %s", f.Cause)
		w.linef("    cure:   %s", f.Cure)
		if f.Command != "" {
			w.linef("    run:    %s", f.Command)
		}
	}
}
