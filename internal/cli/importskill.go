// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/skill"
)

func (a *app) importSkillCommand() *cobra.Command {
	f := importFlags{app: a}
	cmd := &cobra.Command{
		Use:   "skill DIR",
		Short: "Make an AgentSkill from a folder in the Agent Skills format",
		Long: `Make an AgentSkill from a folder in the Agent Skills format.

The folder has SKILL.md, with name and description in its front matter, and the files to which the instructions refer. The
command writes the AgentSkill, and a ConfigMap with the files, to stdout, for kubectl apply -f -. It writes each part of
the folder without an equivalent to stderr, with advice.`,
		Example: `  kubectl a2a import skill skills/triage | kubectl apply -f -
  kubectl a2a import skill skills/triage --name incident-triage --dry-run server`,
		Args: exactArgs("DIR"),
	}
	f.addTo(cmd)
	cmd.Flags().StringVar(&f.name, "name", "", "`NAME` of the AgentSkill; by default, the name of the skill.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		namespace, err := a.cluster.Namespace()
		if err != nil {
			return err
		}
		imported, err := skill.Import(args[0], namespace, f.name)
		if err != nil {
			return err
		}
		return f.finishSkill(cmd.Context(), imported)
	}
	return cmd
}

// finishSkill writes an AgentSkill with its ConfigMap, and the report, like finish.
func (f *importFlags) finishSkill(ctx context.Context, imported *skill.Imported) error {
	if f.output == outputYAML {
		f.printNotes(imported.Report)
	}
	object, text, err := encoded(imported.Skill)
	if err != nil {
		return err
	}
	objects := []map[string]any{object}
	var files []byte
	name := ""
	if imported.Files != nil {
		name = imported.Files.Name
		if object, files, err = encoded(imported.Files); err != nil {
			return err
		}
		objects = append(objects, object)
	}
	if f.dryRun == dryRunServer {
		if err := f.cluster.DryRunSkill(ctx, imported.Skill.Namespace, imported.Skill.Name, text, name, files); err != nil {
			return err
		}
	}
	if f.output == outputJSON {
		report := imported.Report
		if report == nil {
			report = []conversion.Note{}
		}
		return f.printJSON(map[string]any{"objects": objects, "report": report})
	}
	return f.printManifests(objects)
}

// encoded returns an object as a map without empty fields, and as JSON.
func encoded(value any) (object map[string]any, text []byte, err error) {
	if text, err = json.Marshal(value); err == nil {
		err = json.Unmarshal(text, &object)
	}
	if err != nil {
		return nil, nil, failure.Wrap(failure.Internal, err, "encode the result")
	}
	withoutEmpty(object)
	delete(object, "status")
	if text, err = json.Marshal(object); err != nil {
		return nil, nil, failure.Wrap(failure.Internal, err, "encode the result")
	}
	return object, text, nil
}

func (a *app) exportCommand() *cobra.Command {
	return group("export", "Make a folder from an AgentSkill", a.exportSkillCommand())
}

func (a *app) exportSkillCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skill NAME DIR",
		Short: "Make a folder in the Agent Skills format from an AgentSkill",
		Long: `Make a folder in the Agent Skills format from an AgentSkill.

The command makes the folder DIR, with SKILL.md and the files of the ConfigMaps that the AgentSkill names. The format requires
that the folder has the name of the skill, which is the id of the AgentSkill.`,
		Example: `  kubectl a2a export skill triage skills/triage`,
		Args:    exactArgs("NAME", "DIR"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		namespace, err := a.cluster.Namespace()
		if err != nil {
			return err
		}
		from, err := a.cluster.AgentSkill(cmd.Context(), namespace, args[0])
		if err != nil {
			return err
		}
		folder, files, err := skill.Export(from, func(name string) (*corev1.ConfigMap, error) {
			text, err := a.cluster.ConfigMap(cmd.Context(), namespace, name)
			if err != nil {
				return nil, err
			}
			if text == nil {
				return nil, failure.New(failure.Usage, "ConfigMap %s, which spec.resources names, does not exist", name).WithHint("create it, or remove the resource")
			}
			configMap := &corev1.ConfigMap{}
			if err := json.Unmarshal(text, configMap); err != nil {
				return nil, failure.Wrap(failure.Internal, err, "decode ConfigMap %s", name)
			}
			return configMap, nil
		})
		if err != nil {
			return err
		}
		if err := skill.Write(args[1], files); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Out, "wrote %d files of skill %s\n", len(files), folder)
		return broken(err)
	}
	return cmd
}
