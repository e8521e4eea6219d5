// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/objects/agentstate"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
)

// tokenLifetime is the lifetime of tokens for agents: the shortest that the API server accepts.
const tokenLifetime = 10 * time.Minute

// agentFlags are the flags of commands that call an agent.
type agentFlags struct {
	reference  string
	transport  a2aclient.TransportOptions
	choice     a2aclient.Choice
	credential a2aclient.Credential
	// credentialOrigins are the values of --credential-origin.
	credentialOrigins     []string
	serviceAccount        string
	parameters            []string
	timeout, pollInterval time.Duration
}

// addTo adds the flags to a command.
func (f *agentFlags) addTo(a *app, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.reference, "agent-card", "a", "", "Call the agent at this host, `URL` or file of a card, without a cluster. --url is the same.")
	flags.StringVar(&f.serviceAccount, "service-account", "default", "`NAME` of the ServiceAccount whose token is sent to the agent, in the agent's namespace.")
	flags.StringVar(&f.credential.Bearer, "bearer", "", "`TOKEN` for the agent. Other users of the machine see flags: prefer A2ACLI_BEARER.")
	flags.StringVar(&f.credential.APIKey, "api-key", "", "API `KEY` for the agent. Other users of the machine see flags: prefer A2ACLI_API_KEY.")
	flags.StringArrayVar(&f.credentialOrigins, "credential-origin", nil, "Further `ORIGIN`, such as https://api.example.com, that may get the credential if the card names it; may be repeated. By default, only the origin of the agent's URL.")
	flags.StringArrayVar(&f.choice.Transports, "transport", nil, "Preferred `BINDING`, JSONRPC or HTTP+JSON; repeat it for the next best. By default the order of the card decides.")
	flags.StringVar(&f.choice.Version, "a2a-version", "", "`VERSION` of A2A to speak: 0.1, 0.2, 0.3 or 1.0. By default, the highest version on the card that is 1.0 or later.")
	flags.StringArrayVar(&f.parameters, "svc-param", nil, "Service parameter `KEY:VALUE`, sent as a header of each request; may be repeated.")
	flags.StringVar(&f.transport.CAFile, "ca-file", "", "PEM `FILE` of certificate authorities that may sign the agent's certificate, in addition to those of the system.")
	flags.StringVar(&f.transport.CertificateFile, "cert-file", "", "PEM `FILE` of the client certificate for the agent.")
	flags.StringVar(&f.transport.KeyFile, "key-file", "", "PEM `FILE` of the key of --cert-file.")
	flags.BoolVar(&f.transport.Insecure, "insecure", false, "Do not verify the certificate of the agent. For development only.")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if other, ok := aliases[name]; ok {
			name = other
		}
		return pflag.NormalizedName(name)
	})
	a.calling[cmd] = f
}

// addWaiting adds the flags of commands that wait for a task.
func (f *agentFlags) addWaiting(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "How long to wait for the task, such as 5m; 0 for no limit.")
	cmd.Flags().DurationVar(&f.pollInterval, "poll-interval", 2*time.Second, "Time between the first two reads of a task that cannot be streamed; it grows up to eight times.")
}

// aliases maps further names of flags to the names in the a2a-cli specification.
var aliases = map[string]string{
	"url": "agent-card", "task": "task-id", "no-wait": "async", "return-immediately": "async", "watch": "wait",
}

// agent is an agent that a command calls.
type agent struct {
	*client.Client
	card *a2aclient.Card
	http *http.Client
	// arguments name the agent in the command lines that the CLI suggests to the user, such as team/echo or --url URL.
	arguments string
	close     func()
}

// commandLine returns a command line with the agent that the user can copy into a shell.
func (a *agent) commandLine(name string, arguments ...string) string {
	words := []string{Program, name, a.arguments}
	for _, each := range arguments {
		words = append(words, quoted(each))
	}
	return strings.Join(words, " ")
}

// take returns the name of the agent and the remaining arguments. If --url names the agent, the name is "" and all
// arguments remain.
func (f *agentFlags) take(cmd *cobra.Command, args []string) (name string, rest []string, err error) {
	if f.reference != "" {
		return "", args, nil
	}
	if len(args) == 0 {
		return "", nil, failure.New(failure.Usage, "%s needs the name of an Agent, or --url", display(cmd)).
			WithHint("%s list lists the Agents", Program)
	}
	return args[0], args[1:], nil
}

// waiting returns a context that ends after --timeout. Without a timeout, it returns ctx.
func (f *agentFlags) waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, f.timeout, failure.New(failure.Timeout, "the task did not end within %s (--timeout)", f.timeout))
}

