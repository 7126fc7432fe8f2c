package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	// maxConcurrent bounds the connections that all requests together hold open, far below the usual limit of 1024 files.
	maxConcurrent = 64
	// maxBody is more than any answer of an echo server; the rest of a larger one is not read.
	maxBody = 64 << 10
)

// result says whether one target answered. Node is what an echo server said about itself, empty for other servers.
type result struct {
	Target       string `json:"target"`
	OK           bool   `json:"ok"`
	Status       int    `json:"status"`
	Node         string `json:"node"`
	Error        string `json:"error"`
	Milliseconds int64  `json:"milliseconds"`
}

type checker struct {
	client *http.Client
	slots  chan struct{}
}

func newChecker() *checker {
	// Every check opens its own connection: one that was kept from before would not show that the path is open now. No proxy:
	// the question is whether this pod reaches the target itself.
	transport := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: maxBody}
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &checker{client: client, slots: make(chan struct{}, maxConcurrent)}
}

// all checks the targets concurrently and returns one result for each, in the order asked. The timeout holds for each target
// and begins when its turn comes.
func (c *checker) all(ctx context.Context, targets []string, timeout time.Duration) []result {
	results := make([]result, len(targets))
	var pending sync.WaitGroup
	for i, target := range targets {
		results[i].Target = target
		select {
		case c.slots <- struct{}{}:
		case <-ctx.Done():
			results[i].Error = "not tried: " + ctx.Err().Error()
			continue
		}
		pending.Go(func() {
			defer func() { <-c.slots }()
			c.one(ctx, &results[i], timeout)
		})
	}
	pending.Wait()
	return results
}

func (c *checker) one(ctx context.Context, to *result, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	start := time.Now()
	status, body, err := c.get(ctx, to.Target)
	to.Milliseconds = time.Since(start).Milliseconds()
	to.Status = status
	if err != nil {
		to.Error = err.Error()
		return
	}
	if status < 200 || status > 299 {
		to.Error = fmt.Sprintf("answered with status %d", status)
		return
	}
	to.OK = true
	var other identity
	if json.Unmarshal(body, &other) == nil {
		to.Node = other.Node
	}
}

// get returns the status, 0 where there was no answer, and at most maxBody bytes of the body.
func (c *checker) get(ctx context.Context, target string) (int, []byte, error) {
	address, err := url.Parse(target)
	if err != nil {
		return 0, nil, err
	}
	if (address.Scheme != "http" && address.Scheme != "https") || address.Host == "" {
		return 0, nil, fmt.Errorf("not an http:// or https:// address with a host")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return 0, nil, err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	return response.StatusCode, body, err
}
