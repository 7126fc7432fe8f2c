package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

func echoServer(t *testing.T, node string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(newHandler(identity{Hostname: "pod", Node: node, PodIP: "10.0.0.1"}))
	t.Cleanup(server.Close)
	return server
}

func get[T any](t *testing.T, address string) (int, T) {
	t.Helper()
	var value T
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		if err := json.NewDecoder(response.Body).Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return response.StatusCode, value
}

func checkAddress(server *httptest.Server, timeout string, targets ...string) string {
	query := url.Values{"target": targets}
	if timeout != "" {
		query.Set("timeout", timeout)
	}
	return server.URL + "/check?" + query.Encode()
}

func TestRootSaysWhereItRuns(t *testing.T) {
	status, got := get[map[string]string](t, echoServer(t, "worker-1").URL+"/")
	if status != 200 || got["node"] != "worker-1" || got["hostname"] != "pod" || got["podIP"] != "10.0.0.1" {
		t.Fatalf("status %d, %v", status, got)
	}
	if host, _, err := net.SplitHostPort(got["remoteAddress"]); err != nil || host != "127.0.0.1" {
		t.Fatalf("remoteAddress %q", got["remoteAddress"])
	}
}

func TestCheckKeepsTheOrderAndTellsEachOutcome(t *testing.T) {
	server := echoServer(t, "asker")
	other := echoServer(t, "worker-2")
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closedURL := closed.URL
	closed.Close()
	status, got := get[[]result](t, checkAddress(server, "300ms", closedURL, slow.URL, other.URL+"/", other.URL+"/none", "ftp://x", other.URL+"/healthz"))
	if status != 200 || len(got) != 6 {
		t.Fatalf("status %d, %v", status, got)
	}
	wantOK := []bool{false, false, true, false, false, true}
	wantStatus := []int{0, 0, 200, 404, 0, 200}
	for i := range got {
		if got[i].OK != wantOK[i] || got[i].Status != wantStatus[i] || (got[i].Error == "") != wantOK[i] {
			t.Errorf("result %d: %+v", i, got[i])
		}
	}
	if got[2].Node != "worker-2" || got[5].Node != "" {
		t.Errorf("nodes %q and %q", got[2].Node, got[5].Node)
	}
}

func TestCheckRunsAtMostSoManyAtOnce(t *testing.T) {
	var mutex sync.Mutex
	now, most := 0, 0
	reached := make(chan struct{})
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		now++
		most = max(most, now)
		if most == maxConcurrent && now == maxConcurrent {
			select {
			case <-reached:
			default:
				close(reached)
			}
		}
		mutex.Unlock()
		// Nobody is let go before the bound is reached, so that the bound is really tried.
		select {
		case <-reached:
		case <-r.Context().Done():
		}
		mutex.Lock()
		now--
		mutex.Unlock()
	}))
	defer target.Close()
	targets := make([]string, 3*maxConcurrent)
	for i := range targets {
		targets[i] = fmt.Sprintf("%s/%d", target.URL, i)
	}
	_, got := get[[]result](t, checkAddress(echoServer(t, "asker"), "20s", targets...))
	for i, one := range got {
		if !one.OK || one.Target != targets[i] {
			t.Fatalf("result %d: %+v", i, one)
		}
	}
	if most != maxConcurrent {
		t.Fatalf("%d at once, want %d", most, maxConcurrent)
	}
}

func TestCheckReadsOnlyTheBeginningOfALargeAnswer(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		// Valid JSON only as a whole: a reader without a bound would find the node's name.
		fmt.Fprintf(w, `{"filler":%q,"node":"late"}`, strings.Repeat("x", 2*maxBody))
	}))
	defer target.Close()
	_, got := get[[]result](t, checkAddress(echoServer(t, "asker"), "", target.URL))
	if !got[0].OK || got[0].Node != "" {
		t.Fatalf("%+v", got[0])
	}
}

func TestCheckRefusesBadParameters(t *testing.T) {
	server := echoServer(t, "asker")
	tooMany := make([]string, maxTargets+1)
	for i := range tooMany {
		tooMany[i] = "http://a"
	}
	for name, address := range map[string]string{
		"no target":        server.URL + "/check",
		"too many":         checkAddress(server, "", tooMany...),
		"bad timeout":      checkAddress(server, "soon", "http://a"),
		"negative timeout": checkAddress(server, "-1s", "http://a"),
		"long timeout":     checkAddress(server, "1h", "http://a"),
	} {
		if status, _ := get[[]result](t, address); status != http.StatusBadRequest {
			t.Errorf("%s: status %d", name, status)
		}
	}
}

func TestOtherMethodsAndPathsAreRefused(t *testing.T) {
	server := echoServer(t, "asker")
	if status, _ := get[any](t, server.URL+"/none"); status != http.StatusNotFound {
		t.Errorf("unknown path: status %d", status)
	}
	response, err := http.Post(server.URL+"/", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", response.StatusCode)
	}
}

func TestRunRefusesUnknownCommands(t *testing.T) {
	for _, arguments := range [][]string{nil, {"go"}, {"serve", "more"}, {"serve", "--listen", "127.0.0.1:none"}} {
		finished := make(chan error, 1)
		go func() { finished <- run(arguments, &strings.Builder{}, &strings.Builder{}) }()
		select {
		case err := <-finished:
			if err == nil {
				t.Errorf("%v: no error", arguments)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%v: still running", arguments)
		}
	}
}
