// Package postgrestest starts a PostgreSQL of a test's own.
package postgrestest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// server is the one that the first test of a program that wants it starts.
var server struct {
	sync.Once
	url  string
	why  string // reason why there is no server
	stop func()
}

// URL returns the URL of a database of a temporary server that listens on the loopback interface
// only and accepts any password. It skips the test if no server can be started. Stop stops the
// server.
func URL(t testing.TB) string {
	t.Helper()
	server.Do(func() { server.why = start() })
	if server.why != "" {
		t.Skip("no PostgreSQL: " + server.why)
	}
	return server.url
}

// Stop stops the server, if there is one. Call it after all tests that use it.
func Stop() {
	if server.stop != nil {
		server.stop()
	}
}

// program finds one of PostgreSQL, which Debian keeps out of the path.
func program(name string) (string, error) {
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name); err == nil && len(found) > 0 {
		return slices.Max(found), nil
	}
	return exec.LookPath(name)
}

// as returns the command of a PostgreSQL program, which refuses to run as root: root runs it as user postgres.
func as(args ...string) *exec.Cmd {
	if os.Getuid() == 0 {
		args = append([]string{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "env", "HOME=/tmp"},
			args...)
	}
	return exec.Command(args[0], args[1:]...)
}

// start starts the server, or returns why it cannot.
func start() (why string) {
	initdb, err := program("initdb")
	if err != nil {
		return "initdb is not installed"
	}
	run, err := program("postgres")
	if err != nil {
		return "postgres is not installed"
	}
	dir, err := os.MkdirTemp("", "bochner-postgres-")
	if err != nil {
		return err.Error()
	}
	server.stop = func() { os.RemoveAll(dir) }
	if owner, err := user.Lookup("postgres"); os.Getuid() == 0 && err != nil {
		return "there is no user postgres to run it as"
	} else if os.Getuid() == 0 {
		uid, _ := strconv.Atoi(owner.Uid)
		gid, _ := strconv.Atoi(owner.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			return err.Error()
		}
	}
	data := filepath.Join(dir, "data")
	if out, err := as(initdb, "-D", data, "-U", "tester", "-A", "trust", "--no-sync", "-E", "UTF8",
		"--locale=C").CombinedOutput(); err != nil {
		return fmt.Sprintf("initdb: %v: %s", err, out)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err.Error()
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	var output log
	process := as(run, "-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1", "-c",
		"unix_socket_directories=", "-c", "fsync=off")
	process.Stdout, process.Stderr = &output, &output
	if err := process.Start(); err != nil {
		return err.Error()
	}
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	server.stop = func() {
		process.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			process.Process.Kill()
		}
		os.RemoveAll(dir)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	for begun := time.Now(); time.Since(begun) < 30*time.Second; time.Sleep(50 * time.Millisecond) {
		select {
		case err := <-ended:
			ended <- err
			return fmt.Sprintf("%v: %s", err, strings.TrimSpace(output.String()))
		default:
		}
		if strings.Contains(output.String(), "ready to accept connections") {
			server.url = "postgres://tester@" + address + "/postgres?sslmode=disable"
			return ""
		}
	}
	return "it does not answer"
}

// log collects the output of a program.
type log struct {
	sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.text.Write(p)
}

// String is all of it.
func (l *log) String() string {
	l.Lock()
	defer l.Unlock()
	return l.text.String()
}
