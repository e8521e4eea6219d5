// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/answer"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
)

const (
	// maxNameTries bounds the attempts to find an unused name for a file.
	maxNameTries = 1000
	// maxFilename bounds the name of a saved file, in bytes.
	maxFilename = 200
)

// fileSaver writes the files that an agent sends into a directory. It overwrites no file, and writes no file outside of
// the directory, whatever name the agent sends.
type fileSaver struct{ directory string }

// save writes the content of a file part into a file. It does nothing if the saver is nil, or if the part has a URL in
// place of content.
func (s *fileSaver) save(p *a2a.Part, w *terminal.Writer) error {
	if s == nil || p.Content != a2a.ContentRaw {
		return nil
	}
	path, err := s.write(p)
	if err == nil {
		w.Field("Saved", path)
	}
	return err
}

// write writes the content of a file part, and returns the path of the file.
func (s *fileSaver) write(p *a2a.Part) (path string, err error) {
	if err := os.MkdirAll(s.directory, 0o750); err != nil {
		return "", failure.Wrap(failure.Internal, err, "make the directory for files")
	}
	root, err := os.OpenRoot(s.directory)
	if err != nil {
		return "", failure.Wrap(failure.Internal, err, "open the directory for files")
	}
	defer func() { _ = root.Close() }()
	name := safeFilename(p)
	extension := filepath.Ext(name)
	stem := strings.TrimSuffix(name, extension)
	for try := 1; try <= maxNameTries; try++ {
		if try > 1 {
			name = fmt.Sprintf("%s-%d%s", stem, try, extension)
		}
		file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			_, err = file.Write(p.Raw)
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			return "", failure.Wrap(failure.Internal, err, "save a file")
		}
		return filepath.Join(s.directory, name), nil
	}
	return "", failure.New(failure.Internal, "the directory %s has %d files with the name %s", s.directory, maxNameTries, name).
		WithHint("remove some of them, or name another directory with --save")
}

// safeFilename returns the filename of a part without directories and without characters that other programs interpret.
// If nothing is left, it returns "file" with an extension for the media type.
func safeFilename(p *a2a.Part) string {
	name := strings.ReplaceAll(p.Filename, `\`, "/")
	name = name[strings.LastIndexByte(name, '/')+1:]
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._-", r), r >= 0xa0 && !strings.ContainsRune(safetext.Line(string(r)), '\\'):
			return r
		default:
			return '_'
		}
	}, name)
	name = strings.ToValidUTF8(name[max(0, len(name)-maxFilename):], "")
	name = strings.TrimLeft(name, ".-")
	if name != "" {
		return name
	}
	extension := ""
	if all, err := mime.ExtensionsByType(p.MediaType); err == nil && len(all) > 0 {
		extension = all[0]
	}
	return "file" + extension
}

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
	}
	f.addTo(a, cmd)
	cmd.Flags().StringVar(&directory, "save", ".", "`DIRECTORY` for the files.")
	a.outputFlag(cmd, outputText, outputJSON)
	cmd.RunE = a.connecting(f, oneTask, func(ctx context.Context, agent *agent, args []string) error {
		e, err := agent.Get(ctx, &a2a.GetRequest{TaskID: args[0], HistoryLength: new(0)})
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
				w.Field("Not saved", "of artifact "+safetext.Clip(each.ArtifactID, 100)+", at "+each.URL)
				continue
			}
			w.Field("Saved", each.Path)
		}
		return broken(w.Err())
	})
	return cmd
}

// writeArtifacts writes each part of the artifacts into a file.
func (s *fileSaver) writeArtifacts(artifacts []a2a.Artifact) ([]downloaded, error) {
	all := []downloaded{}
	for i := range artifacts {
		artifact := &artifacts[i]
		for j := range artifact.Parts {
			part := artifact.Parts[j]
			if part.Content == a2a.ContentURL {
				all = append(all, downloaded{ArtifactID: artifact.ID, URL: part.URL})
				continue
			}
			name := cmp.Or(artifact.Name, artifact.ID, "artifact-"+strconv.Itoa(i+1))
			switch part.Content {
			case a2a.ContentText:
				part.Raw = []byte(part.Text)
				part.Filename = cmp.Or(part.Filename, name+".txt")
			case a2a.ContentData:
				part.Raw = []byte(answer.FormatData(&part) + "\n")
				part.Filename = cmp.Or(part.Filename, name+".json")
			default:
			}
			path, err := s.write(&part)
			if err != nil {
				return nil, err
			}
			all = append(all, downloaded{ArtifactID: artifact.ID, Path: path})
		}
	}
	return all, nil
}
