package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"
)

const (
	// maxTargets bounds what one request can make the server do: every pod of a 2000-pod cluster once.
	maxTargets = 2000
	// defaultTimeout is enough for a packet that is sent twice; a path that needs longer is broken.
	defaultTimeout = 2 * time.Second
	// maxTimeout keeps a request from holding its connections for long.
	maxTimeout = 30 * time.Second
)

// identity says where this server runs. Hostname is the pod's name; Node and PodIP come from the downward API.
type identity struct {
	Hostname string `json:"hostname"`
	Node     string `json:"node"`
	PodIP    string `json:"podIP"`
}

// answer is what `GET /` returns.
type answer struct {
	identity
	RemoteAddress string `json:"remoteAddress"`
}

func identityFromEnvironment() identity {
	hostname, err := os.Hostname()
	if err != nil {
		log.Printf("no host name: %v", err)
	}
	return identity{Hostname: hostname, Node: os.Getenv("NODE_NAME"), PodIP: os.Getenv("POD_IP")}
}

// newHandler serves `/`, `/healthz` and `/check`. Each server has its own bound on concurrent checks.
func newHandler(self identity) http.Handler {
	checks := newChecker()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, answer{self, r.RemoteAddr})
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /check", func(w http.ResponseWriter, r *http.Request) {
		targets, timeout, err := checkParameters(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		writeJSON(w, checks.all(r.Context(), targets, timeout))
	})
	return mux
}

// checkParameters reads `target` (one or more) and `timeout` (optional) of a check.
func checkParameters(r *http.Request) ([]string, time.Duration, error) {
	query := r.URL.Query()
	targets := query["target"]
	if len(targets) == 0 {
		return nil, 0, fmt.Errorf("no target: ask for /check?target=http://ADDRESS:PORT/")
	}
	if len(targets) > maxTargets {
		return nil, 0, fmt.Errorf("%d targets: at most %d in one request", len(targets), maxTargets)
	}
	text := query.Get("timeout")
	if text == "" {
		return targets, defaultTimeout, nil
	}
	timeout, err := time.ParseDuration(text)
	if err != nil || timeout <= 0 || timeout > maxTimeout {
		return nil, 0, fmt.Errorf("timeout %q: give a duration above 0 and up to %s, such as 2s", text, maxTimeout)
	}
	return targets, timeout, nil
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		log.Printf("answer not sent: %v", err)
	}
}
