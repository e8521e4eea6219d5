// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// run is one run of a test over one binding.
type run struct {
	test   *test
	server *server
	caller caller
	// captured has the values of variables by name, such as baseUrl and start.taskId.
	captured map[string]any
}

// play performs the steps of the test until one fails.
func (r *run) play(ctx context.Context) error {
	r.server.agent.hold()
	defer r.server.agent.release()
	for i := range r.test.Steps {
		s := &r.test.Steps[i]
		if err := r.step(ctx, s); err != nil {
			return fmt.Errorf("step %s: %w", s.ID, err)
		}
	}
	return nil
}

func (r *run) step(ctx context.Context, s *step) error {
	switch {
	case s.ClientResponse != nil:
		return r.read(ctx, s)
	case s.ExpectWebhook != nil:
		r.server.agent.release()
		return r.webhook(ctx, s)
	case s.ExpectStream != nil:
		return r.streams(ctx, s)
	case s.Repeat != nil:
		return r.repeat(ctx, s)
	}
	got, err := r.request(ctx, s, func(map[string]any) bool { return true })
	if err != nil {
		return err
	}
	return r.check(s, got)
}

// request performs the request of a step.
func (r *run) request(ctx context.Context, s *step, handle func(map[string]any) bool) (*reply, error) {
	if s.Raw != nil {
		return r.raw(ctx, s, handle)
	}
	params, err := r.filled(s.Params)
	if err != nil {
		return nil, err
	}
	fields, _ := params.(map[string]any)
	if fields == nil {
		fields = map[string]any{}
	}
	if message, ok := fields["message"].(map[string]any); ok && message["messageId"] == nil {
		message["messageId"] = uuid.NewString()
	}
	switch s.Operation {
	case "get_agent_card":
		return r.server.card(ctx)
	case "send_streaming_message", "subscribe_to_task":
		return r.caller.stream(ctx, s.Operation, fields, handle)
	default:
		return r.caller.call(ctx, s.Operation, fields)
	}
}

func (r *run) raw(ctx context.Context, s *step, handle func(map[string]any) bool) (*reply, error) {
	text, err := json.Marshal(s.Raw)
	if err != nil {
		return nil, err
	}
	var loose any
	if err := json.Unmarshal(text, &loose); err != nil {
		return nil, err
	}
	if loose, err = r.filled(loose); err != nil {
		return nil, err
	}
	if text, err = json.Marshal(loose); err != nil {
		return nil, err
	}
	var filled rawRequest
	if err := json.Unmarshal(text, &filled); err != nil {
		return nil, err
	}
	response, err := r.server.raw(ctx, &filled, !slices.Contains(r.test.Tags, "auth"))
	if err != nil {
		return nil, err
	}
	return events(response, handle)
}

var variable = regexp.MustCompile(`\{\{([^}]+)\}\}`)

// filled returns a copy of a value of the suite with the values of its variables.
func (r *run) filled(v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			value, err := r.filled(member)
			if err != nil {
				return nil, err
			}
			out[name] = value
		}
		return out, nil
	case []any:
		var out []any
		for _, item := range v {
			value, err := r.filled(item)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		return out, nil
	case string:
		return r.filledText(v)
	default:
		return v, nil
	}
}

func (r *run) filledText(text string) (any, error) {
	names := variable.FindAllStringSubmatch(text, -1)
	for _, name := range names {
		value, ok := r.captured[name[1]]
		if !ok {
			return nil, fmt.Errorf("no value of %s", name[0])
		}
		if text == name[0] {
			return value, nil
		}
		text = strings.ReplaceAll(text, name[0], fmt.Sprint(value))
	}
	return text, nil
}

// matches fills an expectation and compares it. A nil expectation expects nothing.
func (r *run) matches(what string, expected, actual any) error {
	if expected == nil {
		return nil
	}
	expected, err := r.filled(expected)
	if err == nil {
		err = match(expected, actual)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\nin %s", what, err, show(actual))
	}
	return nil
}

// check compares the response with the expectations of a step, and captures its values.
func (r *run) check(s *step, got *reply) error {
	if s.ExpectError != nil {
		return r.checkError(s, got)
	}
	if got.problem != nil && (s.Expect == nil || s.Expect.Status == nil || s.Raw == nil) {
		return fmt.Errorf("error %+v", *got.problem)
	}
	if s.Expect != nil {
		header := map[string]any{}
		for name := range got.header {
			header[name] = got.header.Get(name)
		}
		if tag, ok := header["Etag"]; ok {
			header["ETag"] = tag
		}
		err := errors.Join(
			r.matches("status", s.Expect.Status, float64(got.status)),
			r.matches("headers", s.Expect.Headers, header),
			r.matches("body", s.Expect.Body, got.body),
		)
		if err != nil {
			return err
		}
	}
	r.captured[s.ID+".response"] = got.body
	for name, path := range s.Capture {
		found := find(path, got.body)
		if len(found) == 0 {
			return fmt.Errorf("the response has no %s: %s", path, show(got.body))
		}
		r.captured[s.ID+"."+name] = found[0]
	}
	return r.checkAssertions(s)
}

