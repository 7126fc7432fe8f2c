// start is what the container of a node runs: it prepares the node, then keeps Calico's services going.
//
// It does what upstream's start_runit, rc.local and the `run` files of its services do, for a node whose backend is vxlan or
// none. There is no bird and no confd here, so every other backend is refused.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const (
	node     = "/bin/calico-node"
	nameFile = "/var/lib/calico/nodename"
	// A service that ends at once is not started again faster than this.
	pause = time.Second
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "calico-node could not be started:", err)
		os.Exit(1)
	}
}

func run() error {
	backend := os.Getenv("CALICO_NETWORKING_BACKEND")
	if backend != "vxlan" && backend != "none" {
		return fmt.Errorf("the backend %q needs bird, which this image has not", backend)
	}
	if err := command("-startup").Run(); err != nil {
		return fmt.Errorf("-startup: %w", err)
	}
	name, err := os.ReadFile(nameFile)
	if err != nil {
		return err
	}
	environment := map[string]string{"NODENAME": strings.TrimSpace(string(name)), "FELIX_FELIXHOSTNAME": strings.TrimSpace(string(name))}
	if store := os.Getenv("DATASTORE_TYPE"); store != "" {
		environment["FELIX_DATASTORETYPE"] = store
	}
	for key, value := range environment {
		if err := os.Setenv(key, value); err != nil {
			return err
		}
	}
	if err := command("-allocate-tunnel-addrs", "-allocate-tunnel-addrs-run-once").Run(); err != nil {
		return fmt.Errorf("-allocate-tunnel-addrs: %w", err)
	}
	services := []string{"-felix", "-allocate-tunnel-addrs", "-status-reporter"}
	if backend != "none" {
		services = append(services, "-monitor-addresses")
	}
	if os.Getenv("CALICO_MANAGE_CNI") != "false" {
		services = append(services, "-monitor-token")
	}
	for _, service := range services {
		go keep(service)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
	return nil
}

// keep starts a service again whenever it ends. The container's end ends them all: this is its first process.
func keep(service string) {
	for {
		err := command(service).Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			fmt.Fprintln(os.Stderr, service, "could not be started:", err)
		}
		time.Sleep(pause)
	}
}

func command(arguments ...string) *exec.Cmd {
	command := exec.Command(node, arguments...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	return command
}
