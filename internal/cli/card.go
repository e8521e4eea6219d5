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
	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
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
	}
	f.addTo(a, cmd)
	cmd.Flags().BoolVar(&validate, "validate", false, "Check the card against the schema of its A2A version, and fail if a member is missing or wrong.")
	a.outputFlag(cmd, outputText, outputJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		agent, err := a.findOnly(cmd, f, args)
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
		w.Block("Description of "+safetext.Clip(s.ID, 100), s.Description)
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

// maxProblems bounds the problems of a card that are reported.
const maxProblems = 20

// member is a required member of an object: a text, a list of texts, an object, or a list of objects with required
// members.
type member struct {
	name    string
	kind    memberKind
	members []member
}

type memberKind uint8

const (
	kindText memberKind = iota
	kindTexts
	kindObject
	kindObjects
)

// String returns a description of the type that the value of a member must have.
func (k memberKind) String() string {
	return []string{"a text", "a list of texts", "an object", "a list of objects"}[k]
}

// requiredMembers returns the required members of a card: the members that all versions require, and address. address
// is the member with the URLs of the agent, whose name and type depend on the version.
func requiredMembers(address member) []member {
	return []member{
		{name: "name"},
		{name: "description"},
		{name: "version"},
		address,
		{name: "capabilities", kind: kindObject},
		{name: "defaultInputModes", kind: kindTexts},
		{name: "defaultOutputModes", kind: kindTexts},
		{name: "skills", kind: kindObjects, members: []member{{name: "id"}, {name: "name"}, {name: "description"}, {name: "tags", kind: kindTexts}}},
	}
}

// membersV10 are the required members of a card of 1.0 (section 4.4.1). membersV03 are the required members of a card
// of 0.2 or 0.3.
var (
	membersV10 = requiredMembers(member{name: "supportedInterfaces", kind: kindObjects, members: []member{{name: "url"}, {name: "protocolBinding"}, {name: "protocolVersion"}}})
	membersV03 = requiredMembers(member{name: "url"})
)

// cardProblems describes the required members of a card that are missing or have another type. It checks a card with
// supportedInterfaces as a card of 1.0, and any other card as a card of 0.2 or 0.3.
func cardProblems(text []byte) []string {
	var card map[string]json.RawMessage
	if err := json.Unmarshal(text, &card); err != nil {
		return []string{"it is not a JSON object"}
	}
	members := membersV03
	if _, ok := card["supportedInterfaces"]; ok {
		members = membersV10
	}
	problems := objectProblems("", card, members)
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems], fmt.Sprintf("%d more", more))
	}
	return problems
}

func objectProblems(path string, object map[string]json.RawMessage, members []member) []string {
	var problems []string
	for _, m := range members {
		at := strings.TrimPrefix(path+"."+m.name, ".")
		value, ok := object[m.name]
		if !ok {
			problems = append(problems, at+" is missing")
			continue
		}
		problems = append(problems, m.problems(at, value)...)
	}
	return problems
}

// problems returns the problems with the value of a member at a path.
func (m *member) problems(at string, value json.RawMessage) (problems []string) {
	valid := false
	switch m.kind {
	case kindText:
		valid = decode[string](value) != nil
	case kindTexts:
		valid = decode[[]string](value) != nil
	case kindObject:
		valid = decode[map[string]json.RawMessage](value) != nil
	case kindObjects:
		if objects := decode[[]map[string]json.RawMessage](value); objects != nil {
			valid = true
			for i, object := range *objects {
				problems = append(problems, objectProblems(fmt.Sprintf("%s[%d]", at, i), object, m.members)...)
			}
		}
	}
	if !valid {
		return []string{fmt.Sprintf("%s is %s, must be %s", at, safetext.Clip(string(value), 60), m.kind)}
	}
	return problems
}

// decode returns a JSON value as a T, nil if the value is null or has another type.
func decode[T any](value json.RawMessage) *T {
	var decoded *T
	if json.Unmarshal(value, &decoded) != nil {
		return nil
	}
	return decoded
}
