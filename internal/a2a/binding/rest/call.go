// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"net/http"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
	"github.com/a2a-operator/a2a-operator/internal/a2a/requestcheck"
)

// Config configures a Handler.
type Config struct {
	httpcall.Config
	// PublicCard returns the public card in a form. It is the response to a client of 0.3
	// that requests the extended card of an agent without one.
	PublicCard func(r *http.Request, form card.Form) ([]byte, error)
	// ErrorProfile returns the release of 1.0 that determines the statuses of errors. A nil
	// ErrorProfile means the latest release.
	ErrorProfile func() errormap.Profile
	// Streams configures streams.
	Streams sse.Config
}

// Handler serves the requests for which Owns returns true.
type Handler struct{ Config }

// call is the state of one request.
type call struct {
	httpcall.Call
	target
	started   time.Time
	profile   errormap.Profile
	operation *operation
	// dialect is resolved from the path and the body, before the body is decoded.
	dialect *dialect
	// body is empty unless the verb is POST.
	body       []byte
	query      *query
	owner      a2a.Owner
	extensions []string
}

// operation is the operation of a verb on a resource. name is its name in 1.0.
type operation struct {
	name  a2a.Method
	serve func(*Handler, *call) error
}

// target has the parts of the path of a request.
type target struct {
	resource resource
	// legacy is true for a path under /v1, which versions before 1.0 use.
	legacy bool
	// tenant is "" if the path has none.
	tenant       string
	task, config string
}

// outcome returns the outcome of a call that succeeds.
func (c *call) outcome() httpcall.Outcome {
	o := httpcall.Outcome{Binding: "rest", Started: c.started}
	if c.operation != nil {
		o.Method = c.operation.name
		o.Version = c.dialect.label
	}
	return o
}

// within returns the tenant of a request. named is the tenant in the body or the query, ""
// for none. If the path also has a tenant, the two must be equal. Under /v1, within ignores
// named.
func (c *call) within(named string) (string, error) {
	if c.legacy || named == "" {
		return c.tenant, nil
	}
	if c.tenant != "" && named != c.tenant {
		return "", a2a.InvalidParams("tenant", "is not the one of the path")
	}
	return named, requestcheck.CheckTenant(named)
}

// names returns an error if id, the id of a task in the body, differs from the id in the
// path. An empty id is valid. field is the name of the member of the body.
func (c *call) names(field, id string) error {
	if id != "" && id != c.task {
		return a2a.InvalidParams(field, "is not the task of the path")
	}
	return nil
}

// result writes a successful response. appendTo appends its body. size is an estimate of
// its length, in bytes.
func (c *call) result(size int, appendTo func([]byte) []byte) error {
	return c.WriteResult(c.dialect.answersIn(c.R.Header), size, appendTo)
}

// respond returns err if it is not nil. Otherwise, it writes a response with the result that
// appendTo encodes.
func respond[R interface{ Size() int }](c *call, appendTo func([]byte, R) []byte, result R, err error) error {
	if err != nil {
		return err
	}
	return c.result(result.Size(), func(dst []byte) []byte { return appendTo(dst, result) })
}

// resource is a kind of path.
type resource uint8

const (
	nothing resource = iota
	messageSend
	messageStream
	taskList
	task
	taskCancel
	taskSubscribe
	pushConfigs
	pushConfig
	agentCard
)

// status returns the HTTP status of an error.
func (c *call) status(problem *a2a.Error) int {
	return cmp.Or(c.Status, errormap.Lookup(problem, c.profile).HTTP)
}

// appendError appends the body of an error response. A client before 1.0 reads either the
// members of JSON-RPC, or those of gRPC, or a type. Errors of these versions therefore have
// all of them.
func (c *call) appendError(dst []byte, problem *a2a.Error) []byte {
	if !c.dialect.legacy {
		return c.appendStatus(append(dst, '{'), problem)
	}
	row := errormap.Lookup(problem, c.profile)
	dst = append(dst, '{')
	if row.Name != "" {
		dst = append(jsonwrite.Member(dst, `"type":`, row.Name), ',')
	}
	dst = jsonwrite.Int(dst, `"code":`, row.JSONRPC)
	dst = jsonwrite.Member(dst, `,"message":`, row.Text(problem))
	if problem.Field != "" {
		dst = append(dst, `,"data":{"reason":"`...)
		dst = append(dst, row.Reason...)
		dst = append(jsonwrite.Member(dst, `","field":`, problem.Field), '}')
	}
	dst = append(dst, ',')
	withoutTask := *problem
	withoutTask.TaskID = ""
	return c.appendStatus(dst, &withoutTask)
}

// appendStatus appends the member error of 1.0 and the end of the body.
func (c *call) appendStatus(dst []byte, problem *a2a.Error) []byte {
	row := errormap.Lookup(problem, c.profile)
	dst = jsonwrite.Int(dst, `"error":{"code":`, c.status(problem))
	dst = append(dst, `,"status":"`...)
	dst = append(dst, row.GRPC.Name...)
	dst = jsonwrite.Member(dst, `","message":`, row.Text(problem))
	dst = errormap.AppendDetails(append(dst, `,"details":`...), problem)
	return append(dst, "}}"...)
}

// appendStreamError encodes an error that ends a stream.
func (c *call) appendStreamError(err error) []byte {
	return c.appendStatus([]byte{'{'}, a2a.ErrorOf(err))
}
