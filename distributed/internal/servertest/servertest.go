// Package servertest starts servers of object stores for tests.
package servertest

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Environment variables that name programs: an S3 server, versitygw, and one of Google's Cloud Storage,
// fake-gcs-server.
const (
	S3Server = "BOCHNER_S3_SERVER"
	GSServer = "BOCHNER_GS_SERVER"
)

// Keys of the server that [S3] starts.
const (
	AccessKey = "someone"
	SecretKey = "very-secret"
)

// S3 starts an S3 server on this host for the duration of the test, and returns a function that
// returns URLs in a bucket of it. It sets the credentials in the environment. It skips the test if
// no server is installed.
func S3(t *testing.T) func(path string) string {
	program := os.Getenv(S3Server)
	if program == "" {
		t.Skipf("no S3 server: go install github.com/versity/versitygw/cmd/versitygw@v1.8.0, and set its path in %s",
			S3Server)
	}
	dir := t.TempDir()
	for _, folder := range []string{"files/bucket", "about"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(folder)), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	address := free(t)
	serve(t, address, []string{"ROOT_ACCESS_KEY=" + AccessKey, "ROOT_SECRET_KEY=" + SecretKey},
		program, "--port", address, "--quiet", "posix", "--sidecar", filepath.Join(dir, "about"), filepath.Join(dir, "files"))
	for key, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": AccessKey, "AWS_SECRET_ACCESS_KEY": SecretKey, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_PROFILE": "", "AWS_REGION": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "",
	} {
		t.Setenv(key, value)
	}
	query := url.Values{"endpoint": {"http://" + address}}.Encode()
	return func(path string) string {
		return (&url.URL{Scheme: "s3", Host: "bucket", Path: "/" + path, RawQuery: query}).String()
	}
}

// GS starts a Google Cloud Storage server on this host until the end of the test, with the bucket
// "bucket", and sets the environment for it. The test is skipped if no server is installed.
func GS(t *testing.T) {
	program := os.Getenv(GSServer)
	if program == "" {
		t.Skipf("no server of Google's storage: go install github.com/fsouza/fake-gcs-server@v1.56.1, and set its path "+
			"in %s", GSServer)
	}
	address := free(t)
	host, port, _ := net.SplitHostPort(address)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bucket"), 0o777); err != nil {
		t.Fatal(err)
	}
	serve(t, address, nil, program, "-scheme", "http", "-host", host, "-port", port, "-public-host", address, "-backend",
		"memory", "-data", dir, "-log-level", "error")
	t.Setenv("STORAGE_EMULATOR_HOST", address)
}

// serve starts a server, waits until it listens, and ends it with the test.
func serve(t *testing.T, address string, environment []string, program string, args ...string) {
	var output bytes.Buffer
	server := exec.Command(program, args...)
	server.Env = append(os.Environ(), environment...)
	server.Stdout, server.Stderr = &output, &output
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		server.Wait()
	}()
	t.Cleanup(func() {
		server.Process.Kill()
		<-ended
	})
	for tries := 0; tries < 600; tries++ {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("%s ended: %s", program, output.String())
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatalf("%s does not listen on %s", program, address)
}

// free returns a local address without a listener.
func free(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr())
}
