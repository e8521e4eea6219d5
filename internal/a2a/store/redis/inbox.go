// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
)

const (
	// messageTTL is how long messages wait for a replica that does not receive
	// them.
	messageTTL = time.Hour
	// maxReceived and maxReceivedBytes bound the messages that one call of receive.lua
	// returns.
	maxReceived      = 64
	maxReceivedBytes = 1 << 20
	// maxInboxBytes bounds the number of messages in an inbox times the size of the message that
	// is posted, so that a replica that receives slowly does not fill the server.
	maxInboxBytes = 64 << 20
	// inboxPoll is the time after which an inbox is read without a notification, in
	// case that one was lost.
	inboxPoll = 10 * time.Second
	// maxMessageAge is the age from which on Receive skips a message. Its sender has stopped
	// waiting by then.
	maxMessageAge = time.Minute
)

// Post implements store.Inbox. It does not retry: if the response of the first attempt was
// lost, a retry would post the message twice. One call at a time posts a large message, because its encoding is another copy.
func (m *member) Post(ctx context.Context, to store.Replica, mail *store.InboxMessage) (string, error) {
	if r := mail.Request; r != nil && r.Message.Size() > limit.Small {
		release, err := m.acquireLoad(ctx, r.Owner)
		if err != nil {
			return "", err
		}
		defer release()
	}
	text, err := plainjson.Marshal(mail) // the names of the fields are the format; new fields are compatible
	if err != nil {
		return "", fmt.Errorf("write inbox message: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, m.options.Timeout)
	defer cancel()
	reply, err := m.calls.pipelined(ctx, m.scripts.post, len(text), string(to), text, store.MaxInbox, millis(messageTTL), maxInboxBytes)
	if err != nil {
		return "", err
	}
	switch v := reply.(type) {
	case string:
		return v, nil
	case int64:
		if v == 1 {
			return "", store.ErrNotFound
		}
		return "", store.ErrFull
	default:
		return "", errReply(reply)
	}
}

// Withdraw implements store.Inbox.
func (m *member) Withdraw(ctx context.Context, to store.Replica, place string) (bool, error) {
	reply, err := m.calls.run(ctx, m.scripts.withdraw, string(to), place)
	if err != nil {
		return false, err
	}
	n, err := integer(reply)
	return n == 1, err
}

// Receive implements store.Inbox. It does not retry: during an outage it returns
// store.ErrUnavailable.
func (m *member) Receive(ctx context.Context) ([]*store.InboxMessage, error) {
	bell := m.follower.inboxSignal(m.inboxKey(m.self))
	check := time.NewTicker(inboxPoll)
	defer check.Stop()
	for {
		mail, err := m.collect(ctx)
		if len(mail) > 0 || err != nil {
			return mail, err
		}
		select {
		case <-bell:
		case <-check.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// collect returns the messages in the inbox. It also confirms the messages of the previous
// call. No message is therefore lost if the response of a call is lost.
func (m *member) collect(ctx context.Context) ([]*store.InboxMessage, error) {
	reply, err := m.calls.run(ctx, m.scripts.receive, string(m.self), maxReceived, maxReceivedBytes, m.lastPlace, millis(messageTTL),
		millis(maxMessageAge))
	if err != nil {
		return nil, err
	}
	var mail []*store.InboxMessage
	a := newReplyReader(reply)
	had := a.text()
	for a.more() {
		one := &store.InboxMessage{}
		if err := json.Unmarshal([]byte(a.text()), one); err != nil { // the names of the fields are the format; new fields are compatible
			// The message is skipped, and so confirmed by the next call. Otherwise Redis would
			// return it again with every call, before all other messages.
			m.options.Log.ErrorContext(ctx, "inbox message not decoded", "error", err)
			continue
		}
		mail = append(mail, one)
	}
	if a.err != nil {
		return nil, a.err
	}
	m.lastPlace = had
	return mail, nil
}

func (m *member) inboxKey(of store.Replica) string { return m.options.Prefix + "b:" + string(of) }

// Claim implements store.Claims.
func (m *member) Claim(ctx context.Context, message string, c store.MessageClaim, window time.Duration) (store.MessageClaim, error) {
	ctx, cancel := context.WithTimeout(ctx, m.options.Timeout)
	defer cancel()
	reply, err := m.calls.pipelined(ctx, m.scripts.claim, len(message), message, claimText(c), millis(window), string(m.self))
	if err != nil {
		return store.MessageClaim{}, err
	}
	switch answer := reply.(type) {
	case string:
		return readClaim(answer), nil
	case int64:
		return store.MessageClaim{}, store.ErrNoLease
	default:
		return store.MessageClaim{}, errReply(reply)
	}
}

// KeepClaims implements store.Claims.
func (m *member) KeepClaims(ctx context.Context, window time.Duration) error {
	_, err := m.calls.run(ctx, m.scripts.keepClaims, string(m.self), millis(window))
	return err
}

// Unclaim implements store.Claims.
func (m *member) Unclaim(ctx context.Context, message string, c store.MessageClaim, tasks ...store.Key) (begun bool, err error) {
	args := []any{message, claimText(c)}
	for _, k := range tasks {
		args = append(args, nameOf(k))
	}
	reply, err := m.calls.run(ctx, m.scripts.unclaim, args...)
	return reply == int64(1), err
}

// readClaim decodes a claim. Claims of earlier versions have no nonce.
func readClaim(text string) store.MessageClaim {
	replica, task, _ := strings.Cut(text, "\n")
	nonce, named, ok := strings.Cut(task, "\n")
	if ok {
		task = named
	} else {
		nonce = ""
	}
	return store.MessageClaim{Replica: store.Replica(replica), TaskID: task, Nonce: nonce}
}

// claimText encodes a claim. Neither the name of a replica nor a nonce contains a
// line break.
func claimText(c store.MessageClaim) string {
	if c.Nonce == "" {
		return string(c.Replica) + "\n" + c.TaskID
	}
	return string(c.Replica) + "\n" + c.Nonce + "\n" + c.TaskID
}
