package fetch_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/datasets/fetch"
)

// server serves one file and counts what it is asked.
type server struct {
	*httptest.Server
	data     []byte
	requests atomic.Int32
	ranges   []string
	breakOff int // bytes after which the connection breaks off; 0 for never
	status   int // answered instead of the file; 0 for the file
	noRange  bool
}

func serve(t *testing.T, data []byte) *server {
	s := &server{data: data}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if r.URL.Path != "/set/data.csv" {
			http.NotFound(w, r)
			return
		}
		s.ranges = append(s.ranges, r.Header.Get("Range"))
		if s.status != 0 {
			w.WriteHeader(s.status)
			return
		}
		if s.noRange {
			r.Header.Del("Range")
		}
		if s.breakOff > 0 {
			w = &breaking{ResponseWriter: w, left: s.breakOff}
		}
		http.ServeContent(w, r, "data.csv", time.Time{}, strings.NewReader(string(s.data)))
	}))
	t.Cleanup(s.Close)
	return s
}

// breaking is a connection that breaks off.
type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Write(p []byte) (int, error) {
	if len(p) > b.left {
		b.ResponseWriter.Write(p[:b.left])
		b.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	b.left -= len(p)
	return b.ResponseWriter.Write(p)
}

func content(n int) ([]byte, fetch.File) {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	sum := sha256.Sum256(data)
	return data, fetch.File{Name: "data.csv", SHA256: hex.EncodeToString(sum[:])}
}

func mustHold(t *testing.T, dir string, path string, data []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != string(data) {
		t.Fatalf("the file has %d bytes, %v; wanted %d", len(got), err, len(data))
	}
	entries, _ := os.ReadDir(filepath.Join(dir, "set"))
	for _, e := range entries {
		if e.Name() != "data.csv" {
			t.Errorf("%s is left over", e.Name())
		}
	}
}

func TestGet(t *testing.T) {
	data, f := content(1 << 20)
	s := serve(t, data)
	var last, total int64
	c := fetch.Cache{Dir: t.TempDir(), Base: s.URL, Progress: func(_ string, d, n int64) { last, total = d, n }}
	path, err := c.Get(context.Background(), "set", f)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, c.Dir, path, data)
	if last != 1<<20 || total != 1<<20 {
		t.Errorf("progress ended at %d of %d", last, total)
	}
	s.Close()
	if again, err := c.Get(context.Background(), "set", f); err != nil || again != path {
		t.Errorf("a file that is there: %s, %v", again, err)
	}
	if n := s.requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// TestResume: what a broken connection has brought is not fetched again.
func TestResume(t *testing.T) {
	data, f := content(1 << 20)
	s := serve(t, data)
	s.breakOff = 400_000
	c := fetch.Cache{Dir: t.TempDir(), Base: s.URL}
	path, err := c.Get(context.Background(), "set", f)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, c.Dir, path, data)
	if got := fmt.Sprint(s.ranges); got != "[ bytes=400000- bytes=800000-]" {
		t.Errorf("ranges %s", got)
	}
}

// TestTruncated: after three broken connections it gives up, and the next call goes on from there.
func TestTruncated(t *testing.T) {
	data, f := content(1 << 20)
	s := serve(t, data)
	s.breakOff = 100_000
	c := fetch.Cache{Dir: t.TempDir(), Base: s.URL}
	path := filepath.Join(c.Dir, "set", "data.csv")
	_, err := c.Get(context.Background(), "set", f)
	want := fmt.Sprintf("fetch: data.csv: %s/set/data.csv: broke off: unexpected EOF after 300000 bytes\nwithout a network, put the file with SHA-256 %s at %s", s.URL, f.SHA256, path)
	if err == nil || err.Error() != want {
		t.Fatalf("\n got %v\nwant %s", err, want)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("half a file has the name of a whole one")
	}
	s.breakOff = 0
	if _, err := c.Get(context.Background(), "set", f); err != nil {
		t.Fatal(err)
	}
	mustHold(t, c.Dir, path, data)
	if got := s.ranges[len(s.ranges)-1]; got != "bytes=300000-" {
		t.Errorf("the next call asked for %q", got)
	}
}

