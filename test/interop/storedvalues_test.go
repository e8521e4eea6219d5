// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	oldsdk "github.com/a2aproject/a2a-go/a2a"
	newsdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/a2a-operator/a2a-operator/test/cutclient"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// storedTask is a task as the sidecar returns it in each version.
type storedTask struct {
	id   string
	want map[string]map[string]any
}

// valueStore is a sidecar with tasks whose parts, data and metadata are arbitrary.
type valueStore struct {
	url, token string
	tasks      []*storedTask
}

// storeValues sends arbitrary messages to a sidecar until it has stored a number of tasks. The agent returns the parts and
// the metadata of a message in an artifact, in a status and as the metadata of the task. The sidecar must refuse a value
// that some client could not read, and name the field.
func storeValues(t *testing.T, number int) *valueStore {
	t.Helper()
	f := sidecartest.Start(t, echoValues, sidecartest.WithTokens, sidecartest.WithoutAnonymous)
	s := &valueStore{url: f.URL, token: f.Token(t, "client")}
	client := sidecartest.Client(t, s.token)
	g := valueGenerator{Rand: rand.New(rand.NewPCG(1, 1)), seeds: seedValues(t)}
	refused := 0
	for i := 0; len(s.tasks) < number; i++ {
		method, message := g.message(i)
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"message":%s}}`, method, message)
		answer := postRPC(t, client, f.URL, method, body)
		if failure, ok := answer["error"].(map[string]any); ok {
			refused++
			code, text := failure["code"], fmt.Sprint(failure["message"])
			if code != -32602.0 && code != -32700.0 || code == -32602.0 && !strings.Contains(text, "message.") {
				t.Errorf("%s\nis refused with %v %s", body, code, text)
			}
			continue
		}
		result, _ := answer["result"].(map[string]any)
		if task, ok := result["task"].(map[string]any); ok {
			result = task
		}
		stored := &storedTask{id: fmt.Sprint(result["id"]), want: map[string]map[string]any{}}
		for version, get := range map[string]string{"1.0": "GetTask", "0.3": "tasks/get"} {
			got := postRPC(t, client, f.URL, get, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"id":%q}}`, get, stored.id))
			task, ok := got["result"].(map[string]any)
			if !ok {
				t.Fatalf("%s of the task of\n%s\n%v", get, body, got)
			}
			stored.want[version] = viewOf(task)
		}
		s.tasks = append(s.tasks, stored)
	}
	t.Logf("%d tasks stored, %d messages refused", len(s.tasks), refused)
	if refused == 0 || refused > number {
		t.Errorf("%d messages are refused, want some", refused)
	}
	return s
}

// postRPC calls a method. "GetTask" and "SendMessage" are methods of 1.0.
func postRPC(t *testing.T, client *http.Client, url, method, body string) map[string]any {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if !strings.Contains(method, "/") {
		r.Header.Set("A2A-Version", "1.0")
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return answer
}

// echoValues is an agent that returns the parts and the metadata of a message. A text part that begins with "say " makes
// it send the rest of the text as data, which may be a value that no client can read.
func echoValues(w http.ResponseWriter, r *http.Request) {
	var turn struct {
		Message struct {
			Parts    json.RawMessage `json:"parts"`
			Metadata json.RawMessage `json:"metadata"`
		} `json:"message"`
	}
	if err := json.NewDecoder(r.Body).Decode(&turn); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(turn.Message.Parts, &parts)
	content, metadata := string(turn.Message.Parts), "{}"
	if turn.Message.Metadata != nil {
		metadata = string(turn.Message.Metadata)
	}
	for _, p := range parts {
		if data, ok := strings.CutPrefix(p.Text, "say "); ok {
			content = `[{"kind":"data","data":{"k":` + data + `}}]`
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	_, _ = fmt.Fprintf(w, `{"kind":"artifact-update","artifact":{"artifactId":"a","parts":%s,"metadata":%s}}`+"\n", content, metadata)
	_, _ = fmt.Fprintf(w, `{"kind":"status-update","metadata":%s,"status":{"state":"completed","message":{"role":"agent","parts":%s,"metadata":%s}}}`+"\n",
		metadata, content, metadata)
}

// seedValues returns the documents of other projects, as values.
func seedValues(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "seeds", "*-*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d seeds, %v", len(files), err)
	}
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if json.Valid(text) && len(text) < 4<<10 {
			all = append(all, string(text))
		}
	}
	return all
}

// valueGenerator makes messages. It makes the same messages in every run.
type valueGenerator struct {
	*rand.Rand
	seeds []string
}

