// Command kms-plugin is a KMS plugin (v2) of Kubernetes for tests: API servers of its host encrypt by it. Its keys lie in a folder of the same host, so whoever
// has the host has the keys: it is nothing for a cluster that somebody uses.
//
//	kms-plugin --socket /run/kms/vault.sock --keys /etc/kms-plugin
//
// It ends with status 0 on SIGTERM or SIGINT, and takes its socket with it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/kms/pkg/service"
)

// connectionTimeout is how long a client may take to begin, which it does at once.
const connectionTimeout = 5 * time.Second

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "kms-plugin:", err)
		os.Exit(1)
	}
}

func run(arguments []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("kms-plugin", flag.ContinueOnError)
	flags.SetOutput(stderr)
	socket := flags.String("socket", "", "path of the socket to listen on")
	folder := flags.String("keys", "", "folder of the keys: each file is one, 32 bytes in base64, and the last by name encrypts")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *socket == "" || *folder == "" || flags.NArg() > 0 {
		return errors.New("usage: kms-plugin --socket PATH --keys DIR")
	}
	known := &keys{folder: *folder}
	if err := known.read(); err != nil {
		return err
	}
	return serve(*socket, known)
}

// serve answers until SIGTERM or SIGINT, then finishes what it has begun.
func serve(socket string, known *keys) error {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return err
	}
	// One that was killed leaves its socket, and at that path nobody can listen any more.
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Nobody else may ask it, not for a moment: the socket is made with its rights.
	syscall.Umask(0o177)
	server := service.NewGRPCService(socket, connectionTimeout, known)
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return err
	case <-stop.Done():
	}
	// A second signal ends the process at once.
	cancel()
	server.Shutdown()
	return nil
}