// connect reads the card of an agent, and returns a client for the agent.
func (a *app) connect(ctx context.Context, f *agentFlags, name string) (*agent, error) {
	allowed, err := f.allowedOrigins()
	if err != nil {
		return nil, err
	}
	out, err := a.find(ctx, f, name, true)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	for _, each := range f.parameters {
		key, value, ok := strings.Cut(each, ":")
		if !ok || key == "" {
			out.close()
			return nil, failure.New(failure.Usage, "--svc-param %q is not KEY:VALUE", each)
		}
		header.Add(key, strings.TrimSpace(value))
	}
	if f.choice.Origins == nil && (!f.credential.IsZero() || f.transport.CertificateFile != "" || len(header) > 0) {
		f.choice.Origins = []string{} // a card file has no origin
		if out.card.URL != nil {
			f.choice.Origins = append(f.choice.Origins, client.Origin(out.card.URL))
		}
	}
	if f.choice.Origins != nil {
		f.choice.Origins = append(f.choice.Origins, allowed...)
	}
	out.Client, err = a2aclient.New(out.card, a2aclient.Options{HTTP: out.http, Choice: f.choice, Credential: f.credential, Header: header})
	if err != nil {
		out.close()
		return nil, err
	}
	return out, nil
}

// allowedOrigins returns the origins of --credential-origin in the form of client.Origin.
func (f *agentFlags) allowedOrigins() ([]string, error) {
	var all []string
	for _, each := range f.credentialOrigins {
		u, err := url.Parse(strings.TrimSuffix(each, "/"))
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.String() != u.Scheme+"://"+u.Host {
			return nil, failure.New(failure.Usage, "--credential-origin %q is no origin, such as https://agent.example.com", each)
		}
		all = append(all, client.Origin(u))
	}
	return all, nil
}

// find reads the card of an agent. It sets the transport and the credential in f, so that later calls reach the agent.
// If credential is false, find requests no token, because the command only reads the card.
func (a *app) find(ctx context.Context, f *agentFlags, name string, credential bool) (*agent, error) {
	if f.transport.Insecure {
		a.warnf("Warning: --insecure: the certificate of the agent is not verified. Anyone on the network path can read the credential and change the response.")
	}
	if f.credential.Bearer != "" && f.credential.APIKey != "" {
		return nil, failure.New(failure.Usage, "--bearer and --api-key exclude each other")
	}
	if f.reference != "" {
		return a.readCard(ctx, f, f.reference, "--url "+quoted(f.reference))
	}
	object, err := a.object(ctx, name)
	if err != nil {
		return nil, err
	}
	if object.Spec.Remote != nil {
		return a.remoteAgent(ctx, f, object)
	}
	address := cmp.Or(object.Status.URL, "http://"+names.ServiceHost(object.Name, object.Namespace)+"/")
	origin, err := url.Parse(address)
	if err != nil {
		return nil, failure.Wrap(failure.Internal, err, "read status.url of Agent %s", object.Name)
	}
	f.choice.Origins = []string{client.Origin(origin)}
	forward := a.cluster.Forward(object.Namespace, names.Service(object.Name), a2av1alpha1.PortAgent)
	f.transport.DialContext = forward.DialContext
	if credential {
		if err := a.authenticate(ctx, f, object); err != nil {
			return nil, err
		}
	}
	out, err := a.readCard(ctx, f, address, a.arguments(object))
	if err != nil {
		forward.Close()
		return nil, withReason(err, object)
	}
	out.close = forward.Close
	return out, nil
}

// split returns the namespace and the name of an Agent that the command line names as NAME or NAMESPACE/NAME. Without
// NAMESPACE, the namespace is that of --namespace or of the kubeconfig context.
func (a *app) split(name string) (namespace, agent string, err error) {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "agent.a2a-operator.dev/"), "agent/")
	if namespace, agent, ok := strings.Cut(name, "/"); ok {
		return namespace, agent, nil
	}
	namespace, err = a.cluster.Namespace()
	return namespace, name, err
}

// object reads the Agent that the command line names as NAME or NAMESPACE/NAME.
func (a *app) object(ctx context.Context, name string) (*a2av1alpha1.Agent, error) {
	namespace, name, err := a.split(name)
	if err != nil {
		return nil, err
	}
	agent, err := a.cluster.Agent(ctx, namespace, name)
	if err != nil {
		return nil, a.withSimilarAgents(ctx, err, namespace, name)
	}
	return agent, nil
}

// listed returns the namespace whose Agents a command lists, "" for all.
func (a *app) listed(all bool) (string, error) {
	if all {
		return "", nil
	}
	return a.cluster.Namespace()
}

// arguments returns the arguments that name an Agent on the command line.
func (a *app) arguments(object *a2av1alpha1.Agent) string {
	if current, err := a.cluster.Namespace(); err == nil && current == object.Namespace && *a.flags.Namespace == "" {
		return object.Name
	}
	return object.Namespace + "/" + object.Name
}

