// Command pause holds a pod's namespaces open. As process 1 of a pod that shares its process namespace it also reaps the
// children that others left behind. It ends with status 0 on SIGTERM or SIGINT.
//
// With -v it prints its version and ends at once, as upstream's does: `kubeadm upgrade` takes a Job that runs this for its proof
// that the cluster works.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// version is set by the linker.
var version = "unknown"

func main() {
	if slices.Contains(os.Args[1:], "-v") {
		fmt.Println("pause", version)
		return
	}
	signals := make(chan os.Signal, 16)
	// The kernel drops signals that process 1 has no handler for, so the ones that end a pod must be asked for by name.
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	// Children that ended before the handler was there left no signal behind.
	reap()
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

// reap collects every child that has ended. One SIGCHLD may stand for several of them.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
	}
}
