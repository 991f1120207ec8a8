// Package fetch brings larger public data sets into a folder of this machine, once.
//
// Every file is known by its SHA-256, so it does not matter where it comes from: from one of the
// addresses listed, or put into the folder by hand on a machine with no network. A download that
// breaks off is continued by the next attempt; a file appears under its name when it is whole.
package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bochner-ml/bochner/internal/ctxerr"
)

// Set describes a data set and where its files are.
type Set struct {
	Name        string
	Title       string
	Doc         string // what the rows are and what is to be predicted
	Train       File
	Test        File     // its Name is empty where there is no official division
	Columns     []string // of the files, which are CSV without a header
	Target      string
	Rows        [2]int // of Train and Test
	Attribution string
	License     string
}

// File is one file of a set.
type File struct {
	Name   string
	SHA256 string
	URLs   []string // tried in this order
}

// Cache is a folder for the files of sets, a folder for each set. Its zero value is [Dir].
type Cache struct {
	Dir      string
	Base     string                               // where set is: files come from Base/set/file and nowhere else
	Client   *http.Client                         // nil is one with patience for slow servers
	Progress func(file string, done, total int64) // called now and then; total is -1 where unknown
}

// Dir returns the folder that $BOCHNER_CACHE names, or else "bochner" in the user's folder for
// caches.
func Dir() (string, error) {
	if dir := os.Getenv("BOCHNER_CACHE"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("fetch: no folder for data: %w; set BOCHNER_CACHE to one", err)
	}
	return filepath.Join(dir, "bochner"), nil
}

// Names returns the names of the sets in alphabetical order.
func Names() []string {
	names := make([]string, len(sets))
	for i, s := range sets {
		names[i] = s.Name
	}
	return names
}

// About describes the set called name.
func About(name string) (Set, error) {
	i := slices.IndexFunc(sets, func(s Set) bool { return s.Name == name })
	if i < 0 {
		return Set{}, fmt.Errorf("fetch: no data set %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return sets[i], nil
}

// Fetch returns the paths of the files of the set called name, which it fetches where they are not in
// the folder yet; test is empty where the set has no such file.
func (c Cache) Fetch(ctx context.Context, name string) (train, test string, err error) {
	s, err := About(name)
	if err != nil {
		return "", "", err
	}
	if train, err = c.Get(ctx, name, s.Train); err != nil || s.Test.Name == "" {
		return train, "", err
	}
	test, err = c.Get(ctx, name, s.Test)
	return train, test, err
}

// busy holds a lock for every path that this process fetches.
var busy sync.Map

// Get returns the path of one file of a set, which it fetches where it is not in the folder yet. It
// may be called at the same time by many goroutines and processes.
func (c Cache) Get(ctx context.Context, set string, f File) (path string, err error) {
	if c.Dir == "" {
		if c.Dir, err = Dir(); err != nil {
			return "", err
		}
	}
	path = filepath.Join(c.Dir, set, f.Name)
	lock, _ := busy.LoadOrStore(path, new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	switch err := check(path, f.SHA256); {
	case err == nil:
		return path, nil
	case !errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("fetch: %s: %w; remove it to fetch it again", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("fetch: %w", err)
	}
	if err := c.download(ctx, set, f, path); err != nil {
		if ctx.Err() != nil {
			return "", ctxerr.Check(ctx)
		}
		return "", fmt.Errorf("fetch: %s: %w\nwithout a network, put the file with SHA-256 %s at %s", f.Name, err, f.SHA256, path)
	}
	return path, nil
}

// attempts is how often a file is tried from each address.
const attempts = 3

// download tries one address after the other until the file is whole.
func (c Cache) download(ctx context.Context, set string, f File, path string) error {
	part, err := claim(path)
	if err != nil {
		return err
	}
	defer release(part, path)
	urls := f.URLs
	if c.Base != "" {
		urls = []string{strings.TrimSuffix(c.Base, "/") + "/" + set + "/" + f.Name}
	}
	for _, url := range urls {
		for range attempts {
			more, e := c.try(ctx, url, f, part)
			if e == nil {
				return os.Rename(part, path)
			}
			err = fmt.Errorf("%s: %w", url, e)
			if ctx.Err() != nil || !more {
				break
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return err
}

// try appends to part what it lacks, and checks it. It reports whether another attempt at the same
// address may succeed.
func (c Cache) try(ctx context.Context, url string, f File, part string) (more bool, err error) {
	out, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return false, err
	}
	defer out.Close()
	info, err := out.Stat()
	if err != nil {
		return false, err
	}
	held := info.Size()
	if held > 0 && check(part, f.SHA256) == nil {
		return false, nil
	}
	sent, held, err := c.request(ctx, url, out, held)
	if err != nil {
		return false, err
	}
	defer sent.Close()
	if err := c.copy(out, sent, f.Name, held); err != nil {
		return true, fmt.Errorf("broke off: %w", err)
	}
	if err := out.Close(); err != nil {
		return false, err
	}
	if err := check(part, f.SHA256); err != nil {
		os.Remove(part)
		return held > 0, err // what was there before may have been to blame
	}
	return false, nil
}

// body is what a server sends, and how long the file will be.
type body struct {
	io.ReadCloser
	total int64 // -1 where unknown
}

// request asks for the bytes from held on, and empties out where the server sends all of them.
func (c Cache) request(ctx context.Context, url string, out *os.File, held int64) (body, int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return body{}, 0, err
	}
	req.Header.Set("Accept-Encoding", "identity")
	if held > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", held))
	}
	client := c.Client
	if client == nil {
		client = patient
	}
	resp, err := client.Do(req)
	if err != nil {
		var at *neturl.Error
		if errors.As(err, &at) {
			err = at.Err // download names the address
		}
		return body{}, 0, err
	}
	switch {
	case resp.StatusCode == http.StatusPartialContent && strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", held)):
	case resp.StatusCode == http.StatusOK:
		held = 0
		err = out.Truncate(0)
	case held > 0:
		resp.Body.Close()
		if err := out.Truncate(0); err != nil {
			return body{}, 0, err
		}
		return c.request(ctx, url, out, 0)
	default:
		err = errors.New(resp.Status)
	}
	if err != nil {
		resp.Body.Close()
		return body{}, 0, err
	}
	b := body{resp.Body, -1}
	if resp.ContentLength >= 0 {
		b.total = held + resp.ContentLength
	}
	return b, held, nil
}

var patient = &http.Client{Transport: &http.Transport{
	Proxy:                 http.ProxyFromEnvironment,
	ResponseHeaderTimeout: time.Minute,
	TLSHandshakeTimeout:   30 * time.Second,
}}

// copy writes what the server sends, and tells how far it is.
func (c Cache) copy(out io.Writer, b body, name string, done int64) error {
	buf := make([]byte, 256<<10)
	for {
		n, err := b.Read(buf)
		if _, err := out.Write(buf[:n]); err != nil {
			return err
		}
		done += int64(n)
		if c.Progress != nil {
			c.Progress(name, done, b.total)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w after %d bytes", err, done)
		}
	}
}

// check compares the hash of a file.
func check(path, want string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("SHA-256 is %s, wanted %s", got, want)
	}
	return nil
}
