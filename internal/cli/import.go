// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion/kagent"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

func (a *app) importCommand() *cobra.Command {
	return group("import", "Make Agents from a Deployment, from a card, or from manifests of kagent",
		a.importDeploymentCommand(), a.importCardCommand(), a.importKagentCommand())
}

func (a *app) importCardCommand() *cobra.Command {
	f := importFlags{app: a}
	var transport a2aclient.TransportOptions
	cmd := &cobra.Command{
		Use:   "card URL",
		Short: "Make a remote Agent from the card of an agent outside of the cluster",
		Long: `Make a remote Agent from the card of an agent outside of the cluster.

The command writes the Agent to stdout, for kubectl apply -f -, and a list of points to check to stderr.`,
		Example: `  kubectl a2a import card https://agents.example.com/weather | kubectl apply -f -`,
		Args:    exactArgs("URL"),
	}
	f.addTo(cmd)
	cmd.Flags().StringVar(&f.name, "name", "", "`NAME` of the Agent; by default, derived from the name on the card.")
	cmd.Flags().StringVar(&transport.CAFile, "ca-file", "", "PEM `FILE` of certificate authorities that may sign the agent's certificate, in addition to those of the system.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		namespace, err := a.cluster.Namespace()
		if err != nil {
			return err
		}
		client, err := a2aclient.NewHTTPClient(transport, a.debugf())
		if err != nil {
			return err
		}
		card, err := a2aclient.ReadCard(cmd.Context(), client, args[0])
		if err != nil {
			return err
		}
		result, err := conversion.FromCard(card.Card, card.URL, namespace, f.name)
		if err != nil {
			return err
		}
		return f.finish(cmd.Context(), result)
	}
	return cmd
}

func (a *app) importKagentCommand() *cobra.Command {
	f := importFlags{app: a}
	var file, model string
	cmd := &cobra.Command{
		Use:   "kagent -f FILE",
		Short: "Make Agents from manifests of kagent (kagent.dev/v1alpha2)",
		Long: `Make Agents from manifests of kagent (kagent.dev/v1alpha2).

An Agent of type BYO becomes an Agent with the same container. A declarative one becomes an Agent whose sidecar calls the
model with the same prompt; include its ModelConfig in the manifests. The command writes the Agents to stdout, for
kubectl apply -f -. It writes each field without an equivalent in an Agent to stderr, with advice.`,
		Example: `  kubectl a2a import kagent -f agents.yaml > imported.yaml
  kubectl get agents.kagent.dev,modelconfigs.kagent.dev,remotemcpservers.kagent.dev -o yaml | kubectl a2a import kagent -f - --dry-run server`,
		Args: exactArgs(),
	}
	f.addTo(cmd)
	cmd.Flags().StringVarP(&file, "filename", "f", "", "`FILE` with the manifests, - for stdin.")
	cmd.Flags().StringVar(&model, "model-url", "", "`URL` of a server with the chat completions API, for models of providers without it.")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.check(); err != nil {
			return err
		}
		text, err := a.readManifests(file)
		if err != nil {
			return err
		}
		namespace, err := a.cluster.Namespace()
		if err != nil {
			return err
		}
		result, err := kagent.Convert(text, kagent.Options{Namespace: namespace, ModelURL: model})
		if err != nil {
			if result != nil {
				a.printNotes(result.Report)
			}
			return err
		}
		return f.finish(cmd.Context(), result)
	}
	return cmd
}

// readManifests reads a file or stdin. It reads at most one byte more than the import accepts, so that the import can
// detect too large an input.
func (a *app) readManifests(name string) ([]byte, error) {
	from := a.In
	switch name {
	case "":
		return nil, failure.New(failure.Usage, "no manifests").WithHint("name a file with -f, or - for stdin")
	case "-":
	default:
		file, err := os.Open(name) //nolint:gosec // the user names the file
		if err != nil {
			return nil, failure.Wrap(failure.Usage, err, "read manifests")
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, kagent.MaxInput+1))
	if err != nil {
		return nil, failure.Wrap(failure.Usage, err, "read manifests")
	}
	return text, nil
}