// valueTexts are JSON texts that clients may read wrongly: characters of JSON, JavaScript, HTML and SSE, and names of members
// of the SDKs' types.
var valueTexts = []string{
	`""`, `"a"`, `"Hello, world"`, `"quote \" slash \\ \/"`, `"tab\tline\nreturn\r nul\u0000 bell\u0007 del\u007f"`, `"<a href='x'>&amp;</a>"`,
	`"\u2028\u2029\ufeff"`, `"é ü 漢字 \ud83d\ude00"`, `"data: x\n\nevent: y\n\n"`, `"NaN"`, `"1e400"`, `"null"`, `"YUdrPQ=="`, `"2026-01-02T03:04:05Z"`,
	`"__proto__"`, `"constructor"`, `"toString"`, `"hasOwnProperty"`, `"@type"`, `"$case"`, `"kind"`, `"value"`, `"data"`, `"text"`, `"fields"`, `"stringValue"`,
	`"null_value"`, `"a.b"`, `"0"`, `"length"`, `"TASK_STATE_WORKING"`, `"file_with_bytes"`, `"rtl \u202e evil"`, `"e\u0301"`, `"\ufffd"`, `"\ue000"`,
}

// valueNumbers are JSON numbers at the limits of doubles and integers.
var valueNumbers = []string{
	`0`, `-0`, `-1.50`, `1E+2`, `1e308`, `-1.7976931348623157e308`, `5e-324`, `1e-400`, `9007199254740993`, `18446744073709551616`,
	`123456789012345678901234567890`, `0.1`, `1e21`, `1e-7`,
}

// refusedValues are values that some client cannot read.
var refusedValues = []string{`1e400`, `[-1e999]`, `"\ud800"`, `{"a":1,"a":2}`, strings.Repeat("[", 60) + strings.Repeat("]", 60)}

func oneOf[T any](g *valueGenerator, all []T) T { return all[g.IntN(len(all))] }

// value returns a JSON value.
func (g *valueGenerator) value(depth int) string {
	switch n := g.IntN(16); {
	case n < 4:
		return oneOf(g, valueTexts)
	case n < 7:
		return oneOf(g, valueNumbers)
	case n < 9:
		return oneOf(g, []string{"true", "false", "null"})
	case n == 9:
		return oneOf(g, g.seeds)
	case n == 10:
		return g.nested(depth)
	case depth <= 0:
		return oneOf(g, []string{"[]", "{}"})
	case n < 13:
		var items []string
		for range g.IntN(4) {
			items = append(items, g.value(depth-1))
		}
		return "[" + strings.Join(items, ",") + "]"
	default:
		return g.object(depth - 1)
	}
}

// nested returns a value in many lists or objects.
func (g *valueGenerator) nested(depth int) string {
	levels := min(5*depth, 18)
	if g.IntN(2) == 0 {
		return strings.Repeat("[", levels) + `"deep"` + strings.Repeat("]", levels)
	}
	return strings.Repeat(`{"k":`, levels) + `"deep"` + strings.Repeat("}", levels)
}

// object returns a JSON object. Its names differ.
func (g *valueGenerator) object(depth int) string {
	members := map[string]string{}
	for range g.IntN(4) {
		members[oneOf(g, valueTexts)] = g.value(depth)
	}
	var all []string
	for name, value := range members {
		all = append(all, name+":"+value)
	}
	return "{" + strings.Join(all, ",") + "}"
}

// message returns a method and its message: of 1.0 and of 0.3 in turn.
func (g *valueGenerator) message(i int) (method, message string) {
	var parts []string
	isOld := i%2 == 1
	for range 1 + g.IntN(4) {
		parts = append(parts, g.part(isOld))
	}
	if i%20 == 7 {
		said := g.value(2)
		if i%40 == 7 {
			said = oneOf(g, refusedValues)
		}
		kind := ""
		if isOld {
			kind = `"kind":"text",`
		}
		parts = append(parts, `{`+kind+`"text":`+quoted("say "+said)+`}`)
	}
	id := fmt.Sprintf("m-%d", i)
	if isOld {
		return "message/send", `{"kind":"message","messageId":"` + id + `","role":"user","parts":[` + strings.Join(parts, ",") + `],"metadata":` + g.object(3) + `}`
	}
	return "SendMessage", `{"messageId":"` + id + `","role":"ROLE_USER","parts":[` + strings.Join(parts, ",") + `],"metadata":` + g.object(3) + `}`
}

