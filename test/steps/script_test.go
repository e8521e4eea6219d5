// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// The tools of the agent. A call of pay or deploy must not happen twice, and a person must approve deploy.
const (
	toolLook   = "look"
	toolPut    = "put"
	toolPay    = "pay"
	toolDeploy = "deploy"
	toolHelper = "helper"
)

// isOnce reports whether a call of a tool must not be repeated.
func isOnce(tool string) bool { return tool == toolPay || tool == toolDeploy }

// script is what the model does in a task: it is in the text of the client's message, so the model and the tools have no state.
type script struct {
	// Token names the conversation. Every text of the task has it, and no text of another one.
	Token string
	// Task distinguishes the tasks of a conversation.
	Task int
	// Steps are the tools that each answer of the model calls.
	Steps [][]string
	// Rejects are the numbers of steps whose calls the person rejects.
	Rejects []int
	// Silent is true if the answers with calls have no text.
	Silent bool
	// Filler makes the message, and with it the conversation, as long as the context of the model.
	Filler int
}

// key names a call.
func (s *script) key(step, call int) string {
	return fmt.Sprintf("%s/%d/%d-%d", s.Token, s.Task, step, call)
}

// says returns the text of an answer. The last one has no calls.
func (s *script) says(step int) string {
	if s.Silent && step < len(s.Steps) {
		return ""
	}
	return fmt.Sprintf("%s Step %d of the task %d.", s.Token, step, s.Task)
}

// arguments returns the arguments of a call, as the model writes them.
func arguments(tool, key string) string {
	member := "key"
	if tool == toolHelper {
		member = "message"
		key = "Help with " + key + "."
	}
	return fmt.Sprintf(`{%q:%q}`, member, key)
}

func digestOf(tool, key string) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(arguments(tool, key))))
}

// result returns what a tool answers.
func result(tool, key string) string { return "The result of " + tool + " " + key + "." }

var tokens = regexp.MustCompile(`conversation-\d+-\d+`)

// newScripts returns the scripts of a conversation: mostly one, and sometimes a second one that makes the conversation too long for the
// model.
func newScripts(seed uint64, number int) []*script {
	r := rand.New(rand.NewPCG(seed, uint64(number)))
	all := []*script{{}}
	if r.IntN(8) == 0 {
		all = append(all, &script{})
	}
	for i, s := range all {
		s.Token = fmt.Sprintf("conversation-%d-%06d", seed, number)
		s.Task = i
		s.Silent = r.IntN(4) == 0
		steps := 1 + r.IntN(4)
		if r.IntN(10) == 0 {
			steps = 1 + r.IntN(20)
		}
		for step := range steps {
			s.Steps = append(s.Steps, newCalls(r))
			if r.IntN(4) == 0 {
				s.Rejects = append(s.Rejects, step)
			}
		}
		if len(all) > 1 {
			s.Filler = 24 << 10
		}
	}
	return all
}

func newCalls(r *rand.Rand) (tools []string) {
	kinds := []string{toolLook, toolPut, toolPay, toolPay, toolDeploy, toolDeploy, toolHelper}
	for range 1 + r.IntN(10)/8 + r.IntN(10)/9 {
		tools = append(tools, kinds[r.IntN(len(kinds))])
	}
	return tools
}

func filler(n int) string { return strings.Repeat("filler ", n/len("filler ")) }
