// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

const (
	good03 = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"MESSAGEX","role":"user","parts":[{"kind":"text","text":"Hi"}]}}}`
	good10 = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"MESSAGEX","role":"ROLE_USER","parts":[{"text":"Hi"}]}}}`
	good01 = `{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{"id":"TASKIDXX","message":{"role":"user","parts":[{"type":"text","text":"Hi"}]}}}`
)

// hostileJSON returns bodies that two parsers may read differently, or that crash a careless parser. The sidecar
// must refuse them before they reach the agent.
func hostileJSON() map[string]string {
	cases := map[string]string{
		"empty body":                    "",
		"white space":                   " \n\t ",
		"not JSON":                      "hello",
		"cut off":                       good03[:len(good03)-1],
		"cut off in a string":           good03[:40],
		"batch":                         "[" + good03 + "]",
		"batch of two":                  "[" + good03 + "," + good10 + "]",
		"empty batch":                   "[]",
		"string":                        `"message/send"`,
		"number":                        "1",
		"null":                          "null",
		"true":                          "true",
		"two values":                    good03 + good03,
		"two lines":                     good03 + "\n" + good10,
		"brace after the end":           good03 + "}",
		"letter after the end":          good03 + " x",
		"NUL after the end":             good03 + "\x00",
		"byte order mark":               "\xef\xbb\xbf" + good03,
		"byte order mark of UTF-16":     "\xff\xfe" + good03,
		"UTF-16":                        strings.Join(strings.Split(good03, ""), "\x00") + "\x00",
		"NUL before the start":          "\x00" + good03,
		"form feed before the start":    "\f" + good03,
		"comment":                       "/* x */" + good03,
		"comment at the end of a line":  "// x\n" + good03,
		"single quotes":                 strings.ReplaceAll(good03, `"`, `'`),
		"comma before the brace":        strings.Replace(good03, `"user",`, `"user",,`, 1),
		"comma at the end":              good03[:len(good03)-1] + ",}",
		"names without quotes":          strings.Replace(good03, `"jsonrpc"`, `jsonrpc`, 1),
		"NaN":                           strings.Replace(good03, `"id":1`, `"id":NaN`, 1),
		"Infinity":                      strings.Replace(good03, `"id":1`, `"id":Infinity`, 1),
		"leading zero":                  strings.Replace(good03, `"id":1`, `"id":01`, 1),
		"plus sign":                     strings.Replace(good03, `"id":1`, `"id":+1`, 1),
		"hexadecimal":                   strings.Replace(good03, `"id":1`, `"id":0x1`, 1),
		"point at the end":              strings.Replace(good03, `"id":1`, `"id":1.`, 1),
		"id is an object":               strings.Replace(good03, `"id":1`, `"id":{}`, 1),
		"id is an array":                strings.Replace(good03, `"id":1`, `"id":[1]`, 1),
		"id is true":                    strings.Replace(good03, `"id":1`, `"id":true`, 1),
		"id of a kilobyte":              strings.Replace(good03, `"id":1`, `"id":"`+strings.Repeat("x", 1024)+`"`, 1),
		"params is an array":            strings.Replace(good03, `"params":{`, `"params":[],"x":{`, 1),
		"params is a string":            strings.Replace(good03, `"params":{`, `"params":"x","x":{`, 1),
		"method is a number":            strings.Replace(good03, `"message/send"`, `1`, 1),
		"method is an array":            strings.Replace(good03, `"message/send"`, `["message/send"]`, 1),
		"method is null":                strings.Replace(good03, `"message/send"`, `null`, 1),
		"method is empty":               strings.Replace(good03, `"message/send"`, `""`, 1),
		"method with a space":           strings.Replace(good03, `message/send`, `message/send `, 1),
		"method with a NUL":             strings.Replace(good03, `message/send`, `message/send\u0000`, 1),
		"method in capitals":            strings.Replace(good03, `message/send`, `MESSAGE/SEND`, 1),
		"unknown method":                strings.Replace(good03, `message/send`, `message/steal`, 1),
		"jsonrpc 1.0":                   strings.Replace(good03, `"2.0"`, `"1.0"`, 1),
		"jsonrpc is a number":           strings.Replace(good03, `"2.0"`, `2.0`, 1),
		"jsonrpc missing in 1.0":        strings.Replace(good10, `"jsonrpc":"2.0",`, ``, 1),
		"lone high surrogate":           strings.Replace(good03, `"Hi"`, `"\ud83d"`, 1),
		"lone low surrogate":            strings.Replace(good03, `"Hi"`, `"\ude00"`, 1),
		"surrogates in the wrong order": strings.Replace(good03, `"Hi"`, `"\ude00\ud83d"`, 1),
		"invalid UTF-8":                 strings.Replace(good03, `"Hi"`, "\"\xc3\x28\"", 1),
		"overlong UTF-8":                strings.Replace(good03, `"Hi"`, "\"\xc0\xaf\"", 1),
		"surrogate in UTF-8":            strings.Replace(good03, `"Hi"`, "\"\xed\xa0\xbd\"", 1),
		"line feed in a string":         strings.Replace(good03, `"Hi"`, "\"H\ni\"", 1),
		"tab in a string":               strings.Replace(good03, `"Hi"`, "\"H\ti\"", 1),
		"NUL in a string":               strings.Replace(good03, `"Hi"`, "\"H\x00i\"", 1),
		"unknown escape":                strings.Replace(good03, `"Hi"`, `"\x41"`, 1),
		"half an escape":                strings.Replace(good03, `"Hi"`, `"\u12"`, 1),
		"depth 10,000 of arrays":        strings.Replace(good03, `"Hi"`, strings.Repeat("[", 10000)+strings.Repeat("]", 10000), 1),
		"depth 10,000 in metadata":      strings.Replace(good03, `"message":`, `"metadata":{"a":`+strings.Repeat("[", 10000)+strings.Repeat("]", 10000)+`},"message":`, 1),
		"depth 10,000 beside params":    strings.Replace(good03, `"params":`, `"x":`+strings.Repeat(`{"a":`, 10000)+"1"+strings.Repeat("}", 10000)+`,"params":`, 1),
		"unclosed depth 10,000":         strings.Repeat("[", 10000),
		"text is a number":              strings.Replace(good03, `"Hi"`, `1e400`, 1),
		"history of a huge number":      strings.Replace(good03, `"message":`, `"configuration":{"historyLength":1e400},"message":`, 1),
		"history beyond 32 bits":        strings.Replace(good03, `"message":`, `"configuration":{"historyLength":4294967296},"message":`, 1),
		"history of a fraction":         strings.Replace(good03, `"message":`, `"configuration":{"historyLength":1.5},"message":`, 1),
		"unknown role":                  strings.Replace(good03, `"user"`, `"root"`, 1),
		"parts is an object":            strings.Replace(good03, `"parts":[{"kind":"text","text":"Hi"}]`, `"parts":{"0":{"kind":"text","text":"Hi"}}`, 1),
		"no parts":                      strings.Replace(good03, `[{"kind":"text","text":"Hi"}]`, `[]`, 1),
		"two contents in 1.0":           strings.Replace(good10, `{"text":"Hi"}`, `{"text":"Hi","url":"https://example.com"}`, 1),
		"no content in 1.0":             strings.Replace(good10, `{"text":"Hi"}`, `{}`, 1),
		"no message id in 0.3":          strings.Replace(good03, `"messageId":"MESSAGEX",`, ``, 1),
		"no message id in 1.0":          strings.Replace(good10, `"messageId":"MESSAGEX",`, ``, 1),
		"no role in 1.0":                strings.Replace(good10, `"role":"ROLE_USER",`, ``, 1),
		"file with invalid base64":      strings.Replace(good10, `{"text":"Hi"}`, `{"raw":"***"}`, 1),
		"message is a string":           strings.Replace(good10, `{"messageId":"MESSAGEX","role":"ROLE_USER","parts":[{"text":"Hi"}]}`, `"Hi"`, 1),
		"message missing":               `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}`,
		"params missing":                `{"jsonrpc":"2.0","id":1,"method":"SendMessage"}`,
		"id missing in 0.1":             strings.Replace(good01, `"id":"TASKIDXX",`, ``, 1),
	}
	// Add a member a second time, and replace a member by a form that only a lenient parser accepts: in capitals, or in
	// letters that fold to the same (U+017F, U+212A).
	for version, text := range map[string]string{"0.1": good01, "0.3": good03, "1.0": good10} {
		for _, name := range []string{"jsonrpc", "id", "method", "params", "message", "role", "parts", "text"} {
			if !strings.Contains(text, `"`+name+`":`) {
				continue
			}
			member := `"` + name + `":`
			cases[fmt.Sprintf("%s: %s twice", version, name)] = strings.Replace(text, member, member+`null,`+member, 1)
			cases[fmt.Sprintf("%s: %s in capitals", version, name)] = strings.Replace(text, member, strings.ToUpper(member), 1)
			cases[fmt.Sprintf("%s: %s beside one in capitals", version, name)] = strings.Replace(text, member, strings.ToUpper(member)+`null,`+member, 1)
			if folded := strings.NewReplacer("s", "\u017f", "k", "\u212a").Replace(name); folded != name {
				cases[fmt.Sprintf("%s: %s in folding letters", version, name)] = strings.Replace(text, member, `"`+folded+`":`, 1)
			}
			cases[fmt.Sprintf("%s: %s twice, once escaped", version, name)] = strings.Replace(text, member,
				fmt.Sprintf(`"\u%04x%s":null,`, name[0], name[1:])+member, 1)
		}
	}
	return cases
}