func (r *run) checkAssertions(s *step) error {
	for _, a := range s.Assertions {
		source, err := r.filledText(a.Source)
		if err != nil {
			return err
		}
		all := errors.New("no value at " + a.Any.Path)
		for _, value := range find(a.Any.Path, source) {
			err := r.matches(a.Any.Path, a.Any.Match, value)
			if err == nil {
				all = nil
				break
			}
			all = errors.Join(all, err)
		}
		if all != nil {
			return all
		}
	}
	return nil
}

// errorTypes are the reasons of the errors of A2A, and their codes in JSON-RPC.
var errorTypes = map[string]struct {
	reason string
	code   int
}{
	"TaskNotFoundError":                 {"TASK_NOT_FOUND", -32001},
	"TaskNotCancelableError":            {"TASK_NOT_CANCELABLE", -32002},
	"PushNotificationNotSupportedError": {"PUSH_NOTIFICATION_NOT_SUPPORTED", -32003},
	"UnsupportedOperationError":         {"UNSUPPORTED_OPERATION", -32004},
	"ContentTypeNotSupportedError":      {"CONTENT_TYPE_NOT_SUPPORTED", -32005},
	"VersionNotSupportedError":          {"VERSION_NOT_SUPPORTED", -32009},
}

// notFound are the codes of TaskNotFoundError in bindings other than JSON-RPC: of HTTP and gRPC.
var notFound = []int{http.StatusNotFound, 5}

func (r *run) checkError(s *step, got *reply) error {
	if got.problem == nil {
		return fmt.Errorf("no error: %s", show(got.body))
	}
	if kind := s.ExpectError.ErrorType; kind != "" {
		want, ok := errorTypes[kind]
		if !ok {
			return errors.New("unknown type of error " + kind)
		}
		if got.problem.reason != want.reason {
			return fmt.Errorf("error %+v, want %s", *got.problem, want.reason)
		}
		if _, ok := r.caller.(jsonRPC); ok && got.problem.native != want.code {
			return fmt.Errorf("error %+v, want code %d", *got.problem, want.code)
		} else if !ok && kind == "TaskNotFoundError" && !slices.Contains(notFound, got.problem.native) {
			return fmt.Errorf("error %+v, want not found", *got.problem)
		}
	}
	return errors.Join(
		r.matches("message", s.ExpectError.Message, got.problem.message),
		r.matches("details", s.ExpectError.Details, got.problem.details),
	)
}

// poll is the pause between the attempts of a repeated step. It is shorter than the suite's pauses, which are for agents
// that work for seconds.
const poll = 20 * time.Millisecond

// repeat repeats a step for the time that the suite allows.
func (r *run) repeat(ctx context.Context, s *step) error {
	if strings.Contains(s.Repeat.Until, "TASK_STATE_COMPLETED") {
		r.server.agent.release()
	}
	until, err := condition(s.Repeat.Until)
	if err != nil {
		return err
	}
	attempts := s.Repeat.MaxAttempts * s.Repeat.DelayMS / int(poll.Milliseconds())
	for range attempts {
		got, err := r.request(ctx, s, nil)
		if err != nil {
			return err
		}
		if err := r.check(s, got); err != nil {
			return err
		}
		if until(got.body) {
			return nil
		}
		time.Sleep(poll)
	}
	return fmt.Errorf("not %s after %d attempts", s.Repeat.Until, attempts)
}

var conditions = regexp.MustCompile(`^(\S+) (?:== (\S+)|in \[([^\]]+)\])$`)

// condition reads a condition such as "status.state in [A, B]" or "status.state == A".
func condition(text string) (func(body any) bool, error) {
	parts := conditions.FindStringSubmatch(text)
	if parts == nil {
		return nil, errors.New("unknown condition " + text)
	}
	wanted := strings.Split(parts[2]+parts[3], ", ")
	return func(body any) bool {
		return slices.ContainsFunc(find(parts[1], body), func(v any) bool {
			state, _ := v.(string)
			return slices.Contains(wanted, state)
		})
	}, nil
}

func (r *run) webhook(ctx context.Context, s *step) error {
	task, err := r.filledText(s.ExpectWebhook.TaskID)
	if err != nil {
		return err
	}
	deliveries, err := r.server.webhooks.await(ctx, fmt.Sprint(task), s.ExpectWebhook.MinCount)
	if err != nil {
		return err
	}
	for _, d := range deliveries {
		for name, want := range s.ExpectWebhook.Headers {
			if got := d.header.Get(name); got != want {
				return fmt.Errorf("delivery with %s %q, want %q", name, got, want)
			}
		}
		if err := r.matches("delivery", s.ExpectWebhook.EachEvent, d.body); err != nil {
			return err
		}
	}
	return nil
}
