package main

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestReapCollectsEveryEndedChild(t *testing.T) {
	const children = 3
	var pids []int
	for range children {
		command := exec.Command("/bin/sh", "-c", "exit 0")
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, command.Process.Pid)
	}
	deadline := time.Now().Add(10 * time.Second)
	for _, pid := range pids {
		for alive(pid) {
			if time.Now().After(deadline) {
				t.Fatalf("child %d was not reaped", pid)
			}
			reap()
			time.Sleep(time.Millisecond)
		}
	}
}

// alive says whether pid still has an entry in the process table, as a zombie has.
func alive(pid int) bool {
	process, err := os.FindProcess(pid)
	return err == nil && process.Signal(syscall.Signal(0)) == nil
}