// TestNoRange: a server that knows no ranges sends everything again.
func TestNoRange(t *testing.T) {
	data, f := content(1 << 18)
	s := serve(t, data)
	s.noRange = true
	c := fetch.Cache{Dir: t.TempDir(), Base: s.URL}
	os.MkdirAll(filepath.Join(c.Dir, "set"), 0o755)
	os.WriteFile(filepath.Join(c.Dir, "set", "data.csv.part"), data[:1000], 0o644)
	path, err := c.Get(context.Background(), "set", f)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, c.Dir, path, data)
}

// TestSpoiltPart: what was there before is thrown away when the whole does not have the hash, or
// is longer than the whole.
func TestSpoiltPart(t *testing.T) {
	data, f := content(1 << 18)
	for name, part := range map[string][]byte{"other bytes": make([]byte, 1000), "too long": make([]byte, 1<<19), "whole": data} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, data)
			c := fetch.Cache{Dir: t.TempDir(), Base: s.URL}
			os.MkdirAll(filepath.Join(c.Dir, "set"), 0o755)
			os.WriteFile(filepath.Join(c.Dir, "set", "data.csv.part"), part, 0o644)
			path, err := c.Get(context.Background(), "set", f)
			if err != nil {
				t.Fatal(err)
			}
			mustHold(t, c.Dir, path, data)
			if n := s.requests.Load(); name == "whole" && n != 0 {
				t.Errorf("%d requests for a file that was whole", n)
			}
		})
	}
}

// TestOrphan: a part that a process left when it died is taken over, one that is being written is not.
func TestOrphan(t *testing.T) {
	data, f := content(1 << 18)
	s := serve(t, data)
	c := fetch.Cache{Dir: t.TempDir(), Base: s.URL}
	os.MkdirAll(filepath.Join(c.Dir, "set"), 0o755)
	part := filepath.Join(c.Dir, "set", "data.csv.part-1")
	os.WriteFile(part, data[:5000], 0o644)
	c.Get(context.Background(), "set", f)
	if _, err := os.Stat(part); err != nil {
		t.Error("the part that another process writes is gone")
	}
	os.Remove(filepath.Join(c.Dir, "set", "data.csv"))
	old := time.Now().Add(-time.Hour)
	os.Chtimes(part, old, old)
	path, err := c.Get(context.Background(), "set", f)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, c.Dir, path, data)
	if got := fmt.Sprint(s.ranges); got != "[ bytes=5000-]" {
		t.Errorf("ranges %s", got)
	}
}

func TestErrors(t *testing.T) {
	data, f := content(1000)
	other := f
	other.SHA256 = strings.Repeat("0", 64)
	missing := f
	missing.Name = "other.csv"
	for _, c := range []struct {
		name   string
		file   fetch.File
		status int
		want   string
	}{
		{"wrong hash", other, 0, "/set/data.csv: SHA-256 is " + f.SHA256 + ", wanted 0000"},
		{"server error", f, 503, "503 Service Unavailable"},
		{"no such file", missing, 0, "404 Not Found"},
	} {
		s := serve(t, data)
		s.status = c.status
		dir := t.TempDir()
		_, err := fetch.Cache{Dir: dir, Base: s.URL}.Get(context.Background(), "set", c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasSuffix(err.Error(), "\nwithout a network, put the file with SHA-256 "+c.file.SHA256+" at "+filepath.Join(dir, "set", c.file.Name)) {
			t.Errorf("%s: %v", c.name, err)
		}
		entries, _ := os.ReadDir(filepath.Join(dir, "set"))
		if len(entries) > 0 {
			t.Errorf("%s: %s is left over", c.name, entries[0].Name())
		}
	}
}

// TestOffline: the message says which file to put where.
func TestOffline(t *testing.T) {
	s := serve(t, nil)
	url := s.URL
	s.Close()
	dir := t.TempDir()
	_, _, err := fetch.Cache{Dir: dir, Base: url}.Fetch(context.Background(), "covtype")
	about, _ := fetch.About("covtype")
	path := filepath.Join(dir, "covtype", "covtype.data.gz")
	want := "without a network, put the file with SHA-256 " + about.Train.SHA256 + " at " + path
	if err == nil || !strings.HasPrefix(err.Error(), "fetch: covtype.data.gz: "+url+"/covtype/covtype.data.gz: dial tcp") || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("\n got %v\nwant … %s", err, want)
	}
}

