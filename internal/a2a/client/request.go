// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
)

// requestID is the id of every request of JSON-RPC. It need not be unique, because HTTP assigns each response to its
// request.
const requestID = "1"

// request is an operation with its parameters. The operation determines which fields are used.
type request struct {
	op      operation
	taskID  string
	tenant  string
	history *int
	send    *a2a.SendRequest
	list    *a2a.ListRequest
	push    *a2a.PushConfig
	// pageToken is the token of a page of push configurations.
	pageToken string
	// lastEventID is the id of the event after which a subscription resumes, "" for none.
	lastEventID string
}

// streams reports whether the response may be a stream.
func (r *request) streams() bool { return r.op == opStream || r.op == opSubscribe }

// sends reports whether the request contains a message.
func (r *request) sends() bool { return r.op == opSend || r.op == opStream }

// encode returns the method, the URL and the body of a request.
func (e *Endpoint) encode(r *request) (method string, u *url.URL, body []byte) {
	if e.Binding == card.HTTPJSON {
		return e.encodeHTTPJSON(r)
	}
	body = append(body, `{"jsonrpc":"2.0","id":"`+requestID+`"`...)
	body = jsonwrite.Member(body, `,"method":`, e.methods[r.op])
	body = append(body, `,"params":`...)
	switch r.op {
	case opGet:
		body = e.appendGet(body, &a2a.GetRequest{TaskID: r.taskID, Tenant: r.tenant, HistoryLength: r.history})
	case opCancel:
		body = e.appendCancel(body, &a2a.CancelRequest{TaskID: r.taskID, Tenant: r.tenant})
	case opSubscribe:
		body = e.appendSubscribe(body, &a2a.SubscribeRequest{TaskID: r.taskID, Tenant: r.tenant, HistoryLength: r.history})
	case opList:
		body = append(body, r.listParams(r.tenant)...)
	case opCreatePush:
		body = protojson.V10.AppendPush(body, r.push)
		if r.tenant != "" {
			body = jsonwrite.Member(body[:len(body)-1], `,"tenant":`, r.tenant)
			body = append(body, '}')
		}
	case opGetPush, opListPush, opDeletePush:
		body = append(body, r.pushParams()...)
	default:
		body = e.appendSend(body, r.send)
	}
	return http.MethodPost, e.URL, append(body, '}')
}

func (e *Endpoint) encodeHTTPJSON(r *request) (method string, u *url.URL, body []byte) {
	task := "/tasks/" + url.PathEscape(r.taskID)
	switch r.op {
	case opGet:
		u = e.at(r, task)
		if r.history != nil {
			addQuery(u, "historyLength="+strconv.Itoa(*r.history))
		}
		return http.MethodGet, u, nil
	case opCancel:
		return http.MethodPost, e.at(r, task+":cancel"), []byte("{}")
	case opSubscribe:
		return http.MethodPost, e.at(r, task+":subscribe"), []byte("{}")
	case opList:
		u = e.at(r, "/tasks")
		addQuery(u, r.listQuery())
		return http.MethodGet, u, nil
	case opCreatePush, opGetPush, opListPush, opDeletePush:
		return e.encodePush(r, task+"/pushNotificationConfigs")
	case opStream:
		return http.MethodPost, e.at(r, "/message:stream"), e.appendSend(nil, r.send)
	default:
		return http.MethodPost, e.at(r, "/message:send"), e.appendSend(nil, r.send)
	}
}

// at returns the URL of an escaped path of HTTP+JSON, which begins with a slash.
func (e *Endpoint) at(r *request, path string) *url.URL {
	if r.tenant != "" {
		path = "/" + url.PathEscape(r.tenant) + path
	}
	u := *e.URL
	u.RawPath = e.URL.EscapedPath() + e.prefix + path
	if unescaped, err := url.PathUnescape(u.RawPath); err == nil {
		u.Path = unescaped
	}
	return &u
}

// addQuery adds parameters to the query of a URL.
func addQuery(u *url.URL, parameters string) {
	if u.RawQuery != "" && parameters != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += parameters
}

// listParams returns the parameters of ListTasks in JSON.
func (r *request) listParams(tenant string) []byte {
	members := struct {
		Tenant        string `json:"tenant,omitempty"`
		ContextID     string `json:"contextId,omitempty"`
		Status        string `json:"status,omitempty"`
		PageSize      int    `json:"pageSize,omitempty"`
		PageToken     string `json:"pageToken,omitempty"`
		HistoryLength *int   `json:"historyLength,omitempty"`
	}{Tenant: tenant, ContextID: r.list.ContextID, PageSize: r.list.PageSize, PageToken: r.list.PageToken, HistoryLength: r.list.HistoryLength}
	if r.list.State != a2a.StateUnknown {
		members.Status = "TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(r.list.State.String(), "-", "_"))
	}
	text, _ := json.Marshal(members) // strings and numbers have a JSON form
	return text
}

// listQuery returns the parameters of ListTasks in a URL.
func (r *request) listQuery() string {
	decoder := json.NewDecoder(bytes.NewReader(r.listParams("")))
	decoder.UseNumber()
	var members map[string]any
	_ = decoder.Decode(&members) // cannot fail, because listParams returns a JSON object
	q := url.Values{}
	for name, value := range members {
		q.Set(name, fmt.Sprint(value))
	}
	return q.Encode()
}

// encodePush encodes an operation on push configurations in HTTP+JSON. path is the path of the task's push configurations.
func (e *Endpoint) encodePush(r *request, path string) (method string, u *url.URL, body []byte) {
	switch r.op {
	case opCreatePush:
		return http.MethodPost, e.at(r, path), protojson.V10.AppendPush(nil, r.push)
	case opListPush:
		u = e.at(r, path)
		if r.pageToken != "" {
			addQuery(u, url.Values{"pageToken": {r.pageToken}}.Encode())
		}
		return http.MethodGet, u, nil
	case opDeletePush:
		return http.MethodDelete, e.at(r, path+"/"+url.PathEscape(r.push.ID)), nil
	default:
		return http.MethodGet, e.at(r, path+"/"+url.PathEscape(r.push.ID)), nil
	}
}

// pushParams returns the parameters of an operation on existing push configurations in JSON-RPC.
func (r *request) pushParams() []byte {
	members := struct {
		Tenant    string `json:"tenant,omitempty"`
		TaskID    string `json:"taskId"`
		ID        string `json:"id,omitempty"`
		PageToken string `json:"pageToken,omitempty"`
	}{Tenant: r.tenant, TaskID: r.taskID, PageToken: r.pageToken}
	if r.push != nil {
		members.ID = r.push.ID
	}
	body, _ := json.Marshal(members) // strings have a JSON form
	return body
}
