// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/cli/answer"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
)

// downloaded describes a part of an artifact and the file into which it was saved.
type downloaded struct {
	ArtifactID string `json:"artifactId"`
	// Path is the path of the file. It is "" for a part with a URL, because the command does not fetch URLs.
	Path string `json:"path,omitempty"`
	URL  string `json:"url,omitempty"`
}

func (a *app) taskDownloadCommand() *cobra.Command {
	f := &agentFlags{}
	var directory string
	cmd := &cobra.Command{
		Use:   "download [AGENT | --url URL] TASK",
		Short: "Save the artifacts of a task",
		Long: `Save the artifacts of a task: each part of an artifact in a file of its own. Text gets the name of its artifact with .txt, and data with
.json. The command overwrites no file. It lists the files that the agent sent as a URL, and does not download them.`,
		Example: `  kubectl a2a task download echo 5d1c... --save out`,
		Args:    cobra.ArbitraryArgs,
	}
	f.addTo(a, cmd)
	cmd.Flags().StringVar(&directory, "save", ".", "`DIRECTORY` for the files.")
	a.outputFlag(cmd, outputText, outputJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, id, err := f.takeTask(cmd, args)
		if err != nil {
			return err
		}
		agent, err := a.connect(cmd.Context(), f, name)
		if err != nil {
			return err
		}
		defer agent.close()
		e, err := agent.Task(cmd.Context(), id, new(0))
		if err != nil {
			return err
		}
		files, err := (&fileSaver{directory: directory}).writeArtifacts(e.Task.Artifacts)
		if err != nil {
			return err
		}
		if a.output == outputJSON {
			return a.printJSON(map[string][]downloaded{"files": files})
		}
		if len(files) == 0 {
			a.warnf("The task has no artifacts.")
		}
		w := terminal.NewWriter(a.Out)
		for _, each := range files {
			if each.Path == "" {
				w.Field("Not saved", "of artifact "+terminal.Clip(each.ArtifactID, 100)+", at "+each.URL)
				continue
			}
			w.Field("Saved", each.Path)
		}
		return broken(w.Err())
	}
	return cmd
}

// writeArtifacts writes each part of the artifacts into a file.
func (s *fileSaver) writeArtifacts(artifacts []a2a.Artifact) ([]downloaded, error) {
	all := []downloaded{}
	for i := range artifacts {
		artifact := &artifacts[i]
		for j := range artifact.Parts {
			part := artifact.Parts[j]
			out := downloaded{ArtifactID: artifact.ID}
			if part.Content == a2a.ContentURL {
				out.URL = part.URL
				all = append(all, out)
				continue
			}
			name := cmp.Or(artifact.Name, artifact.ID, "artifact-"+strconv.Itoa(i+1))
			switch part.Content {
			case a2a.ContentText:
				part.Raw, part.Filename = []byte(part.Text), cmp.Or(part.Filename, name+".txt")
			case a2a.ContentData:
				part.Raw, part.Filename = []byte(answer.FormatData(&part)+"\n"), cmp.Or(part.Filename, name+".json")
			default:
			}
			path, err := s.write(&part)
			if err != nil {
				return nil, err
			}
			out.Path = path
			all = append(all, out)
		}
	}
	return all, nil
}
