// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

type sendOptions struct {
	following
	partFlags
	formFlags

	async, wait         bool
	taskID, contextID   string
	metadata, skill     string
	acceptedOutputModes []string
}

func (a *app) sendCommand() *cobra.Command {
	o := &sendOptions{following: following{app: a}}
	cmd := &cobra.Command{
		Use:   "send [AGENT | --url URL] [TEXT | -]",
		Short: "Send a message to an agent, and show the answer while the agent writes it",
		Long: `Send a message to an agent, and show the answer while the agent writes it.

The command waits until the task has ended or needs input. It resumes a broken stream. Ctrl-C ends the wait, and offers to
cancel the task. The exit status is 0 if the task has ended or needs input, even if it failed. The field State has the outcome.
With --exit-status, the exit status tells the outcome, too.`,
		Example: `  kubectl a2a send echo "Hello from my terminal"
  kubectl a2a send echo --file report.pdf --text "Summarize this" --save out
  kubectl a2a send echo --task-id 5d1c... "Yes, go on"
  kubectl a2a send deployer --task-id 5d1c... --approve call-1
  kubectl a2a send --url https://agent.example.com "Hello" -o json`,
	}
	o.following.addTo(cmd)
	o.addCancel(cmd)
	o.addExitStatus(cmd)
	o.partFlags.addTo(cmd.Flags())
	o.formFlags.addTo(cmd)
	cmd.Flags().BoolVar(&o.async, "async", false, "Do not wait for the task: write its ids, with which kubectl a2a task watch follows it.")
	cmd.Flags().BoolVar(&o.wait, "wait", true, "Wait until the task has ended or needs input.")
	cmd.Flags().StringVar(&o.taskID, "task-id", "", "`ID` of a task to continue, such as one that needs input. --task is the same.")
	cmd.Flags().StringVar(&o.contextID, "context-id", "", "`ID` of the context of the message, which continues a conversation in a new task.")
	cmd.Flags().StringVar(&o.metadata, "metadata", "", "JSON `OBJECT` with the metadata of the message.")
	cmd.Flags().StringVar(&o.skill, "skill", "", "`ID` of the skill to use, as the card lists it.")
	cmd.Flags().StringArrayVar(&o.acceptedOutputModes, "accept", nil, "Media `TYPE` of the answer that you prefer; may be repeated.")
	cmd.MarkFlagsMutuallyExclusive("async", "stream")
	cmd.MarkFlagsMutuallyExclusive("async", "exit-status")
	var request *a2a.SendRequest
	read := func(_ *cobra.Command, texts []string) (err error) {
		request, err = o.request(texts)
		return err
	}
	cmd.RunE = a.connecting(&o.agentFlags, read, func(ctx context.Context, agent *agent, _ []string) error {
		o.warnOfSkill(agent.card, o.skill)
		if o.async || !o.wait {
			return o.sendAsync(ctx, agent, request)
		}
		return o.followSend(ctx, agent, request)
	})
	return cmd
}

// followSend sends a message and shows its task.
func (o *sendOptions) followSend(ctx context.Context, agent *agent, request *a2a.SendRequest) error {
	o.continues = func(task *a2a.Task) error { return o.fill(agent, task, request.Message) }
	return o.follow(ctx, agent, func(ctx context.Context, f *client.Following) error {
		f.NeedsEarlier = o.isSet()
		return f.Send(ctx, request)
	})
}

// request returns a request with the texts of the arguments and the values of the flags.
func (o *sendOptions) request(texts []string) (*a2a.SendRequest, error) {
	if err := o.check(o.taskID, len(texts)+len(o.parts) > 0); err != nil {
		return nil, err
	}
	m := &a2a.Message{ID: uuid.NewString(), Role: a2a.RoleUser}
	if !o.isSet() {
		var err error
		if m.Parts, err = o.read(texts, o.In); err != nil {
			return nil, err
		}
	}
	m.TaskID = o.taskID
	m.ContextID = o.contextID
	metadata := map[string]json.RawMessage{}
	if o.metadata != "" {
		if err := json.Unmarshal([]byte(o.metadata), &metadata); err != nil || metadata == nil {
			return nil, failure.New(failure.Usage, "--metadata must be a JSON object, such as {\"key\": \"value\"}")
		}
	}
	if o.skill != "" {
		metadata[a2a.SkillName], _ = json.Marshal(o.skill) // a string has a JSON form
	}
	if len(metadata) > 0 {
		m.Metadata, _ = json.Marshal(metadata) // it was valid JSON
	}
	return &a2a.SendRequest{Message: m, AcceptedOutputModes: o.acceptedOutputModes}, nil
}

// sendAsync sends a message, and writes the first answer without following the task.
func (o *sendOptions) sendAsync(ctx context.Context, agent *agent, request *a2a.SendRequest) error {
	request.ReturnImmediately = true
	ctx, cancel := o.waiting(ctx)
	defer cancel()
	r := o.renderer()
	if request.Message.TaskID != "" {
		earlier, err := agent.Get(ctx, &a2a.GetRequest{TaskID: request.Message.TaskID, HistoryLength: new(0)})
		switch {
		case err != nil && o.isSet():
			return err
		case err == nil:
			if err := o.fill(agent, earlier.Task, request.Message); err != nil {
				return err
			}
			if err := o.skipEarlier(r, earlier); err != nil {
				return err
			}
		}
	}
	e, err := agent.Send(ctx, request)
	if err != nil {
		return err
	}
	if err := o.printAnswer(r, e); err != nil || e.Task == nil {
		return err
	}
	if !e.Task.Status.State.Terminal() {
		o.warnf("The task continues. To follow it: %s", agent.commandLine("task watch", e.Task.ID))
	}
	return nil
}

