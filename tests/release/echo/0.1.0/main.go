// Command echo is a small HTTP server that says where it runs and whether it reaches others, so that a test can see the pod
// network from inside.
//
//	echo serve --listen :8080
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// version is set by the linker.
var version = "development"

// shutdownGrace is shorter than the 30 seconds that Kubernetes leaves a pod by default.
const shutdownGrace = 10 * time.Second

const usage = "usage: echo serve [--listen ADDRESS]\n       echo version\n"

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
}

func run(arguments []string, stdout, stderr io.Writer) error {
	if len(arguments) == 0 {
		return errors.New("no command\n" + usage)
	}
	switch arguments[0] {
	case "version":
		_, err := fmt.Fprintln(stdout, version)
		return err
	case "serve":
		flags := flag.NewFlagSet("serve", flag.ContinueOnError)
		flags.SetOutput(stderr)
		listen := flags.String("listen", ":8080", "address and port to listen on")
		if err := flags.Parse(arguments[1:]); err != nil {
			return err
		}
		if flags.NArg() > 0 {
			return fmt.Errorf("unexpected argument %q\n%s", flags.Arg(0), usage)
		}
		return serve(*listen)
	default:
		return fmt.Errorf("unknown command %q\n%s", arguments[0], usage)
	}
}

// serve answers until SIGTERM or SIGINT, then finishes what it has begun.
func serve(listen string) error {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	server := &http.Server{
		Addr:              listen,
		Handler:           newHandler(identityFromEnvironment()),
		ReadHeaderTimeout: 10 * time.Second,
		// The full number of targets makes a request line of about 100 KB.
		MaxHeaderBytes: 1 << 20,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	log.Printf("echo %s listens on %s", version, listen)
	select {
	case err := <-failed:
		return err
	case <-stop.Done():
	}
	// A second signal ends the process at once.
	cancel()
	grace, cancelGrace := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancelGrace()
	return server.Shutdown(grace)
}
