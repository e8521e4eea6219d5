// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/kit/safetext"
	"github.com/a2a-operator/a2a-operator/internal/registry/registryapi"
)

// Code is a snippet that sends a message to an agent and prints the answer.
type Code struct {
	// ID identifies the snippet in static/code.js. Label is the title of the snippet on the page.
	ID, Label string
	// Template is the snippet with placeholders, which static/code.js replaces:
	//
	//	@shell@    the message, quoted for a shell
	//	@call@     the JSON-RPC request, quoted for a shell
	//	@literal@  the message as a string literal that is valid in Python and in Go
	//	@flags@, @python@, @go@
	//	           the id of the task or the context, for kubectl, Python and Go; empty for the first message
	Template string
}

// firstMessage is the message in the snippets until the reader has written one.
const firstMessage = "Hello"

// Text returns the snippet for the first message of a conversation.
func (c Code) Text() string {
	call := `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"` + firstMessage + `"}]}}}`
	return strings.NewReplacer("@shell@", "'"+firstMessage+"'", "@literal@", `"`+firstMessage+`"`, "@call@", "'"+call+"'", "@flags@", "", "@python@", "", "@go@", "").Replace(c.Template)
}

// codeFor returns the snippets for an agent. The names and the address in them are quoted, because they come
// from an API object or a card and may contain special characters.
func codeFor(agent *registryapi.Agent) []Code {
	reference := agent.Namespace + "/" + agent.Name
	all := []Code{{ID: "kubectl", Label: "kubectl", Template: "kubectl a2a send " + ShellWord(reference) + " @shell@@flags@"}}
	address := cmp.Or(agent.ExternalURL, agent.URL)
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" || strings.Contains(address, "@") {
		return all
	}
	address = parsed.String() // String escapes characters that a URL must not contain
	token := "export A2A_TOKEN=$(kubectl a2a token " + ShellWord(reference) + ")\n"
	if agent.Remote {
		token = ""
	} else {
		target := ShellWord(address)
		before := ""
		if agent.ExternalURL == "" {
			before = fmt.Sprintf("kubectl -n %s port-forward service/%s 8080:80 &\n", ShellWord(agent.Namespace), ShellWord(agent.Name))
			target = "http://127.0.0.1:8080/"
		}
		all = append(all, Code{ID: "curl", Label: "curl", Template: token + before + "curl -N " + target +
			` -H "Authorization: Bearer $A2A_TOKEN" -H 'A2A-Version: 1.0' -H 'Content-Type: application/json' \` + "\n  -d @call@"})
	}
	return append(all,
		Code{ID: "python", Label: "Python (a2a-sdk 1.x)", Template: comment(token, "# ") + strings.ReplaceAll(pythonCode, "@address@", literal(address))},
		Code{ID: "go", Label: "Go (a2a-go v2)", Template: comment(token, "// ") + strings.ReplaceAll(goCode, "@address@", literal(address))})
}

// comment returns a line as a comment that begins with mark, and "" for no line.
func comment(line, mark string) string {
	if line == "" {
		return ""
	}
	return mark + line
}

// ShellWord quotes a text for a shell if the text contains special characters.
func ShellWord(text string) string {
	if strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-./:_") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// literal returns a text as a string literal that is valid in Go and in Python. It returns a JSON string,
// because JSON escapes every character that either language requires to be escaped.
func literal(text string) string {
	out, _ := json.Marshal(text) // a string has a JSON form
	return string(safetext.JSON(out))
}

const pythonCode = `import asyncio, os, uuid
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as a2a

async def main():
    headers = {"Authorization": "Bearer " + os.environ.get("A2A_TOKEN", "")}
    async with httpx.AsyncClient(headers=headers, timeout=None) as http:
        card = await A2ACardResolver(http, @address@).get_agent_card()
        client = ClientFactory(ClientConfig(httpx_client=http)).create(card)
        message = a2a.Message(message_id=str(uuid.uuid4()), role=a2a.ROLE_USER,
                              parts=[a2a.Part(text=@literal@)]@python@)
        async for event in client.send_message(a2a.SendMessageRequest(message=message)):
            print(event)

asyncio.run(main())
`

const goCode = `package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

func main() {
	ctx := a2aclient.AttachServiceParams(context.Background(),
		a2aclient.ServiceParams{"Authorization": {"Bearer " + os.Getenv("A2A_TOKEN")}})
	card, err := agentcard.DefaultResolver.Resolve(ctx, @address@)
	if err != nil {
		log.Fatal(err)
	}
	client, err := a2aclient.NewFromCard(ctx, card)
	if err != nil {
		log.Fatal(err)
	}
	message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(@literal@))@go@
	for event, err := range client.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: message}) {
		if err != nil {
			log.Fatal(err)
		}
		_ = json.NewEncoder(os.Stdout).Encode(event)
	}
}
`
