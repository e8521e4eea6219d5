// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

func TestPushConfigurationsAreCreatedReadListedAndDeleted(t *testing.T) {
	proceed := make(chan struct{})
	defer close(proceed)
	f := sidecartest.Start(t, sidecartest.HeldAgent(proceed), sidecartest.WithEverything)
	for _, transport := range []string{"JSONRPC", "HTTP+JSON"} {
		flags := []string{"--url", f.URL, "--transport", transport}
		task := run(t, "send", "--url", f.URL, "Hello", "--async").field("Task")
		push := func(command string, more ...string) result {
			return run(t, append(append([]string{"task", "push-config", command}, flags...), more...)...)
		}
		t.Setenv("A2ACLI_WEBHOOK_CREDENTIALS", "very-secret")
		created := push("create", task, "--webhook", sidecartest.Webhook, "--webhook-scheme", "Bearer", "--debug")
		id := created.field("Push config")
		if created.status != 0 || id == "" || created.field("URL") != sidecartest.Webhook || strings.Contains(created.stdout+created.stderr, "very-secret") {
			t.Fatalf("%s: %+v", transport, created)
		}
		if got := push("get", task, id); got.status != 0 || got.field("Authentication") != "Bearer" {
			t.Errorf("%s: %+v", transport, got)
		}
		if got := push("get", task, id, "-o", "json"); got.status != 0 || !strings.Contains(got.stdout, `"taskId": "`+task) {
			t.Errorf("%s: %+v", transport, got)
		}
		if listed := push("list", task); listed.status != 0 || !strings.Contains(listed.stdout, sidecartest.Webhook) {
			t.Errorf("%s: %+v", transport, listed)
		}
		if deleted := push("delete", task, id); deleted.status != 0 || deleted.field("Deleted") != id {
			t.Errorf("%s: %+v", transport, deleted)
		}
		if listed := push("list", task); listed.status != 0 || !strings.Contains(listed.stderr, "No push configurations") {
			t.Errorf("%s: %+v", transport, listed)
		}
	}
	if r := run(t, "task", "push-config", "create", "--url", f.URL, "t", "--webhook", "hooks"); r.status != 2 {
		t.Errorf("%+v", r)
	}
	without := sidecartest.Start(t, sidecartest.TextAgent)
	if r := run(t, "task", "push-config", "list", "--url", without.URL, "t"); r.status != 1 || !strings.Contains(r.stderr, "PushNotificationNotSupportedError") {
		t.Errorf("%+v", r)
	}
}

func TestDownloadSavesEachPartOfTheArtifacts(t *testing.T) {
	u := fakeAgent(t, func(w http.ResponseWriter, _ *http.Request, _, _ string) {
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":"1","result":{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[
			{"artifactId":"a","name":"../report","parts":[{"text":"words"},{"data":{"n":1}},{"raw":"AAE=","filename":"x.bin"},{"url":"https://a.example/y"}]}]}}`))
	})
	dir := t.TempDir()
	r := run(t, "task", "download", "--url", u, "t-1", "--save", dir)
	if r.status != 0 || strings.Count(r.stdout, "Saved: ") != 3 || !strings.Contains(r.stdout, "Not saved: of artifact a, at https://a.example/y") {
		t.Errorf("%+v", r)
	}
	for name, want := range map[string]string{"report.txt": "words", "report.json": "{\n  \"n\": 1\n}\n", "x.bin": "\x00\x01"} {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(content) != want {
			t.Errorf("%s is %q, %v", name, content, err)
		}
	}
	var listed struct{ Files []downloaded }
	if err := json.Unmarshal([]byte(run(t, "task", "download", "--url", u, "t-1", "--save", dir, "-o", "json").stdout), &listed); err != nil || len(listed.Files) != 4 || listed.Files[0].Path != filepath.Join(dir, "report-2.txt") {
		t.Errorf("%+v %v", listed, err)
	}
}

func TestAnInterruptCancelsTheTaskOnRequest(t *testing.T) {
	proceed := make(chan struct{})
	defer close(proceed)
	f := sidecartest.Start(t, sidecartest.HeldAgent(proceed))
	ctx, interrupt := context.WithCancel(t.Context())
	started := &notifier{mark: "Context: ", notify: interrupt}
	var problems bytes.Buffer
	a := &app{}
	a.In, a.Out, a.ErrOut = strings.NewReader(""), started, &problems
	status := a.run(ctx, []string{"send", "--url", f.URL, "x", "--cancel-on-interrupt"})
	id := result{stdout: started.String()}.field("Task")
	if status != 130 || strings.Contains(problems.String(), "[y/N]") || !strings.Contains(problems.String(), "The task is canceled.") {
		t.Errorf("status %d, stderr %s", status, problems.String())
	}
	if got := run(t, "task", "get", "--url", f.URL, id).field("State"); got != "canceled" {
		t.Errorf("the task is %s", got)
	}
}

func TestABrokenStreamIsResumedBehindItsLastEvent(t *testing.T) {
	var last string
	u := fakeAgent(t, func(w http.ResponseWriter, r *http.Request, method, _ string) {
		switch method {
		case "SendStreamingMessage":
			writeEvents(w, paintingTask, artifactUpdate("a", `{"text":"first half"}`))
			panic(http.ErrAbortHandler) // the connection breaks
		case "SubscribeToTask":
			last = r.Header.Get("Last-Event-ID")
			writeEvents(w, artifactUpdate("a", `{"text":", second half"}`), paintingDone)
		}
	})
	r := run(t, "send", "--url", u, "x")
	if r.status != 0 || last != "2" || !strings.Contains(r.stdout, "  first half, second half\n") || !strings.Contains(r.stderr, "The stream broke and is resumed") {
		t.Errorf("Last-Event-ID was %q: %+v", last, r)
	}
}

func TestWatchBehindTheLastEventShowsTheFinalTask(t *testing.T) {
	f := sidecartest.Start(t, sidecartest.TextAgent)
	id := run(t, "send", "--url", f.URL, "Hello").field("Task")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.URL+"/tasks/"+id+":subscribe", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Last-Event-ID", "0")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	log, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	numbers := regexp.MustCompile(`(?m)^id: (\d+)$`).FindAllSubmatch(log, -1)
	if err != nil || len(numbers) == 0 {
		t.Fatalf("the log of the task is %s, %v", log, err)
	}
	last := string(numbers[len(numbers)-1][1])
	if r := run(t, "task", "watch", "--url", f.URL, id, "--last-event-id", last); r.status != 0 || r.field("State") != "completed" {
		t.Errorf("after event %s: %+v", last, r)
	}
}