// TestOtherFile: a file that somebody has put there is never overwritten.
func TestOtherFile(t *testing.T) {
	data, f := content(1000)
	s := serve(t, data)
	c := fetch.Cache{Dir: t.TempDir(), Base: s.URL}
	path := filepath.Join(c.Dir, "set", "data.csv")
	os.MkdirAll(filepath.Dir(path), 0o755)
	os.WriteFile(path, nil, 0o644)
	_, err := c.Get(context.Background(), "set", f)
	want := "fetch: " + path + ": SHA-256 is e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, wanted " + f.SHA256 + "; remove it to fetch it again"
	if err == nil || err.Error() != want {
		t.Errorf("\n got %v\nwant %s", err, want)
	}
}

func TestMirrors(t *testing.T) {
	data, f := content(1000)
	bad, good := serve(t, data), serve(t, data)
	bad.status = 500
	f.URLs = []string{bad.URL + "/set/data.csv", good.URL + "/set/data.csv"}
	c := fetch.Cache{Dir: t.TempDir()}
	path, err := c.Get(context.Background(), "set", f)
	if err != nil {
		t.Fatal(err)
	}
	mustHold(t, c.Dir, path, data)
}

// TestConcurrent: many callers get one file, and it is fetched once.
func TestConcurrent(t *testing.T) {
	data, f := content(1 << 18)
	s := serve(t, data)
	c := fetch.Cache{Dir: t.TempDir(), Base: s.URL}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := c.Get(context.Background(), "set", f); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	mustHold(t, c.Dir, filepath.Join(c.Dir, "set", "data.csv"), data)
	if n := s.requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	stuck := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer stuck.Close()
	_, f := content(10)
	if _, err := (fetch.Cache{Dir: t.TempDir(), Base: stuck.URL}).Get(ctx, "set", f); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled, and %v", err)
	}
}

// TestSets holds the table to what it promises.
func TestSets(t *testing.T) {
	for _, name := range fetch.Names() {
		s, err := fetch.About(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []fetch.File{s.Train, s.Test} {
			if f.Name == "" && s.Rows[1] == 0 {
				continue
			}
			if b, err := hex.DecodeString(f.SHA256); err != nil || len(b) != 32 || len(f.URLs) == 0 {
				t.Errorf("%s: file %+v", name, f)
			}
		}
		if len(s.Columns) == 0 || s.Columns[len(s.Columns)-1] != s.Target || s.Doc == "" || s.License == "" || s.Attribution == "" {
			t.Errorf("%s: the description is not complete", name)
		}
	}
	if _, err := fetch.About("kdd"); err == nil || err.Error() != `fetch: no data set "kdd"; there are covtype, kddcup99, kddcup99_full` {
		t.Error(err)
	}
}

func TestDir(t *testing.T) {
	t.Setenv("BOCHNER_CACHE", "/some/where")
	if dir, err := fetch.Dir(); err != nil || dir != "/some/where" {
		t.Error(dir, err)
	}
	t.Setenv("BOCHNER_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	if _, err := fetch.Dir(); err == nil || !strings.HasSuffix(err.Error(), "; set BOCHNER_CACHE to one") {
		t.Error(err)
	}
}

func ExampleAbout() {
	s, err := fetch.About("covtype")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Title, s.Rows[0], len(s.Columns)-1, s.Target)
	// Output: Forest cover type 581012 54 cover_type
}
