// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2aclient

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
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/clientdialect"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/protojson"
)

// params are the parameters of an operation.
type params struct {
	send    *a2a.SendRequest
	list    *a2a.ListRequest
	taskID  string
	history *int
	push    *a2a.PushConfig
	// pageToken is the token of a page of push configurations.
	pageToken string
}

// encode returns the method, the URL and the body of an operation.
func (e *endpoint) encode(op clientdialect.Operation, p *params) (method string, u *url.URL, body []byte) {
	if e.Binding == card.HTTPJSON {
		return e.encodeHTTPJSON(op, p)
	}
	name, _ := json.Marshal(e.Methods[op]) //nolint:errchkjson // a string has a JSON form
	body = append([]byte(`{"jsonrpc":"2.0","id":"1","method":`), name...)
	body = append(body, `,"params":`...)
	switch op {
	case clientdialect.Get:
		body = e.AppendGet(body, &a2a.GetRequest{TaskID: p.taskID, Tenant: e.tenant, HistoryLength: p.history})
	case clientdialect.Cancel:
		body = e.AppendCancel(body, &a2a.CancelRequest{TaskID: p.taskID, Tenant: e.tenant})
	case clientdialect.Subscribe:
		body = e.AppendSubscribe(body, &a2a.SubscribeRequest{TaskID: p.taskID, Tenant: e.tenant})
	case clientdialect.List:
		body = append(body, listParams(p.list, e.tenant)...)
	case clientdialect.CreatePush, clientdialect.GetPush, clientdialect.ListPush, clientdialect.DeletePush:
		body = append(body, pushParams(op, p, e.tenant)...)
	default:
		body = e.AppendSend(body, p.send)
	}
	return http.MethodPost, e.url, append(body, '}')
}

func (e *endpoint) encodeHTTPJSON(op clientdialect.Operation, p *params) (method string, u *url.URL, body []byte) {
	at := e.url.JoinPath(e.Prefix)
	if path := e.url.Path; e.Prefix != "" && strings.HasSuffix(path, e.Prefix) {
		at = e.url // the URL on the card already ends with the prefix
	}
	if e.tenant != "" {
		at = at.JoinPath(url.PathEscape(e.tenant))
	}
	task := "tasks/" + url.PathEscape(p.taskID)
	switch op {
	case clientdialect.Get:
		u = at.JoinPath(task)
		if p.history != nil {
			u.RawQuery = "historyLength=" + strconv.Itoa(*p.history)
		}
		return http.MethodGet, u, nil
	case clientdialect.Cancel:
		return http.MethodPost, at.JoinPath(task + ":cancel"), []byte("{}")
	case clientdialect.Subscribe:
		return http.MethodPost, at.JoinPath(task + ":subscribe"), []byte("{}")
	case clientdialect.List:
		u = at.JoinPath("tasks")
		u.RawQuery = listQuery(p.list).Encode()
		return http.MethodGet, u, nil
	case clientdialect.CreatePush, clientdialect.GetPush, clientdialect.ListPush, clientdialect.DeletePush:
		return e.encodePush(op, p, at.JoinPath(task+"/pushNotificationConfigs"))
	case clientdialect.Stream:
		return http.MethodPost, at.JoinPath("message:stream"), e.AppendSend(nil, p.send)
	default:
		return http.MethodPost, at.JoinPath("message:send"), e.AppendSend(nil, p.send)
	}
}

// listParams returns the parameters of ListTasks in JSON.
func listParams(r *a2a.ListRequest, tenant string) []byte {
	members := struct {
		Tenant        string `json:"tenant,omitempty"`
		ContextID     string `json:"contextId,omitempty"`
		Status        string `json:"status,omitempty"`
		PageSize      int    `json:"pageSize,omitempty"`
		PageToken     string `json:"pageToken,omitempty"`
		HistoryLength *int   `json:"historyLength,omitempty"`
	}{Tenant: tenant, ContextID: r.ContextID, PageSize: r.PageSize, PageToken: r.PageToken, HistoryLength: r.HistoryLength}
	if r.State != a2a.StateUnknown {
		members.Status = "TASK_STATE_" + strings.ToUpper(strings.ReplaceAll(r.State.String(), "-", "_"))
	}
	text, _ := json.Marshal(members) //nolint:errchkjson // strings and numbers have a JSON form
	return text
}

// listQuery returns the parameters of ListTasks in a URL.
func listQuery(r *a2a.ListRequest) url.Values {
	decoder := json.NewDecoder(bytes.NewReader(listParams(r, "")))
	decoder.UseNumber()
	var members map[string]any
	_ = decoder.Decode(&members) // cannot fail, because listParams returns a JSON object
	q := url.Values{}
	for name, value := range members {
		q.Set(name, fmt.Sprint(value))
	}
	return q
}

// encodePush encodes an operation on push configurations in HTTP+JSON. at is the URL of the task's push configurations.
func (*endpoint) encodePush(op clientdialect.Operation, p *params, at *url.URL) (method string, u *url.URL, body []byte) {
	switch op {
	case clientdialect.CreatePush:
		return http.MethodPost, at, protojson.V10.AppendPush(nil, p.push)
	case clientdialect.ListPush:
		if p.pageToken != "" {
			at.RawQuery = url.Values{"pageToken": {p.pageToken}}.Encode()
		}
		return http.MethodGet, at, nil
	case clientdialect.DeletePush:
		return http.MethodDelete, at.JoinPath(url.PathEscape(p.push.ID)), nil
	default:
		return http.MethodGet, at.JoinPath(url.PathEscape(p.push.ID)), nil
	}
}

// pushParams returns the parameters of an operation on push configurations in JSON-RPC.
func pushParams(op clientdialect.Operation, p *params, tenant string) []byte {
	if op == clientdialect.CreatePush {
		body := protojson.V10.AppendPush(nil, p.push)
		if tenant != "" {
			name, _ := json.Marshal(tenant) //nolint:errchkjson // a string has a JSON form
			body = append(append(append(body[:len(body)-1], `,"tenant":`...), name...), '}')
		}
		return body
	}
	members := struct {
		Tenant    string `json:"tenant,omitempty"`
		TaskID    string `json:"taskId"`
		ID        string `json:"id,omitempty"`
		PageToken string `json:"pageToken,omitempty"`
	}{Tenant: tenant, TaskID: p.taskID, PageToken: p.pageToken}
	if p.push != nil {
		members.ID = p.push.ID
	}
	body, _ := json.Marshal(members) //nolint:errchkjson // strings have a JSON form
	return body
}
