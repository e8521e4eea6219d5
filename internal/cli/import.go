// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion/kagent"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

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

// kagentImport contains the flags of `kubectl a2a import kagent`.
type kagentImport struct {
	importFlags
	file, model string
	all         bool
}

func (a *app) importKagentCommand() *cobra.Command {
	f := &kagentImport{importFlags: importFlags{app: a}}
	cmd := &cobra.Command{
		Use:   "kagent",
		Short: "Make Agents from objects of kagent 0.10 or 1.0, in the cluster or in files",
		Long: `Make Agents from objects of kagent 0.10 or 1.0, in the cluster or in files.

An Agent of type BYO becomes an Agent with the same container. A declarative one, and an AgentTemplate, become an Agent with
spec.model: the same model, prompt, MCP servers and sub-agents. Without -f, the command reads all kinds of kagent in the
namespace or, with -A, in the cluster. It writes the Agents to stdout, for kubectl apply -f -. It writes each field
without an equivalent in an Agent to stderr, with advice.`,
		Example: `  kubectl a2a import kagent -A > imported.yaml
  kubectl a2a import kagent -f agents.yaml --dry-run server`,
		Args: exactArgs(),
	}
	f.addTo(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "filename", "f", "", "`FILE` with the manifests, - for stdin; by default, the command reads the cluster.")
	flags.BoolVarP(&f.all, "all-namespaces", "A", false, "Import the objects of all namespaces.")
	flags.StringVar(&f.model, "model-url", "", "`URL` of a server with the chat completions API, for models of providers without it.")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context()) }
	return cmd
}

func (f *kagentImport) run(ctx context.Context) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.all && f.file != "" {
		return failure.New(failure.Usage, "--all-namespaces and --filename exclude each other")
	}
	namespace, err := f.cluster.Namespace()
	if err != nil {
		return err
	}
	text, err := f.read(ctx, namespace)
	if err != nil {
		return err
	}
	result, err := kagent.Convert(text, kagent.Options{Namespace: namespace, ModelURL: f.model})
	if err != nil {
		if result != nil {
			f.printNotes(result.Report)
		}
		return err
	}
	return f.finish(ctx, result)
}

// read returns the manifests of the file, or a list of the objects in the cluster with the ConfigMaps of their prompts.
func (f *kagentImport) read(ctx context.Context, namespace string) ([]byte, error) {
	if f.file != "" {
		text, err := readLimited(f.file, f.In, kagent.MaxInput)
		if err != nil {
			return nil, failure.Wrap(failure.Usage, err, "read manifests")
		}
		return text, nil
	}
	from := namespace
	if f.all {
		from = ""
	}
	objects, err := f.cluster.Kagent(ctx, from)
	if err != nil {
		return nil, err
	}
	for _, name := range kagent.ConfigMaps(objects, namespace) {
		text, err := f.cluster.ConfigMap(ctx, name.Namespace, name.Name)
		if err != nil {
			return nil, err
		}
		if text != nil {
			objects = append(objects, text)
		}
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		return nil, failure.Wrap(failure.Internal, err, "encode the objects")
	}
	return text, nil
}

// importFlags are the flags that all import commands have.
type importFlags struct {
	*app
	name, dryRun string
}

func (f *importFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dryRun, "dry-run", dryRunNone, "With server, the API server validates the Agents. The command never stores them.")
	f.outputFlag(cmd, outputYAML, outputJSON)
}

func (f *importFlags) check() error {
	if f.dryRun != dryRunNone && f.dryRun != dryRunServer {
		return failure.New(failure.Usage, "--dry-run %s is not one of %s, %s", f.dryRun, dryRunNone, dryRunServer)
	}
	return nil
}

// finish writes the Agents and the report. With --dry-run=server, it lets the API server validate each Agent first.
func (f *importFlags) finish(ctx context.Context, result *conversion.Result) error {
	if f.output == outputYAML {
		f.printNotes(result.Report)
	}
	objects := make([]map[string]any, 0, len(result.Agents))
	for _, agent := range result.Agents {
		object, err := manifest(agent)
		if err != nil {
			return err
		}
		if f.dryRun == dryRunServer {
			text, err := json.Marshal(object)
			if err != nil {
				return failure.Wrap(failure.Internal, err, "encode the result")
			}
			if err := f.cluster.DryRun(ctx, agent.Namespace, agent.Name, text); err != nil {
				return err
			}
		}
		objects = append(objects, object)
	}
	if f.output == outputJSON {
		report := result.Report
		if report == nil {
			report = []conversion.Note{}
		}
		return f.printJSON(map[string]any{"objects": objects, "report": report})
	}
	return f.printManifests(objects)
}

// printNotes writes the report to stderr, one line for each note.
func (a *app) printNotes(report []conversion.Note) {
	for _, note := range report {
		a.warnf("%s", note)
	}
}

// printManifests writes objects as YAML documents. It writes an object with terminal control characters as JSON, which
// escapes these characters and is also valid YAML.
func (a *app) printManifests(objects []map[string]any) error {
	var out bytes.Buffer
	for i, object := range objects {
		if i > 0 {
			out.WriteString("---\n")
		}
		text, err := yaml.Marshal(object)
		if err != nil {
			return failure.Wrap(failure.Internal, err, "encode the result")
		}
		if safetext.Clean(string(text)) != string(text) {
			if text, err = json.MarshalIndent(object, "", "  "); err != nil {
				return failure.Wrap(failure.Internal, err, "encode the result")
			}
			text = append(safetext.JSON(text), '\n')
		}
		out.Write(text)
	}
	return a.printText(out.Bytes())
}

// manifest returns an Agent as a map, without the fields that encoding/json writes although they are not set.
func manifest(agent *a2av1alpha1.Agent) (map[string]any, error) {
	text, err := json.Marshal(agent)
	if err != nil {
		return nil, failure.Wrap(failure.Internal, err, "encode the result")
	}
	object := map[string]any{}
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, failure.Wrap(failure.Internal, err, "encode the result")
	}
	withoutEmpty(object)
	return object, nil
}

// withoutEmpty removes null values from a decoded JSON value, and the fields resources and metadata if they are empty
// objects.
func withoutEmpty(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, child := range value {
			if fields, isObject := child.(map[string]any); child == nil || isObject && len(fields) == 0 && (name == "resources" || name == "metadata") {
				delete(value, name)
				continue
			}
			withoutEmpty(child)
		}
	case []any:
		for _, each := range value {
			withoutEmpty(each)
		}
	}
}

// Values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunServer = "server"
)
