// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcall

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
)

// BodyTimeout bounds the time that a client has to send its request body.
const BodyTimeout = 25 * time.Second

// bodyBuffers hold request bodies.
var bodyBuffers = sync.Pool{New: func() any { return new([]byte) }}

// Body reads the request body into memory that is charged to the caller until Release. It
// returns the error of the context if the client disconnected, and otherwise an *a2a.Error.
func (c *Call) Body() ([]byte, error) {
	if coding := c.R.Header.Get("Content-Encoding"); c.Framing == 0 && coding != "" && !strings.EqualFold(coding, "identity") {
		c.Status = http.StatusUnsupportedMediaType
		c.W.Header().Set("Accept-Encoding", "identity")
		return nil, &a2a.Error{Reason: a2a.ReasonContentTypeNotSupported, Message: "Content-Encoding must be identity: the body must not be compressed"}
	}
	most := c.Limits.MaxBody() + c.Framing
	if c.R.ContentLength > most {
		return nil, &a2a.Error{Reason: a2a.ReasonTooLarge}
	}
	if most >= maxPooled {
		c.pooled = bodyBuffers.Get().(*[]byte)
		c.body = (*c.pooled)[:0]
	}
	control := http.NewResponseController(c.W)
	// The write timeout of the server would end long responses, such as streams.
	_ = control.SetWriteDeadline(time.Time{})
	_ = control.SetReadDeadline(c.Limits.Now().Add(BodyTimeout))
	err := c.readBody(http.MaxBytesReader(c.W, c.R.Body, most), int(min(most+1, maxPooled)))
	wasStopped := false
	if c.transfer != nil {
		c.endTransfer()
		wasStopped = !c.transfer.Unstopped(func() {})
		c.transfer = nil // the answer has another one
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, &a2a.Error{Reason: a2a.ReasonTooLarge}
	}
	if problem, ok := errors.AsType[*a2a.Error](err); ok { // memory, or a limit of whole requests
		return nil, problem
	}
	if err != nil {
		// The read deadline stays; otherwise the server would wait for the rest of the
		// body.
		late := errors.Is(err, os.ErrDeadlineExceeded)
		if late && wasStopped {
			return nil, errSlow
		}
		if late {
			c.Status = http.StatusRequestTimeout
		}
		if ctxErr := c.R.Context().Err(); ctxErr != nil && !late {
			return nil, ctxErr
		}
		return nil, &a2a.Error{Reason: a2a.ReasonParse, Message: "Request body is incomplete"}
	}
	_ = control.SetReadDeadline(time.Time{})
	return c.body, nil
}

// Charge charges bytes to the caller in addition to the cost of the body, until Release. If the budget
// has no room in time, it returns errBusy, or the error of the context if that has ended.
func (c *Call) Charge(bytes int64) error {
	if !c.grow(memoryshare.BodyCost*int64(len(c.body)) + bytes) {
		return noMemory(c.R.Context())
	}
	return nil
}

// Release releases the memory of the body, which must not be used afterwards. A call that
// waits for its response releases its body first, because the bodies of all open streams
// would exhaust the budget.
func (c *Call) Release() {
	c.free()
	c.reservation.Release()
}

// Decoded releases the body of a message. The memory of a large one stays reserved until Release, or the function that Decoded
// returns, is called: what was decoded is counted nowhere else yet. The function is nil for a small one.
func (c *Call) Decoded() (release func()) {
	if c.reservation.Held() <= limit.Small {
		c.Release()
		return nil
	}
	c.free()
	return c.reservation.Release
}

// free gives the buffer of the body back.
func (c *Call) free() {
	if c.pooled != nil && c.body != nil && cap(c.body) <= maxPooled {
		*c.pooled = c.body
		bodyBuffers.Put(c.pooled)
	}
	c.pooled = nil
	c.body = nil
}

// readBody reads the body into c.body. The first buffer of a body of unknown length has unknown
// bytes. If the length of the body is declared, readBody
// charges and allocates its memory once.
func (c *Call) readBody(r io.Reader, unknown int) error {
	need := unknown
	if declared := c.R.ContentLength; declared >= 0 {
		need = int(declared) + 1
	}
	if !c.charge(int64(max(need, cap(c.body)))) {
		return noMemory(c.R.Context())
	}
	if cap(c.body) < need {
		c.body = make([]byte, 0, need)
	}
	r = c.watch(r)
	n, err := fill(r, c.body[:cap(c.body)])
	c.body = c.body[:n]
	if err == nil {
		err = c.readRest(r)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// pieceSize is the size of the pieces in which a large body of unknown length is stored
// until its end, in bytes. A growing buffer would leave as much garbage as the body is
// long.
const pieceSize = 1 << 20

// readRest reads the rest of a body that exceeds its buffer. It returns io.EOF at the end
// of the body.
func (c *Call) readRest(r io.Reader) error {
	var pieces []*[pieceSize]byte
	total := len(c.body)
	for {
		if !c.charge(int64(total) + pieceSize) {
			return noMemory(c.R.Context())
		}
		r = c.watch(r)
		piece := new([pieceSize]byte)
		pieces = append(pieces, piece)
		n, err := fill(r, piece[:])
		total += n
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		whole := append(make([]byte, 0, total), c.body...)
		for _, piece := range pieces {
			whole = append(whole, piece[:min(total-len(whole), pieceSize)]...)
		}
		c.body = whole
		return err
	}
}

// watch lets others have the memory of a large body that arrives slowly, if they wait for it. It returns r, which counts the bytes from then
// on.
func (c *Call) watch(r io.Reader) io.Reader {
	if c.transfer != nil || c.reservation.Held() <= limit.Small {
		return r
	}
	transfer, end := c.Limits.Bodies.Watch(&c.reservation, c.Limits.Now, func() { _ = http.NewResponseController(c.W).SetReadDeadline(c.Limits.Now()) })
	c.transfer = transfer
	c.endTransfer = end
	return &counted{r, transfer}
}

// counted is a body whose bytes a transfer counts.
type counted struct {
	io.Reader
	transfer *limit.Transfer
}

// Read implements io.Reader.
func (c *counted) Read(b []byte) (n int, err error) {
	n, err = c.Reader.Read(b)
	c.transfer.Moved(n)
	return n, err
}

// fill reads until the buffer is full or r returns an error. It returns that error, which is
// io.EOF at the end of r.
func fill(r io.Reader, buffer []byte) (n int, err error) {
	for n < len(buffer) && err == nil {
		var more int
		more, err = r.Read(buffer[n:])
		n += more
	}
	return n, err
}

// charge charges a body of a total number of bytes. It reports whether the budget had room in
// time. A body of at most 64 KiB costs only its bytes: decoding takes so little time that few of
// them are decoded at once.
func (c *Call) charge(total int64) bool {
	if total > maxPooled {
		total *= memoryshare.BodyCost
	}
	return c.grow(total)
}

// grow raises the call's reservation, which counts for its caller, to a total number of
// bytes. It reports whether the budget had room in time.
func (c *Call) grow(total int64) bool {
	return c.Limits.Bodies.Grow(c.R.Context(), &c.reservation, principalOf(c.R), total)
}
