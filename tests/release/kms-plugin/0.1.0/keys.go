package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/kms/pkg/service"
)

// keySize makes it AES-256.
const keySize = 32

// keys are those of a folder: each file is a key in base64, and its name says which. The last one by name encrypts, all of them decrypt.
type keys struct {
	folder string
	mutex  sync.Mutex
	known  map[string]cipher.AEAD
	newest string
}

var _ service.Service = (*keys)(nil)

// read takes all keys of the folder, or leaves those that are known as they are.
func (k *keys) read() error {
	entries, err := os.ReadDir(k.folder)
	if err != nil {
		return err
	}
	known, newest := map[string]cipher.AEAD{}, ""
	for _, entry := range entries {
		// A file that begins so is being written still: it gets its name by a rename.
		if entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if known[entry.Name()], err = readKey(filepath.Join(k.folder, entry.Name())); err != nil {
			return err
		}
		newest = entry.Name()
	}
	if newest == "" {
		return fmt.Errorf("there is no key in %s", k.folder)
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.known, k.newest = known, newest
	return nil
}

// readKey says nothing of what is in the file, also where that is no key.
func readKey(path string) (cipher.AEAD, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != keySize {
		return nil, fmt.Errorf("%s is no key: it is to have %d bytes in base64", path, keySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (k *keys) find(id string) (cipher.AEAD, bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	key, found := k.known[id]
	return key, found
}

// Status is what API servers ask once a minute. They take another key ID for another key, so the folder is read here.
func (k *keys) Status(context.Context) (*service.StatusResponse, error) {
	if err := k.read(); err != nil {
		return nil, err
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return &service.StatusResponse{Version: "v2", Healthz: "ok", KeyID: k.newest}, nil
}

// Encrypt takes the newest key that was read. An API server that was told of another one by Status takes no such answer, and asks for both again.
func (k *keys) Encrypt(_ context.Context, _ string, data []byte) (*service.EncryptResponse, error) {
	k.mutex.Lock()
	id, key := k.newest, k.known[k.newest]
	k.mutex.Unlock()
	return &service.EncryptResponse{KeyID: id, Ciphertext: key.Seal(nil, nil, data, []byte(id))}, nil
}

// Decrypt takes the key that the value names.
func (k *keys) Decrypt(_ context.Context, _ string, request *service.DecryptRequest) ([]byte, error) {
	key, found := k.find(request.KeyID)
	if !found {
		// The API server of another host may have heard of a new key first.
		if err := k.read(); err != nil {
			return nil, err
		}
		if key, found = k.find(request.KeyID); !found {
			return nil, fmt.Errorf("there is no key %q in %s", request.KeyID, k.folder)
		}
	}
	return key.Open(nil, nil, request.Ciphertext, []byte(request.KeyID))
}
