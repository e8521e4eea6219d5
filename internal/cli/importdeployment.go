// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

const (
	// probeTimeout bounds the requests that find the protocol of a container.
	probeTimeout = 20 * time.Second
	// maxModels bounds a list of models, in bytes.
	maxModels = 1 << 20
)

// Values of --probe.
const (
	probeAuto  = "auto"
	probeNever = "never"
)

// protocols are the values of --protocol.
var protocols = []string{
	string(a2av1alpha1.BackendProtocolEvents), string(a2av1alpha1.BackendProtocolA2A), string(conversion.ProtocolChatCompletions),
}

// deploymentImport contains the flags of `kubectl a2a import deployment`.
type deploymentImport struct {
	importFlags
	container, protocol, probing, description string
	port                                      int32
}

func (a *app) importDeploymentCommand() *cobra.Command {
	o := &deploymentImport{importFlags: importFlags{app: a}}
	cmd := &cobra.Command{
		Use:   "deployment NAME",
		Short: "Make an Agent from a Deployment and its Service",
		Long: `Make an Agent from a Deployment and its Service.

The command calls the container through the API server to find its protocol: it requests the Agent Card, and then the list
of models. With --protocol, it makes no call. It writes the Agent to stdout, for kubectl apply -f -. It writes each field
without an equivalent in an Agent to stderr, with advice.`,
		Example: `  kubectl a2a import deployment echo | kubectl apply -f -
  kubectl a2a import deployment echo --protocol A2A --dry-run server`,
		Args: exactArgs("NAME"),
	}
	o.addTo(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.name, "name", "", "`NAME` of the Agent; by default, the name of the Deployment with the suffix -agent.")
	flags.StringVar(&o.description, "description", "", "`TEXT` that describes the agent; by default, the description on its card or of the Deployment.")
	flags.StringVar(&o.container, "container", "", "`NAME` of the container that is the agent; by default, the one to which the Service leads.")
	flags.Int32Var(&o.port, "port", 0, "Port at which the container listens; by default, the one to which the Service leads.")
	flags.StringVar(&o.protocol, "protocol", "", "Protocol of the container: "+strings.Join(protocols, ", ")+".")
	flags.StringVar(&o.probing, "probe", probeAuto, "auto calls the container to determine its protocol, unless --protocol is set; never makes no call.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.check(); err != nil {
			return err
		}
		return o.run(cmd.Context(), args[0])
	}
	return cmd
}

func (o *deploymentImport) check() error {
	switch {
	case o.protocol != "" && !slices.Contains(protocols, o.protocol):
		return failure.New(failure.Usage, "--protocol %s is not one of %s", o.protocol, strings.Join(protocols, ", "))
	case o.probing != probeAuto && o.probing != probeNever:
		return failure.New(failure.Usage, "--probe %s is not one of %s, %s", o.probing, probeAuto, probeNever)
	case o.probing == probeNever && o.protocol == "":
		return failure.New(failure.Usage, "--probe never needs --protocol")
	case o.port < 0 || o.port > 65535:
		return failure.New(failure.Usage, "--port %d is not a port", o.port)
	}
	return o.importFlags.check()
}

func (o *deploymentImport) run(ctx context.Context, name string) error {
	namespace, name, err := o.split(strings.TrimPrefix(strings.TrimPrefix(name, "deployment.apps/"), "deployment/"))
	if err != nil {
		return err
	}
	text, err := o.cluster.Deployment(ctx, namespace, name)
	if err != nil {
		return err
	}
	deployment, unknown, err := conversion.Decode[appsv1.Deployment](text)
	if err != nil {
		return err
	}
	services, err := o.cluster.Services(ctx, namespace, "")
	if err != nil {
		return err
	}
	in := &conversion.Deployment{
		Object: deployment, Unknown: unknown, Name: o.name, Description: o.description, Protocol: a2av1alpha1.BackendProtocol(o.protocol),
	}
	if in.Target, err = conversion.FindTarget(deployment, services, o.container, o.port); err != nil {
		return err
	}
	if o.protocol == "" {
		if err := o.probe(ctx, in); err != nil {
			problem := failure.Of(err)
			hint := "name the protocol of the container with --protocol: " + strings.Join(protocols, ", ")
			if problem.Hint != "" { // the hint is, for example, the RBAC rule that grants a missing right
				hint = problem.Hint + ", or " + hint
			}
			return problem.WithHint("%s", hint)
		}
	}
	return o.finish(ctx, conversion.FromDeployment(in))
}

// probe calls the container through its Service to find its protocol. It sends the same Host header as the sidecar of an
// Agent, because some servers accept only loopback hosts to prevent DNS rebinding.
func (o *deploymentImport) probe(ctx context.Context, in *conversion.Deployment) error {
	service := in.Target.Service
	if service == nil {
		return failure.New(failure.Usage, "no Service leads to port %d of Deployment %s, so the import cannot call it", in.Target.Port, in.Object.Name)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, failure.New(failure.Timeout, "the container did not answer within %s", probeTimeout))
	defer cancel()
	forward := o.cluster.Forward(in.Object.Namespace, service.Name, service.Spec.Ports[in.Target.ServicePort].Name)
	defer forward.Close()
	client, err := a2aclient.NewHTTPClient(a2aclient.TransportOptions{DialContext: forward.DialContext}, o.debugf())
	if err != nil {
		return err
	}
	origin := fmt.Sprintf("http://127.0.0.1:%d", in.Target.Port)
	card, err := a2aclient.ReadCard(ctx, client, origin)
	switch {
	case err == nil:
		in.Protocol = a2av1alpha1.BackendProtocolA2A
		in.Card = card.Card
		return nil
	case failure.Of(err).Code != failure.CardNotFound && failure.Of(err).Code != failure.CardInvalid:
		return err
	}
	models, err := listsModels(ctx, client, origin+"/v1/models")
	if err != nil {
		return err
	}
	in.Protocol = a2av1alpha1.BackendProtocolEvents
	in.Guessed = true
	if models {
		in.Protocol = conversion.ProtocolChatCompletions
		in.Guessed = false
	}
	return nil
}

// listsModels reports whether a server answers with a list of models, like servers with the chat completions API.
func listsModels(ctx context.Context, client *http.Client, address string) (bool, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return false, failure.Wrap(failure.Internal, err, "request the models")
	}
	response, err := client.Do(r)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return false, failure.Wrap(failure.Unreachable, err, "request the models of the container")
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxModels))
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	return err == nil && response.StatusCode == http.StatusOK && json.Unmarshal(text, &list) == nil && len(list.Data) > 0 && list.Data[0].ID != "", nil
}