func (a *app) readCard(ctx context.Context, f *agentFlags, reference, arguments string) (*agent, error) {
	client, err := a2aclient.NewHTTPClient(f.transport, a.debugf())
	if err != nil {
		return nil, err
	}
	card, err := a2aclient.ReadCard(ctx, client, reference)
	if err != nil {
		return nil, err
	}
	return &agent{card: card, http: client, arguments: arguments, close: func() {}}, nil
}

// remoteAgent reads the card of a remote agent. The CLI calls a remote agent directly, and not through the API server.
func (a *app) remoteAgent(ctx context.Context, f *agentFlags, object *a2av1alpha1.Agent) (*agent, error) {
	origin, err := url.Parse(object.Spec.Remote.URL)
	if err != nil {
		return nil, failure.Wrap(failure.Internal, err, "read spec.remote.url of Agent %s", object.Name)
	}
	f.choice.Origins = []string{client.Origin(origin)}
	reference := object.Spec.Remote.URL
	if path := object.Spec.Remote.CardPath; path != "" {
		reference = (&url.URL{Scheme: origin.Scheme, Host: origin.Host}).JoinPath(path).String()
	}
	return a.readCard(ctx, f, reference, a.arguments(object))
}

// authenticate requests a token for the Agent. It requests none if the flags have a credential or a client certificate,
// or if the Agent admits anonymous callers. If the Agent accepts no token of a ServiceAccount, authenticate returns a
// failure with the code CredentialsMissing.
func (a *app) authenticate(ctx context.Context, f *agentFlags, object *a2av1alpha1.Agent) error {
	if !f.credential.IsZero() || f.transport.CertificateFile != "" {
		return nil
	}
	accepted := make([]string, 0, len(object.Spec.Access.Authentication))
	for i := range object.Spec.Access.Authentication {
		accepted = append(accepted, string(object.Spec.Access.Authentication[i].Type))
	}
	switch {
	case slices.Contains(accepted, string(a2av1alpha1.AuthenticationAnonymous)):
		return nil
	case len(accepted) > 0 && !slices.Contains(accepted, string(a2av1alpha1.AuthenticationKubernetes)):
		return failure.New(failure.CredentialsMissing, "Agent %s accepts %s, and no token of a ServiceAccount", object.Name, strings.Join(accepted, ", ")).
			WithHint("set A2ACLI_BEARER to a token of the issuer, A2ACLI_API_KEY to a key, or --cert-file and --key-file")
	}
	token, err := a.cluster.Token(ctx, object.Namespace, f.serviceAccount, names.Audience(object.Name, object.Namespace), tokenLifetime)
	if err != nil {
		return err
	}
	f.credential.Bearer = token.Value
	return nil
}

// withReason adds a hint to the error of a failed connection to an Agent: the reason why the Agent is not ready.
func withReason(err error, object *a2av1alpha1.Agent) error {
	problem := failure.Of(err)
	state := agentstate.Of(&object.Status)
	if problem.Code != failure.Unreachable || problem.Hint != "" || state.IsReady() {
		return err
	}
	return problem.WithHint("Agent %s is not ready: %s", object.Name, strings.TrimSuffix(state.Reason+": "+state.Message, ": "))
}

// connecting returns the RunE of a command for an agent. It connects to the agent that the arguments name, and calls run
// with the arguments after the agent. check checks these arguments and the flags before the connection.
func (a *app) connecting(f *agentFlags, check cobra.PositionalArgs, run func(ctx context.Context, agent *agent, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		name, rest, err := f.take(cmd, args)
		if err == nil {
			err = check(cmd, rest)
		}
		if err != nil {
			return err
		}
		agent, err := a.connect(cmd.Context(), f, name)
		if err != nil {
			return err
		}
		defer agent.close()
		return run(cmd.Context(), agent, rest)
	}
}

// findOnly reads the card of the agent that the arguments name. Commands that do not call the agent use it. A further
// argument is a failure with the code Usage.
func (a *app) findOnly(cmd *cobra.Command, f *agentFlags, args []string) (*agent, error) {
	name, rest, err := f.take(cmd, args)
	if err == nil {
		err = onlyAgent(cmd, rest)
	}
	if err != nil {
		return nil, err
	}
	return a.find(cmd.Context(), f, name, false)
}

// onlyAgent checks that no argument follows the agent.
func onlyAgent(cmd *cobra.Command, rest []string) error {
	if len(rest) > 0 {
		return failure.New(failure.Usage, "%s has too many arguments", display(cmd))
	}
	return nil
}

// oneTask checks that the id of one task follows the agent.
func oneTask(cmd *cobra.Command, rest []string) error {
	if len(rest) != 1 {
		return failure.New(failure.Usage, "%s needs the id of one task", display(cmd)).WithHint("%s task list lists the tasks", Program)
	}
	return nil
}