// part returns a part of 0.3 or 1.0. Some parts have a value that the sidecar refuses.
func (g *valueGenerator) part(isOld bool) string {
	metadata := `,"metadata":` + g.object(2)
	if g.IntN(60) == 0 {
		metadata = `,"metadata":{"k":` + oneOf(g, refusedValues) + `}`
	}
	switch n := g.IntN(6); {
	case n < 2 && isOld:
		return `{"kind":"text","text":` + oneOf(g, valueTexts) + metadata + `}`
	case n < 2:
		return `{"text":` + oneOf(g, valueTexts) + metadata + `}`
	case n < 4 && isOld:
		return `{"kind":"data","data":` + g.object(4) + metadata + `}`
	case n < 4:
		return `{"data":` + g.value(4) + metadata + `}`
	case n == 4 && isOld:
		return `{"kind":"file","file":{"bytes":"aGkA/w==","name":` + oneOf(g, valueTexts) + `,"mimeType":"text/plain"}` + metadata + `}`
	case n == 4:
		return `{"raw":"aGkA/w==","filename":` + oneOf(g, valueTexts) + `,"mediaType":"text/plain"` + metadata + `}`
	case isOld:
		return `{"kind":"file","file":{"uri":"https://example.com/a?b=c&d=%3Ce%3E","mimeType":"text/html"}` + metadata + `}`
	default:
		return `{"url":"https://example.com/a?b=c&d=%3Ce%3E","mediaType":"text/html"` + metadata + `}`
	}
}

// viewOf returns the content of a task in the JSON of 0.3 or 1.0: each text, value, file and metadata by its place.
func viewOf(task map[string]any) map[string]any {
	view := map[string]any{}
	list := func(at string, value any, see func(string, map[string]any)) {
		items, _ := value.([]any)
		for i, item := range items {
			object, _ := item.(map[string]any)
			see(fmt.Sprintf("%s[%d]", at, i), object)
		}
	}
	metadata := func(at string, value any) {
		if object, ok := value.(map[string]any); ok && len(object) > 0 {
			view[at+".metadata"] = object
		}
	}
	parts := func(at string, object map[string]any) {
		metadata(at, object["metadata"])
		list(at+".parts", object["parts"], func(at string, p map[string]any) { seePart(view, metadata, at, p) })
	}
	list("artifacts", task["artifacts"], parts)
	list("history", task["history"], parts)
	if status, ok := task["status"].(map[string]any); ok {
		if message, ok := status["message"].(map[string]any); ok {
			parts("status", message)
		}
	}
	metadata("task", task["metadata"])
	return view
}

// seePart adds the content of a part. Versions before 1.0 have no data other than objects: the sidecar and the SDKs put
// other values into an object, and mark it in the metadata.
func seePart(view map[string]any, metadata func(string, any), at string, p map[string]any) {
	extra, _ := p["metadata"].(map[string]any)
	data, hasData := p["data"]
	if extra["data_part_compat"] == true {
		extra = maps.Clone(extra)
		delete(extra, "data_part_compat")
		if wrapped, ok := data.(map[string]any); ok && len(wrapped) == 1 {
			data = wrapped["value"]
		}
	}
	metadata(at, extra)
	file, _ := p["file"].(map[string]any)
	for _, c := range []struct {
		kind  string
		value any
	}{{"text", p["text"]}, {"raw", p["raw"]}, {"raw", file["bytes"]}, {"url", p["url"]}, {"url", file["uri"]}} {
		if c.value != nil {
			view[at+"."+c.kind] = c.value
			return
		}
	}
	if hasData {
		view[at+".data"] = data
	}
}

// difference is a value that an SDK changes on its way from the bytes to the caller, against the specification.
type difference struct {
	clients []string
	reason  string
	// shows returns what the clients show at a place, instead of the value that the sidecar sent; nil for nothing.
	shows func(place string, sent any) any
}

// The rows of @a2a-js/sdk whose client converts from a proto.
var (
	jsProtoV03 = []string{
		"@a2a-js/sdk 1.3.0, 0.3, REST", "@a2a-js/sdk 1.3.0, 0.3, gRPC", "@a2a-js/sdk 0.3.14, 0.3, REST", "@a2a-js/sdk 0.3.14, 0.3, gRPC",
	}
	jsStruct = append([]string{"@a2a-js/sdk 1.3.0, 1.0, gRPC"}, jsProtoV03...)
)