// maxInput bounds a file or a text of a message, in bytes. Sidecars accept 8 MiB for the whole message.
const maxInput = 64 << 20

// partFlags are the flags for the parts of a message, in the order of the command line.
type partFlags struct {
	parts []partFlag
}

// partFlag is one part: the flag, its value and its media type. The method read detects an empty
// media type.
type partFlag struct {
	flag, value, mediaType string
}

// addTo adds the flags.
func (p *partFlags) addTo(flags *pflag.FlagSet) {
	flags.Var(&partValue{p, "text"}, "text", "`TEXT` of a part. May be repeated, as --file and --data: the message has the parts in this order.")
	flags.Var(&partValue{p, "file"}, "file", "File of a part, as `PATH` or URL. The agent fetches a URL itself.")
	flags.Var(&partValue{p, "data"}, "data", "`PATH` of a JSON file with the structured data of a part; - reads stdin.")
	flags.Var(&partValue{p, "media-type"}, "media-type", "Media `TYPE` of the part before this flag, such as application/pdf.")
}

// partValue is the pflag.Value of one of the flags.
type partValue struct {
	all  *partFlags
	flag string
}

// String implements pflag.Value. It returns "", so that the help shows no default.
func (*partValue) String() string { return "" }

// Type implements pflag.Value.
func (*partValue) Type() string { return "string" }

// Set implements pflag.Value. It adds a part or, for --media-type, sets the media type of the last part.
func (v *partValue) Set(value string) error {
	if v.flag != "media-type" {
		v.all.parts = append(v.all.parts, partFlag{flag: v.flag, value: value})
		return nil
	}
	last := len(v.all.parts) - 1
	if last < 0 || v.all.parts[last].mediaType != "" {
		return failure.New(failure.Usage, "it follows no --text, --file or --data")
	}
	if _, _, err := mime.ParseMediaType(value); err != nil || !strings.Contains(value, "/") {
		return failure.New(failure.Usage, "%q is not a media type", value)
	}
	v.all.parts[last].mediaType = value
	return nil
}

// read returns the texts of the arguments as one part, and the parts of the flags. If the text of a part is "-", the part is
// the text in in.
func (p *partFlags) read(texts []string, in io.Reader) ([]a2a.Part, error) {
	all := p.parts
	if len(texts) > 0 {
		all = append([]partFlag{{flag: "text", value: strings.Join(texts, " ")}}, all...)
	}
	if len(all) == 0 {
		return nil, failure.New(failure.Usage, "the message has no content").
			WithHint("name a text, --file or --data; the text - is read from stdin")
	}
	parts := make([]a2a.Part, 0, len(all))
	for _, each := range all {
		part, err := each.read(in)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// read returns the part that the flag describes.
func (p *partFlag) read(in io.Reader) (a2a.Part, error) {
	switch p.flag {
	case "data":
		text, err := readInput(p.value, in)
		if err != nil {
			return a2a.Part{}, err
		}
		if !json.Valid(text) {
			return a2a.Part{}, failure.New(failure.Usage, "the content of --data %s is not JSON", p.value)
		}
		return a2a.Part{Content: a2a.ContentData, Data: text, MediaType: p.mediaType}, nil
	case "file":
		return p.readFile()
	default:
		text := p.value
		if text == "-" {
			read, err := readInput("-", in)
			if err != nil {
				return a2a.Part{}, err
			}
			text = strings.ToValidUTF8(strings.TrimSuffix(string(read), "\n"), "\ufffd")
		}
		return a2a.Part{Content: a2a.ContentText, Text: text, MediaType: p.mediaType}, nil
	}
}

func (p *partFlag) readFile() (a2a.Part, error) {
	if strings.HasPrefix(p.value, "https://") || strings.HasPrefix(p.value, "http://") {
		return a2a.Part{Content: a2a.ContentURL, URL: p.value, MediaType: p.mediaType}, nil
	}
	content, err := readInput(p.value, nil)
	if err != nil {
		return a2a.Part{}, err
	}
	mediaType := p.mediaType
	if mediaType == "" {
		mediaType, _, _ = mime.ParseMediaType(mime.TypeByExtension(filepath.Ext(p.value)))
	}
	if mediaType == "" {
		mediaType, _, _ = mime.ParseMediaType(http.DetectContentType(content))
	}
	return a2a.Part{Content: a2a.ContentRaw, Raw: content, Filename: filepath.Base(p.value), MediaType: mediaType}, nil
}

// readInput reads the content of a part from a file, or from in if path is "-".
func readInput(path string, in io.Reader) ([]byte, error) {
	content, err := readLimited(path, in, maxInput)
	if err != nil {
		return nil, failure.Wrap(failure.Usage, err, "read the message")
	}
	if len(content) > maxInput {
		return nil, failure.New(failure.Usage, "%s has more than %d bytes", path, maxInput).
			WithHint("publish the file, and name its URL with --file")
	}
	return content, nil
}

// readLimited reads the file at path. If path is "-" and in is not nil, it reads in instead. It reads at most one byte
// more than limit, so that the caller can detect an input that is too large.
func readLimited(path string, in io.Reader, limit int64) ([]byte, error) {
	if path != "-" || in == nil {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	return io.ReadAll(io.LimitReader(in, limit+1))
}
