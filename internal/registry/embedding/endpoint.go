// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package embedding

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// maxValueBytes bounds one number in a response, including its separator, in bytes.
	maxValueBytes = 32
	// maxEnvelope bounds the parts of a response other than its numbers, in bytes.
	maxEnvelope = 64 << 10
	// maxKey bounds the file of the API key, in bytes.
	maxKey = 16 << 10
)

// Label values of requests.
const (
	kindAgents    = "agents"
	kindQuery     = "query"
	resultOK      = "ok"
	resultFailed  = "failed"
	resultSkipped = "skipped"
)

// requests counts the requests of all embedders of a process.
var requests = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "a2a_registry_embedding_requests_total",
	Help: "Requests for embeddings of agents or of a query, by result. A skipped request was not sent, because the endpoint failed or is busy.",
}, []string{"kind", "result"})

// endpoint requests vectors from the endpoint for embeddings.
type endpoint struct {
	url, model string
	// keyFile is the path of the file with the API key, "" for none. It is read for each request, so that a new key
	// takes effect without a restart.
	keyFile string
	client  *http.Client
}

type embeddingsRequest struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format"`
}

type embeddingsResponse struct {
	Data []struct {
		Index     *int      `json:"index"`
		Embedding []float64 `json:"embedding"`
	} `json:"data"`
}

// embed returns the vectors of texts, in the order of the texts. All vectors have the same number of dimensions.
func (e *endpoint) embed(ctx context.Context, texts []string) ([]*Vector, error) {
	body, err := json.Marshal(embeddingsRequest{Model: e.model, Input: texts, EncodingFormat: "float"})
	if err != nil {
		return nil, fmt.Errorf("encode request for embeddings: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("request embeddings: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if e.keyFile != "" {
		key, err := readKey(e.keyFile)
		if err != nil {
			return nil, outageError{err}
		}
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := e.client.Do(request)
	if err != nil {
		return nil, outageError{fmt.Errorf("request embeddings: %w", err)}
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, statusError(response.StatusCode)
	}
	limit := int64(maxEnvelope + len(texts)*MaxDimensions*maxValueBytes)
	text, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return nil, outageError{fmt.Errorf("read embeddings: %w", err)}
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("read embeddings: the response has more than %d bytes", limit)
	}
	return decodeVectors(text, len(texts))
}

// statusError is the status of a response without vectors.
type statusError int

func (s statusError) Error() string {
	return fmt.Sprintf("request embeddings: the endpoint responds with status %d", int(s))
}

// refusesText reports whether a text in the request possibly caused the error, for example because
// it is too long for the model.
func refusesText(err error) bool {
	var status statusError
	return errors.As(err, &status) && slices.Contains([]statusError{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}, status)
}

// outageError is an error that no text in the request causes.
type outageError struct{ error }

func (o outageError) Unwrap() error { return o.error }

// isOutage reports whether an error concerns all texts, because no text in the request can have caused it.
func isOutage(err error) bool {
	status, isStatus := errors.AsType[statusError](err)
	if isStatus {
		return status != http.StatusInternalServerError && !refusesText(err)
	}
	_, is := errors.AsType[outageError](err)
	return is
}

func readKey(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("read API key of embeddings: %w", err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxKey))
	if err != nil {
		return "", fmt.Errorf("read API key of embeddings: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// errOrder is returned for a response from which it is unclear which vector belongs to which text.
var errOrder = errors.New("decode embeddings: the response must have one vector for each text, with its index")

// decodeVectors returns the vectors in the response to a request with count texts, in the order of
// the texts.
func decodeVectors(text []byte, count int) ([]*Vector, error) {
	var response embeddingsResponse
	if err := json.Unmarshal(text, &response); err != nil {
		return nil, fmt.Errorf("decode embeddings: %w", err)
	}
	if len(response.Data) != count {
		return nil, errOrder
	}
	vectors := make([]*Vector, count)
	for i := range response.Data {
		item := &response.Data[i]
		at := i
		if item.Index != nil {
			at = *item.Index
		}
		if at < 0 || at >= count || vectors[at] != nil {
			return nil, errOrder
		}
		vector, err := newVector(item.Embedding)
		if err != nil {
			return nil, fmt.Errorf("decode embeddings: %w", err)
		}
		vectors[at] = vector
	}
	for _, vector := range vectors {
		if len(vector.values) != len(vectors[0].values) {
			return nil, errOtherDimensions
		}
	}
	return vectors, nil
}
