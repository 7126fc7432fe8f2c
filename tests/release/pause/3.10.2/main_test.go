package main

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// asProgram makes the program of the tests be pause itself.
const asProgram = "PAUSE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestVersionIsPrintedAtOnce(t *testing.T) {
	deadline, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	command := exec.CommandContext(deadline, os.Args[0], "-v")
	command.Env = append(os.Environ(), asProgram+"=1")
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if string(output) != "pause unknown\n" {
		t.Fatalf("%q", output)
	}
}

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
