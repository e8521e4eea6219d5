// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// receiver is a webhook. It refuses the first delivery of each fifth event, so that the sidecar must repeat it.
type receiver struct {
	server *http.Server
	// url is at an address of this machine, because pods post to no loopback address.
	url, cidr string

	mu sync.Mutex
	// got are the deliveries by the id of the event.
	got map[string]*delivery
	// order are the numbers of the accepted events of each task, in the order of their first acceptance.
	order   map[string][]uint64
	refused int
}

type delivery struct {
	body     []byte
	accepted bool
	isEnd    bool
	// other is the body with which the event came again, if it is another one.
	other []byte
}

// deliveryTimeout is longer than a takeover of the deliveries of a dead sidecar takes.
const deliveryTimeout = 90 * time.Second

func newReceiver(ctx context.Context) (*receiver, error) {
	address, err := ownAddress()
	if err != nil {
		return nil, err
	}
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, err
	}
	r := &receiver{url: "http://" + listener.Addr().String() + "/", cidr: address + "/32", got: map[string]*delivery{}, order: map[string][]uint64{}}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: callTimeout}
	go func() { _ = r.server.Serve(listener) }()
	return r, nil
}

// ownAddress returns an IPv4 address of this machine that is not of the loopback interface.
func ownAddress() (string, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, each := range all {
		if network, isNetwork := each.(*net.IPNet); isNetwork && network.IP.To4() != nil && network.IP.IsGlobalUnicast() {
			return network.IP.String(), nil
		}
	}
	return "", errors.New("this machine has only loopback addresses")
}

func (r *receiver) stop() { _ = r.server.Close() }

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	event := request.Header.Get("X-A2A-Event-Id")
	task, number := splitEvent(event)
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.got[event]
	isFirst := d == nil
	if isFirst {
		d = &delivery{body: body, isEnd: isEnd(body)}
		r.got[event] = d
	}
	if !bytes.Equal(d.body, body) {
		d.other = body
	}
	const refusedShare = 5
	if isFirst && number%refusedShare == 0 {
		r.refused++
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if !d.accepted {
		d.accepted = true
		r.order[task] = append(r.order[task], number)
	}
}

func splitEvent(event string) (task string, number uint64) {
	i := strings.LastIndex(event, ":")
	if i < 0 {
		return "", 0
	}
	number, _ = strconv.ParseUint(event[i+1:], 10, 64)
	task, _ = url.PathUnescape(event[:i])
	return task, number
}

// isEnd reports whether an event ends its task.
func isEnd(body []byte) bool {
	var event struct {
		taskState // of 0.3

		Task         taskState `json:"task"`
		StatusUpdate taskState `json:"statusUpdate"`
	}
	_ = json.Unmarshal(body, &event)
	return event.hasEnded() || event.Task.hasEnded() || event.StatusUpdate.hasEnded()
}

// await waits until the webhook has accepted the ends of all tasks, for at most deliveryTimeout, and returns their number.
func (r *receiver) await(ctx context.Context, tasks []*startedTask) (ended int) {
	for begin := time.Now(); ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		ends := r.ends()
		ended = 0
		for _, t := range tasks {
			if ends[t.id] {
				ended++
			}
		}
		if ended == len(tasks) || time.Since(begin) > deliveryTimeout {
			break
		}
	}
	return ended
}

// ends returns the tasks whose end the webhook has accepted.
func (r *receiver) ends() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	ends := map[string]bool{}
	for event, d := range r.got {
		if d.accepted && d.isEnd {
			task, _ := splitEvent(event)
			ends[task] = true
		}
	}
	return ends
}

// problems returns what is wrong with the deliveries of a task.
func (r *receiver) problems(t *startedTask) (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	hasEnd := false
	for event, d := range r.got {
		if task, _ := splitEvent(event); task != t.id {
			continue
		}
		hasEnd = hasEnd || d.accepted && d.isEnd
		if d.other != nil {
			all = append(all, fmt.Sprintf("the notification %s came with two bodies: %s and %s", event, d.body, d.other))
		}
	}
	if !hasEnd {
		all = append(all, "the webhook did not get the end")
	}
	order := r.order[t.id]
	for i := 1; i < len(order); i++ {
		if order[i] < order[i-1] {
			all = append(all, fmt.Sprintf("the notification %d came after %d of %v", order[i], order[i-1], order))
		}
	}
	return all
}

func (r *receiver) refusals() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}