// knownDifferences are defects of the SDKs. A client must show every other value as the sidecar sent it.
var knownDifferences = []difference{
	{
		[]string{"a2a-go v2.4.0, 1.0, gRPC"},
		"its conversion from the proto reads the data of a part as an object; of every other value, it makes an empty object",
		func(place string, sent any) any {
			if _, ok := sent.(map[string]any); ok || !strings.HasSuffix(place, ".data") {
				return sent
			}
			return map[string]any{}
		},
	},
	{
		jsProtoV03,
		"its conversion from the proto drops the metadata of parts, with the mark of data that are no object, and encodes the bytes of files, " +
			"which the SDKs for Python and Go send in base64, by base64 once more",
		func(place string, sent any) any {
			_, isObject := sent.(map[string]any)
			switch {
			case strings.Contains(place, ".parts[") && strings.HasSuffix(place, ".metadata"):
				return nil
			case strings.HasSuffix(place, ".raw"):
				return base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(sent)))
			case strings.HasSuffix(place, ".data") && !isObject:
				return map[string]any{"value": sent}
			}
			return sent
		},
	},
	{
		jsStruct,
		"its conversion from the proto assigns the members of an object, so that a member with the name __proto__ is lost",
		func(_ string, sent any) any {
			return replaced(sent, func(name string, value any) (any, bool) { return value, name != "__proto__" })
		},
	},
	{
		[]string{"@a2a-js/sdk 0.3.14, 0.3, gRPC"},
		"it reads null in an object or a list as 0, the number of NULL_VALUE",
		func(_ string, sent any) any {
			return replaced(sent, func(_ string, value any) (any, bool) {
				if value == nil {
					value = 0.0
				}
				return value, true
			})
		},
	},
}

// replaced returns a value whose members and items a function has replaced, or dropped if it returns false.
func replaced(value any, by func(name string, value any) (any, bool)) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range value {
			if kept, ok := by(name, member); ok {
				out[name] = replaced(kept, by)
			}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i := range value {
			kept, _ := by("", value[i])
			out[i] = replaced(kept, by)
		}
		return out
	default:
		return value
	}
}

// compareStored compares what a client has decoded with what the sidecar has sent.
func (s *valueStore) compareStored(t *testing.T, client, protocol, binding string, got map[string]map[string]any) {
	t.Helper()
	wrong, known := 0, 0
	row := client + ", " + protocol + ", " + binding
	shown := func(place string, value any) any {
		for _, d := range knownDifferences {
			if value != nil && slices.Contains(d.clients, row) {
				value = d.shows(place, value)
			}
		}
		if object, ok := value.(map[string]any); ok && len(object) == 0 && strings.HasSuffix(place, ".metadata") {
			return nil // viewOf has no empty metadata
		}
		return value
	}
	for _, task := range s.tasks {
		want := task.want[protocol]
		seen, ok := got[task.id]
		if !ok {
			continue // the error is reported
		}
		places := maps.Clone(want)
		maps.Copy(places, seen)
		differs := false
		for _, place := range slices.Sorted(maps.Keys(places)) {
			// cmp takes exponential time to compare deep lists.
			if reflect.DeepEqual(want[place], seen[place]) {
				continue
			}
			if reflect.DeepEqual(shown(place, want[place]), seen[place]) {
				known++
				continue
			}
			if differs = true; wrong < 3 {
				t.Errorf("task %s: %s was sent as %.300s and is decoded as %.300s", task.id, place, asJSON(want[place]), asJSON(seen[place]))
			}
		}
		if differs {
			wrong++
		}
	}
	if wrong > 0 || len(got) != len(s.tasks) {
		t.Errorf("of %d tasks, %d are decoded, %d with differences", len(s.tasks), len(got), wrong)
	}
	t.Logf("%s: %d tasks, %d known differences", row, len(got), known)
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// asView converts a value that an SDK decoded, as the SDK encodes it.
func asView(t *testing.T, task any) map[string]any {
	t.Helper()
	text, err := json.Marshal(task)
	if err != nil {
		t.Errorf("encode: %v", err)
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		t.Errorf("decode: %v", err)
	}
	return viewOf(object)
}

// TestGoClientsReadStoredValues stores arbitrary values, and reads each of them with each Go client, also as a page of
// tasks.
func TestGoClientsReadStoredValues(t *testing.T) {
	s := storeValues(t, cutclient.Turns(t, "INTEROP_VALUES", 40))
	for _, c := range goClients {
		t.Run(c.name+" "+c.protocol+" "+c.binding, func(t *testing.T) {
			ctx := t.Context()
			client, err := c.open(ctx, target{client: sidecartest.Client(t, s.token), url: s.url, token: credential(s.token)})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]map[string]any{}
			for _, stored := range s.tasks {
				var task any
				switch client := client.(type) {
				case *v1:
					task, err = client.client.GetTask(ctx, &newsdk.GetTaskRequest{ID: newsdk.TaskID(stored.id)})
				case *v03:
					task, err = client.client.GetTask(ctx, &oldsdk.TaskQueryParams{ID: oldsdk.TaskID(stored.id)})
				}
				if err != nil {
					t.Errorf("task %s: %v", stored.id, err)
					continue
				}
				got[stored.id] = asView(t, task)
			}
			s.compareStored(t, c.name, c.protocol, c.binding, got)
			if recent, ok := client.(*v1); ok && c.protocol == "1.0" {
				s.compareStored(t, c.name, c.protocol, c.binding, pages(t, recent))
			}
		})
	}
}

