// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/cli/a2aclient"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/terminal"
)

func (a *app) cardCommand() *cobra.Command {
	return group("card", "Show and verify the card of an agent", a.cardGetCommand(), a.cardVerifyCommand())
}

func (a *app) cardGetCommand() *cobra.Command {
	f := &agentFlags{}
	var validate bool
	cmd := &cobra.Command{
		Use:   "get [AGENT | --url URL]",
		Short: "Show the card of an agent: its skills, interfaces and security schemes",
		Example: `  kubectl a2a card get echo
  kubectl a2a card get --url https://agent.example.com -o json`,
		Args: cobra.ArbitraryArgs,
	}
	f.addTo(a, cmd)
	cmd.Flags().BoolVar(&validate, "validate", false, "Check the card against the schema of its A2A version, and fail if a member is missing or wrong.")
	a.outputFlag(cmd, outputText, outputJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, rest, err := f.take(cmd, args)
		if err != nil {
			return err
		}
		if len(rest) > 0 {
			return failure.New(failure.Usage, "%s has too many arguments", display(cmd))
		}
		agent, err := a.find(cmd.Context(), f, name, false)
		if err != nil {
			return err
		}
		defer agent.close()
		if validate {
			if problems := cardProblems(agent.card.JSON); len(problems) > 0 {
				return failure.New(failure.CardInvalid, "the card does not follow its schema: %s", strings.Join(problems, "; ")).
					WithHint("the operator or the framework of the agent renders the card; without --validate, the command shows it")
			}
		}
		if a.output == outputJSON {
			return a.printJSON(json.RawMessage(agent.card.JSON))
		}
		signatures, err := verifyCard(cmd.Context(), agent.http, agent.card, "")
		if err != nil {
			return err
		}
		return a.printCard(agent.card, signatures)
	}
	return cmd
}

// printCard writes a card as text, with the outcome of the verification of its signatures.
func (a *app) printCard(c *a2aclient.Card, signatures *verification) error {
	w := terminal.NewWriter(a.Out)
	field := func(label, value string) {
		if value != "" {
			w.Field(label, value)
		}
	}
	field("Name", c.Name)
	field("Description", c.Description)
	field("Version", c.Version)
	if c.Provider != nil {
		field("Provider", strings.TrimSpace(c.Provider.Organization+" "+c.Provider.URL))
	}
	field("Documentation", c.DocumentationURL)
	for i := range c.Interfaces {
		each := &c.Interfaces[i]
		field("Interface", strings.TrimSpace(fmt.Sprintf("%s %s %s %s", each.ProtocolVersion, each.Binding, each.URL, each.Tenant)))
	}
	field("Streaming", strconv.FormatBool(c.Capabilities.Streaming))
	field("Push notifications", strconv.FormatBool(c.Capabilities.PushNotifications))
	field("Extended card", strconv.FormatBool(c.Capabilities.ExtendedCard))
	for i := range c.SecuritySchemes {
		field("Security", describeScheme(&c.SecuritySchemes[i]))
	}
	field("Input", strings.Join(c.DefaultInputModes, ", "))
	field("Output", strings.Join(c.DefaultOutputModes, ", "))
	field("Signatures", describeVerification(signatures))
	for i := range c.Skills {
		s := &c.Skills[i]
		field("Skill", s.ID+": "+s.Name)
		w.Block("Description of "+terminal.Clip(s.ID, 100), s.Description)
		w.Close()
		field("Tags", strings.Join(s.Tags, ", "))
		for _, example := range s.Examples {
			field("Example", example)
		}
	}
	return broken(w.Err())
}

func describeScheme(s *card.SecurityScheme) string {
	switch s.Type {
	case card.SchemeHTTP:
		return s.Name + ": HTTP " + s.Scheme
	case card.SchemeAPIKey:
		return s.Name + ": API key, " + s.In + " " + s.ParameterName
	case card.SchemeOpenIDConnect:
		return s.Name + ": OpenID Connect, " + s.OpenIDConnectURL
	case card.SchemeOAuth2:
		return s.Name + ": OAuth 2.0"
	case card.SchemeMutualTLS:
		return s.Name + ": client certificate"
	default:
		return s.Name + ": " + string(s.Type)
	}
}
