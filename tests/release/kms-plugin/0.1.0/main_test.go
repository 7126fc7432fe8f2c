package main

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	kmsapi "k8s.io/kms/apis/v2"
	"k8s.io/kms/pkg/service"
)

// asProgram makes the program of the tests be the plugin itself.
const asProgram = "KMS_PLUGIN_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// write puts a key into a folder, of one byte over and over.
func write(t *testing.T, folder, name string, of byte) {
	t.Helper()
	text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(of), keySize)))
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func status(t *testing.T, known *keys) string {
	t.Helper()
	said, err := known.Status(t.Context())
	if err != nil || said.Version != "v2" || said.Healthz != "ok" {
		t.Fatalf("%+v: %v", said, err)
	}
	return said.KeyID
}

func encrypt(t *testing.T, known *keys, text string) *service.DecryptRequest {
	t.Helper()
	said, err := known.Encrypt(t.Context(), "", []byte(text))
	if err != nil || strings.Contains(string(said.Ciphertext), text) {
		t.Fatalf("%+v: %v", said, err)
	}
	return &service.DecryptRequest{Ciphertext: said.Ciphertext, KeyID: said.KeyID}
}

func TestTheLastKeyByNameEncryptsAndAllDecrypt(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "key-1", '1')
	known, other := &keys{folder: folder}, &keys{folder: folder}
	if status(t, known) != "key-1" || status(t, other) != "key-1" {
		t.Fatal("there is one key")
	}
	first := encrypt(t, known, "a word")
	write(t, folder, ".key-9", '9')
	write(t, folder, "key-2", '2')
	if again := encrypt(t, known, "a word"); again.KeyID != "key-1" || string(again.Ciphertext) == string(first.Ciphertext) {
		t.Fatalf("nobody has asked for the newest key yet, and no value is like another: %+v", again)
	}
	if newest := status(t, known); newest != "key-2" {
		t.Fatal(newest)
	}
	second := encrypt(t, known, "a word")
	// The other one has not looked since.
	for _, request := range []*service.DecryptRequest{first, second} {
		if text, err := other.Decrypt(t.Context(), "", request); err != nil || string(text) != "a word" {
			t.Fatalf("%s: %q, %v", request.KeyID, text, err)
		}
	}
	if second.KeyID != "key-2" {
		t.Fatal(second.KeyID)
	}
	for _, id := range []string{"key-1", "key-3"} {
		if text, err := known.Decrypt(t.Context(), "", &service.DecryptRequest{Ciphertext: second.Ciphertext, KeyID: id}); err == nil {
			t.Fatalf("by %s it is %q", id, text)
		}
	}
}

func TestWhatIsNoKeyIsRefused(t *testing.T) {
	folder := t.TempDir()
	known := &keys{folder: folder}
	if _, err := known.Status(t.Context()); err == nil {
		t.Fatal("there is no key")
	}
	write(t, folder, "key-1", '1')
	status(t, known)
	value := encrypt(t, known, "a word")
	const short = "c2hvcnQ="
	if err := os.WriteFile(filepath.Join(folder, "key-2"), []byte(short), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := known.Status(t.Context()); err == nil || strings.Contains(err.Error(), short) {
		t.Fatalf("%v", err)
	}
	if _, err := known.Decrypt(t.Context(), "", value); err != nil {
		t.Fatalf("those that were known are: %v", err)
	}
	for _, arguments := range [][]string{nil, {"--keys", folder}, {"--socket", "s"}, {"--socket", "s", "--keys", folder, "more"}, {"--socket", "s", "--keys", folder}} {
		if err := run(arguments, io.Discard); err == nil {
			t.Fatalf("%v: no error", arguments)
		}
	}
}

// started is the plugin as a program, with a client of it.
func started(deadline context.Context, t *testing.T, socket, folder string) (*exec.Cmd, kmsapi.KeyManagementServiceClient) {
	t.Helper()
	command := exec.CommandContext(deadline, os.Args[0], "--socket", socket, "--keys", folder)
	command.Env = append(os.Environ(), asProgram+"=1")
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return command, kmsapi.NewKeyManagementServiceClient(connection)
}

func TestItListensUntilItIsAskedToEnd(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "key-1", '1')
	socket := filepath.Join(t.TempDir(), "own", "vault.sock")
	// What one that was killed has left.
	if err := errors.Join(os.Mkdir(filepath.Dir(socket), 0o700), syscall.Mknod(socket, syscall.S_IFSOCK|0o777, 0)); err != nil {
		t.Fatal(err)
	}
	deadline, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	command, client := started(deadline, t, socket, folder)
	said, err := client.Status(deadline, &kmsapi.StatusRequest{}, grpc.WaitForReady(true))
	if err != nil || said.Version != "v2" || said.Healthz != "ok" || said.KeyId != "key-1" {
		t.Fatalf("%v: %v", said, err)
	}
	closed, err := client.Encrypt(deadline, &kmsapi.EncryptRequest{Plaintext: []byte("a word"), Uid: "1"})
	if err != nil {
		t.Fatal(err)
	}
	open, err := client.Decrypt(deadline, &kmsapi.DecryptRequest{Ciphertext: closed.Ciphertext, KeyId: closed.KeyId, Uid: "2"})
	if err != nil || string(open.Plaintext) != "a word" {
		t.Fatalf("%v: %v", open, err)
	}
	if found, err := os.Stat(socket); err != nil || found.Mode() != fs.ModeSocket|0o600 {
		t.Fatalf("%v: %v", found, err)
	}
	if err := errors.Join(command.Process.Signal(syscall.SIGTERM), command.Wait()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(socket); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the socket is there still: %v", err)
	}
}