// pages reads all tasks as pages.
func pages(t *testing.T, client *v1) map[string]map[string]any {
	t.Helper()
	got := map[string]map[string]any{}
	r := &newsdk.ListTasksRequest{PageSize: 100, IncludeArtifacts: true, HistoryLength: new(100)}
	for {
		page, err := client.client.ListTasks(t.Context(), r)
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		for _, task := range page.Tasks {
			got[string(task.ID)] = asView(t, task)
		}
		if page.NextPageToken == "" {
			return got
		}
		r.PageToken = page.NextPageToken
	}
}

// decodedTask is a line of the drivers for other languages: a task as the SDK encodes it again, or an error.
type decodedTask struct {
	Job   string         `json:"job"`
	ID    string         `json:"id"`
	Task  map[string]any `json:"task"`
	Error string         `json:"error"`
}

// readDecoded reads the lines of a driver.
func readDecoded(t *testing.T, out []byte) map[string]map[string]map[string]any {
	t.Helper()
	got := map[string]map[string]map[string]any{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	failures := 0
	for lines.Scan() {
		var one decodedTask
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("driver wrote %.300q: %v", lines.Text(), err)
		}
		if got[one.Job] == nil {
			got[one.Job] = map[string]map[string]any{}
		}
		if one.Error != "" {
			if failures++; failures <= 5 {
				t.Errorf("%s: task %s: %s", one.Job, one.ID, one.Error)
			}
			continue
		}
		got[one.Job][one.ID] = viewOf(one.Task)
	}
	if err := lines.Err(); err != nil {
		t.Error(err)
	}
	return got
}

// storedNumber is the number of tasks that the drivers for other languages read. INTEROP_VALUES overrides it.
const storedNumber = 60

func (s *valueStore) ids() []string {
	var all []string
	for _, task := range s.tasks {
		all = append(all, task.id)
	}
	return all
}

// TestPythonClientsReadStoredValues stores arbitrary values, and reads each of them with each Python client.
func TestPythonClientsReadStoredValues(t *testing.T) {
	s := storeValues(t, cutclient.Turns(t, "INTEROP_VALUES", storedNumber))
	for _, sdk := range pythonSDKs {
		t.Run(sdk.client, func(t *testing.T) {
			program := environment(t, sdk.environment)
			var jobs []map[string]any
			for _, r := range sdk.rows {
				jobs = append(jobs, map[string]any{
					"name": r.protocol + " " + r.binding, "protocol": r.protocol, "binding": r.binding,
					"url": s.url, "scheme": "kubernetes", "credential": s.token, "tasks": s.ids(),
				})
			}
			in, err := json.Marshal(jobs)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			command := exec.CommandContext(ctx, program, "-u", "values.py", sdk.driver)
			command.Dir = "python"
			command.Stdin = bytes.NewReader(in)
			got := readDecoded(t, outputOf(t, command))
			for _, r := range sdk.rows {
				s.compareStored(t, sdk.client, r.protocol, r.binding, got[r.protocol+" "+r.binding])
			}
		})
	}
}

// TestTypeScriptClientsReadStoredValues stores arbitrary values, and reads each of them with each JavaScript client.
func TestTypeScriptClientsReadStoredValues(t *testing.T) {
	program, err := node()
	if err != nil {
		t.Skipf("SKIPPED: the JavaScript clients do not run: %v", err)
	}
	s := storeValues(t, cutclient.Turns(t, "INTEROP_VALUES", storedNumber))
	ids, err := json.Marshal(s.ids())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range jsClients {
		t.Run(c.client+" "+c.protocol+" "+c.binding, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			command := exec.CommandContext(ctx, program, "driver.mjs", c.client, c.protocol, c.binding, s.url)
			command.Env = append(os.Environ(), "TOKEN="+s.token, "TASKS="+string(ids))
			command.Dir = "js"
			s.compareStored(t, c.client, c.protocol, c.binding, readDecoded(t, outputOf(t, command))[""])
		})
	}
}

// outputOf runs a driver and returns its standard output.
func outputOf(t *testing.T, command *exec.Cmd) []byte {
	t.Helper()
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Errorf("driver: %v\n%s", err, stderr.String())
	}
	return out
}