func TestWire05_HostileJSON(t *testing.T) {
	r := sidecartest.Start(t, sidecartest.TextAgent)
	client := sidecartest.Client(t)
	cases := hostileJSON()
	for name, body := range cases {
		body := unique(body)
		t.Run(name, func(t *testing.T) {
			got := do(t, client, r.URL, request{method: http.MethodPost, path: "/", body: body})
			switch code := got.code(t); code {
			case -32700, -32600, -32601, -32602:
			default:
				t.Errorf("%.300s\nresponse: %s", body, got.body)
			}
		})
	}
	if calls := r.Calls(); calls != 0 {
		t.Errorf("the agent was called %d times", calls)
	}
	t.Logf("%d bodies refused, none seen by the agent", len(cases))
}

func TestWire05_HostileREST(t *testing.T) {
	r := sidecartest.Start(t, sidecartest.TextAgent)
	client := sidecartest.Client(t)
	count := 0
	for path, good := range map[string]string{
		"/message:send":           `{"message":{"messageId":"MESSAGEX","role":"ROLE_USER","parts":[{"text":"Hi"}]}}`,
		"/message:stream":         `{"message":{"messageId":"MESSAGEX","role":"ROLE_USER","parts":[{"text":"Hi"}]}}`,
		"/tenant/message:send":    `{"message":{"messageId":"MESSAGEX","role":"ROLE_USER","parts":[{"text":"Hi"}]}}`,
		"/v1/message:send":        `{"message":{"messageId":"MESSAGEX","role":"ROLE_USER","content":[{"text":"Hi"}]}}`,
		"/v1/message:send?kind=1": `{"message":{"kind":"message","messageId":"MESSAGEX","role":"user","parts":[{"kind":"text","text":"Hi"}]}}`,
	} {
		cases := map[string]string{
			"empty":             "",
			"not JSON":          "hello",
			"cut off":           good[:len(good)-1],
			"array":             "[" + good + "]",
			"string":            `"message"`,
			"null":              "null",
			"two values":        good + good,
			"brace at the end":  good + "}",
			"NUL at the end":    good + "\x00",
			"byte order mark":   "\xef\xbb\xbf" + good,
			"lone surrogate":    strings.Replace(good, `"Hi"`, `"\ud83d"`, 1),
			"invalid UTF-8":     strings.Replace(good, `"Hi"`, "\"\xc3\x28\"", 1),
			"NUL in a string":   strings.Replace(good, `"Hi"`, "\"H\x00i\"", 1),
			"text is a number":  strings.Replace(good, `"Hi"`, "1e400", 1),
			"depth 10,000":      strings.Replace(good, `"message":`, `"metadata":{"a":`+strings.Repeat("[", 10000)+strings.Repeat("]", 10000)+`},"message":`, 1),
			"unknown role":      strings.NewReplacer(`"ROLE_USER"`, `"ROLE_ROOT"`, `"user"`, `"root"`).Replace(good),
			"message missing":   "{}",
			"message is a text": `{"message":"Hi"}`,
		}
		for _, name := range []string{"message", "role", "parts", "content", "text"} {
			member := `"` + name + `":`
			if !strings.Contains(good, member) {
				continue
			}
			cases[name+" twice"] = strings.Replace(good, member, member+`null,`+member, 1)
			cases[name+" beside one in capitals"] = strings.Replace(good, member, strings.ToUpper(member)+`null,`+member, 1)
			cases[name+" in capitals"] = strings.Replace(good, member, strings.ToUpper(member), 1)
		}
		for name, body := range cases {
			count++
			got := do(t, client, r.URL, request{method: http.MethodPost, path: path, body: unique(body)})
			if got.status < http.StatusBadRequest || got.status >= http.StatusInternalServerError {
				t.Errorf("%s, %s: %.300s\nresponse: %d %s", path, name, body, got.status, got.body)
			}
		}
	}
	if calls := r.Calls(); calls != 0 {
		t.Errorf("the agent was called %d times", calls)
	}
	t.Logf("%d bodies refused, none seen by the agent", count)
}

// unique replaces MESSAGEX and TASKIDXX in a text by an id that no other case uses, because a repeated message would not
// reach the agent.
func unique(text string) string {
	id := strconv.FormatInt(number.Add(1), 16)
	id = strings.Repeat("0", 8-len(id)) + id
	return strings.NewReplacer("MESSAGEX", id, "TASKIDXX", id).Replace(text)
}

var number atomic.Int64

// hostileRequests returns requests that smuggle a second request, that two HTTP parsers may read differently, or whose
// path leads elsewhere after another decoding.
func hostileRequests() map[string]string {
	post := func(path, head, body string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: agent\r\nContent-Type: application/json\r\n" + head + "\r\n" + body
	}
	length := func(n int) string { return fmt.Sprintf("Content-Length: %d\r\n", n) }
	cases := map[string]string{
		"two lengths":                     post("/", length(len(good03))+length(3), good03),
		"chunked twice":                   post("/", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
		"chunked, then identity":          post("/", "Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
		"identity":                        post("/", "Transfer-Encoding: identity\r\n"+length(len(good03)), good03),
		"chunked behind a tab":            post("/", "Transfer-Encoding:\tchunked, x\r\n", "0\r\n\r\n"),
		"negative length":                 post("/", "Content-Length: -1\r\n", good03),
		"length with a sign":              post("/", fmt.Sprintf("Content-Length: +%d\r\n", len(good03)), good03),
		"length in hexadecimal":           post("/", fmt.Sprintf("Content-Length: 0x%x\r\n", len(good03)), good03),
		"two lengths in one line":         post("/", fmt.Sprintf("Content-Length: %d, 1\r\n", len(good03)), good03),
		"space before the colon":          post("/", length(len(good03))+"X-Test : 1\r\n", good03),
		"space in a name":                 post("/", length(len(good03))+"X Test: 1\r\n", good03),
		"NUL in a value":                  post("/", length(len(good03))+"A2A-Version: 0.3\x00\r\n", good03),
		"CR in a value":                   post("/", length(len(good03))+"A2A-Version: 0.3\rX: 1\r\n", good03),
		"no host":                         "POST / HTTP/1.1\r\nContent-Type: application/json\r\n" + length(len(good03)) + "\r\n" + good03,
		"two hosts":                       post("/", "Host: other\r\n"+length(len(good03)), good03),
		"space in the path":               post("/ x", length(len(good03)), good03),
		"NUL in the path":                 post("/\x00", length(len(good03)), good03),
		"chunk longer than its size":      post("/", "Transfer-Encoding: chunked\r\n", "1\r\n"+good03+"\r\n0\r\n\r\n"),
		"chunk with a negative size":      post("/", "Transfer-Encoding: chunked\r\n", "-1\r\n"+good03+"\r\n0\r\n\r\n"),
		"chunk with a huge size":          post("/", "Transfer-Encoding: chunked\r\n", "ffffffffffffffffff\r\n"+good03),
		"version 9":                       strings.Replace(post("/", length(len(good03)), good03), "HTTP/1.1", "HTTP/9.1", 1),
		"method with a CR":                "PO\rST / HTTP/1.1\r\nHost: agent\r\n\r\n",
		"head without an end, then bytes": "POST / HTTP/1.1\r\nHost: agent\r\n" + strings.Repeat("\x01", 64) + "\r\n\r\n",
	}
	// Paths that differ after a second decoding or after cleaning.
	for _, path := range []string{
		"/..", "/../", "/./..", "/%2e%2e/", "/%2e%2e%2f", "/..%2f", "/..%5c", "/%252e%252e/", "//", "///", "/.%2e/",
		"/%2f", "/%2fmessage:send", "/message%3asend%2f..", "/;/", "/..;/", "/%00", "/%0d%0aX:1", "/\\..\\", "/%c0%ae%c0%ae/",
		"/tasks/..%2f..%2f:cancel", "/tasks/%2e%2e/:cancel", "/v1/..%2fmessage:send", "/v1/%2e%2e/message:send",
		"/.well-known/..%2f..%2f", "/agents/../message:send", "/%E2%80%AE/", "/message:send%0d%0a",
		"/v1/tasks/%2e%2e:cancel", "/tasks/%00:cancel", "/tasks/a%2fb:cancel", "/tasks//:cancel", "/tasks/:cancel",
		"/tenant/../message:send", "/tenant%2f..%2f/message:send", "/v1/message:send/../message:stream",
		"/../message:send", "/%2e%2e/message:send", "/./message:send", "//message:send", "/message:send/", "/message:send%20",
		"/MESSAGE:SEND", "/Message:send", "/message%3Asteal", "/v1/message:steal", "/v2/message:send", "/v1", "/v1/",
		"/v1/v1/message:send", "/message:send:send", "/message:send%3f", "/tasks/x:cancel/", "/tasks/x:steal",
	} {
		cases["path "+path] = post(path, "Connection: close\r\n"+length(len(good01)), good01)
	}
	return cases
}

// TestWire05_HostileRequests sends each request on a separate connection. No part of a refused request may start a turn.
func TestWire05_HostileRequests(t *testing.T) {
	var mu sync.Mutex
	seen := ""
	r := sidecartest.Start(t, func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		mu.Lock()
		seen += string(body) + "\n"
		mu.Unlock()
		sidecartest.TextAgent(w, req)
	})
	cases := hostileRequests()
	t.Run("all", func(t *testing.T) {
		for name, text := range cases {
			text := unique(text)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				status, body := raw(t, strings.TrimPrefix(r.URL, "http://"), text)
				if status != 0 && status < http.StatusBadRequest && !strings.Contains(body, `"error"`) {
					t.Errorf("%.300q gets the response %d %s", text, status, body)
				}
			})
		}
	})
	if seen != "" {
		t.Errorf("the agent has seen %s", seen)
	}
	t.Logf("%d requests refused, none seen by the agent", len(cases))
}

// raw writes bytes, and returns the status and the body of the first response, 0 for none.
func raw(t *testing.T, address, text string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		return 0, "" // the connection was closed
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, "" // the connection was closed or waits for more
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}
