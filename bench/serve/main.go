// Command serve measures throughput and latency of a model server under single-row requests of
// concurrent clients:
//
//	go build -o /tmp/bochner ./cmd/bochner
//	go run ./bench/serve -bochner /tmp/bochner             # 64 connections, each asking as soon as it has its answer
//	go run ./bench/serve -bochner /tmp/bochner -rate 30000 # that rate per second, answered or not
//	go run ./bench/serve -bochner /tmp/bochner -soak -seconds 120
//
// It fits a model with 10 columns and 1,024 random features, and starts the server. With -soak the
// model file is replaced repeatedly, sometimes by a damaged one, and clients disconnect during
// requests; finally the server is stopped under load. No request may be lost and no resource
// leaked.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

var (
	command     = flag.String("bochner", "bochner", "the command")
	connections = flag.Int("connections", 64, "how many connections ask")
	seconds     = flag.Float64("seconds", 10, "how long")
	rate        = flag.Float64("rate", 0, "requests per second; 0 is one after another per connection")
	rows        = flag.Int("rows", 1, "rows of a request")
	features    = flag.Int("features", 1024, "random features of the model")
	protocol    = flag.String("protocol", "rows", "rows, for JSON by the names of columns, or tensors")
	soak        = flag.Bool("soak", false, "reload the model, break off, and end the server while it is asked")
	arguments   = flag.String("arguments", "", "more arguments of bochner serve, with blanks between")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const columns = 10

// fitted is a model of rows that are drawn by the seed.
func fitted(seed uint64) (*modelfile.Model, error) {
	rng := rand.New(rand.NewPCG(seed, 1))
	const n = 2000
	X, y := mat.NewDense(n, columns, nil), make([]float64, n)
	schema := datasets.Schema{Targets: []datasets.Column{{Name: "y"}}}
	for j := range columns {
		schema.Columns = append(schema.Columns, datasets.Column{Name: fmt.Sprintf("column_%d", j)})
	}
	for i := range n {
		for j := range columns {
			X.Set(i, j, rng.NormFloat64())
		}
		y[i] = math.Sin(X.At(i, 0)) + X.At(i, 1)*X.At(i, 2)
	}
	rff := transformer.NewRFF()
	rff.Features = *features
	f, err := pipeline.Steps(transformer.NewImpute(), transformer.NewStandardize(), rff).Then(estimator.NewRidge()).
		Fit(context.Background(), datasets.Set{X: X, Y: y, Schema: schema})
	if err != nil {
		return nil, err
	}
	return modelfile.New(f)
}

// server is the command, serving a model.
type server struct {
	*exec.Cmd
	addr string
	log  *strings.Builder
}

// start runs the command with the model in a file.
func start(file string) (*server, error) {
	args := append([]string{"serve", "m=" + file, "--addr", "127.0.0.1:0", "--period", "200ms", "--drain", "1s"},
		strings.Fields(*arguments)...)
	s := &server{Cmd: exec.Command(*command, args...), log: new(strings.Builder)}
	out, err := s.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.Stderr = s.log
	if err := s.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "ready" {
		s.addr = strings.TrimPrefix(lines.Text(), "listening on http://")
	}
	if s.addr == "" {
		s.Process.Kill()
		return nil, fmt.Errorf("the server does not start: %s", s.log)
	}
	return s, nil
}

// metric reads one of the server's.
func (s *server) metric(name string) float64 {
	answer, err := http.Get("http://" + s.addr + "/metrics")
	if err != nil {
		return math.NaN()
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	sum, found := 0.0, false
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), name); ok && rest != "" && (rest[0] == ' ' || rest[0] == '{') {
			v, _ := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
			sum, found = sum+v, true
		}
	}
	if !found {
		return math.NaN()
	}
	return sum
}

func run() error {
	dir, err := os.MkdirTemp("", "serve")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "m.bochner")
	m, err := fitted(1)
	if err == nil {
		err = m.Save(file)
	}
	if err != nil {
		return err
	}
	s, err := start(file)
	if err != nil {
		return err
	}
	defer s.Process.Kill()
	l := &load{server: s, request: request(s.addr)}
	warm := time.Now().Add(time.Second)
	l.clients(warm, 0)
	l.reset()
	goroutines := s.metric("go_goroutines")
	begin := time.Now()
	until := begin.Add(time.Duration(*seconds * float64(time.Second)))
	ended := make(chan error, 1)
	if *soak {
		go func() { ended <- l.disturb(dir, file, until) }()
	}
	memory := make(chan float64, 1)
	go func() {
		most := 0.0
		for time.Now().Before(until) {
			most = max(most, s.metric("process_resident_memory_bytes"))
			time.Sleep(500 * time.Millisecond)
		}
		memory <- most
	}()
	cpu := s.metric("process_cpu_seconds_total")
	l.clients(until, *rate)
	l.report(time.Since(begin))
	cpu = s.metric("process_cpu_seconds_total") - cpu
	fmt.Printf("the server took %.1f s of processor time, %.0f µs a request, and %.0f MiB at most\n", cpu,
		1e6*cpu/float64(l.answers()), <-memory/(1<<20))
	if !*soak {
		return nil
	}
	if err := <-ended; err != nil {
		return err
	}
	time.Sleep(300 * time.Millisecond)
	fmt.Printf("goroutines before %v, after %v; in flight %v; request memory %v; loads %v; panics %v\n", goroutines,
		s.metric("go_goroutines"),
		s.metric("bochner_requests_in_flight"), s.metric("bochner_request_memory_bytes"),
		s.metric("bochner_model_loads_total"), s.metric("bochner_panics_total"))
	return l.end()
}

// request is the bytes of a request for rows.
func request(addr string) []byte {
	var one []string
	for j := range columns {
		one = append(one, fmt.Sprintf(`"column_%d":%.4f`, j, math.Sin(float64(j))))
	}
	row := "{" + strings.Join(one, ",") + "}"
	path, body := "/v1/models/m:predict", `{"rows":[`+strings.TrimSuffix(strings.Repeat(row+",", *rows), ",")+`]}`
	if *protocol == "tensors" {
		path = "/v2/models/m/infer"
		body = fmt.Sprintf(`{"inputs":[{"name":"X","shape":[%d,%d],"datatype":"FP64","data":[%s]}]}`, *rows, columns,
			strings.TrimSuffix(strings.Repeat("0.1234,", *rows*columns), ","))
	}
	if *protocol == "live" {
		return fmt.Appendf(nil, "GET /v2/health/live HTTP/1.1\r\nHost: %s\r\n\r\n", addr)
	}
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: "+
		"%d\r\n\r\n%s", path, addr, len(body), body)
}

// load is a load test: the request that its clients send, and the responses they have received.
type load struct {
	*server
	request []byte
	mu      sync.Mutex
	codes   map[int]int
	took    []time.Duration // latencies of responses with status 200, from when the request was sent
	late    []time.Duration // the same, from when the request was due
	lost    []error         // requests without a response that their client did not abort
	broken  atomic.Int64    // requests that their client aborted
	unruly  atomic.Bool     // whether clients abort some requests
	stopped atomic.Bool
}

func (l *load) reset() {
	l.codes, l.took, l.late, l.lost = map[int]int{}, nil, nil, nil
}

// clients ask until the time, or until they are stopped.
func (l *load) clients(until time.Time, rate float64) {
	if l.codes == nil {
		l.reset()
	}
	var all sync.WaitGroup
	for k := range *connections {
		all.Go(func() {
			c := &client{load: l, rng: rand.New(rand.NewPCG(uint64(k), 3)), codes: map[int]int{}}
			c.run(until, rate/float64(*connections))
			l.mu.Lock()
			defer l.mu.Unlock()
			for code, n := range c.codes {
				l.codes[code] += n
			}
			l.took, l.late, l.lost = append(l.took, c.took...), append(l.late, c.late...), append(l.lost, c.lost...)
		})
	}
	all.Wait()
}

// client is one connection after the other.
type client struct {
	*load
	rng   *rand.Rand
	conn  net.Conn
	in    *bufio.Reader
	codes map[int]int
	took  []time.Duration
	late  []time.Duration
	lost  []error
}

// run sends requests at the given rate; a rate of 0 sends the next request after each response.
func (c *client) run(until time.Time, rate float64) {
	due := time.Now()
	if rate > 0 {
		due = due.Add(time.Duration(c.rng.Float64() / rate * float64(time.Second)))
	}
	for time.Now().Before(until) && !c.stopped.Load() {
		if rate > 0 {
			time.Sleep(time.Until(due))
		} else {
			due = time.Now()
		}
		c.once(due)
		if rate > 0 {
			due = due.Add(time.Duration(c.rng.ExpFloat64() / rate * float64(time.Second)))
		}
	}
	if c.conn != nil {
		c.conn.Close()
	}
}

// once sends one request and reads the response.
func (c *client) once(due time.Time) {
	if c.conn == nil {
		conn, err := net.Dial("tcp", c.addr)
		if err != nil {
			if !c.stopped.Load() {
				c.lost = append(c.lost, err)
			}
			time.Sleep(time.Millisecond)
			return
		}
		c.conn, c.in = conn, bufio.NewReader(conn)
	}
	if c.unruly.Load() && c.rng.IntN(200) == 0 {
		c.broken.Add(1)
		c.conn.Write(c.request[:c.rng.IntN(len(c.request)+1)])
		if c.rng.IntN(2) == 0 {
			c.conn.(*net.TCPConn).SetLinger(0)
		}
		c.drop()
		return
	}
	sent := time.Now()
	_, err := c.conn.Write(c.request)
	var code int
	var last bool
	if err == nil {
		code, last, err = c.answer()
	}
	now := time.Now()
	if err != nil {
		c.lost = append(c.lost, err)
		c.drop()
		return
	}
	if c.codes[code]++; code == 200 {
		c.took, c.late = append(c.took, now.Sub(sent)), append(c.late, now.Sub(due))
	}
	if last {
		c.drop()
	}
}

func (c *client) drop() {
	c.conn.Close()
	c.conn = nil
}

// answer reads an answer, and whether it is the last of its connection.
func (c *client) answer() (code int, last bool, err error) {
	length := -1
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, false, err
		}
		text := strings.TrimSpace(string(line))
		switch key, value, _ := strings.Cut(text, ": "); {
		case first && len(text) > 12:
			code, _ = strconv.Atoi(text[9:12])
		case text == "" && length < 0:
			return 0, false, errors.New("an answer without a length")
		case text == "":
			_, err = c.in.Discard(length)
			return code, last, err
		case key == "Content-Length":
			length, _ = strconv.Atoi(value)
		case key == "Connection" && value == "close":
			last = true
		}
	}
}

// report prints the latencies, status codes and errors.
func (l *load) report(took time.Duration) {
	at := func(list []time.Duration, share float64) string {
		if len(list) == 0 {
			return "–"
		}
		slices.Sort(list)
		return fmt.Sprintf("%.2f", list[min(len(list)-1, int(share*float64(len(list))))].Seconds()*1e3)
	}
	fmt.Printf("%d connections, %d rows a request, %d features, %s, %.0f s", *connections, *rows, *features, *protocol,
		took.Seconds())
	if *rate > 0 {
		fmt.Printf(", %.0f requests a second are due", *rate)
	}
	fmt.Printf("\n%.0f predictions a second; ms: p50 %s, p90 %s, p99 %s, p99.9 %s, most %s\n",
		float64(len(l.took)**rows)/took.Seconds(),
		at(l.took, .5), at(l.took, .9), at(l.took, .99), at(l.took, .999), at(l.took, 1))
	if *rate > 0 {
		fmt.Printf("from when they were due: p50 %s, p99 %s\n", at(l.late, .5), at(l.late, .99))
	}
	fmt.Printf("statuses %v; lost %d; broken off by clients %d\n", l.codes, len(l.lost), l.broken.Load())
	for _, err := range l.lost[:min(len(l.lost), 3)] {
		fmt.Println("lost:", err)
	}
}

// answers returns the number of responses with any status.
func (l *load) answers() (n int) {
	for _, count := range l.codes {
		n += count
	}
	return n
}

// disturb replaces the model file, and damages it, until the time.
func (l *load) disturb(dir, file string, until time.Time) error {
	l.unruly.Store(true)
	defer l.unruly.Store(false)
	var strs [][]byte
	for seed := range uint64(2) {
		m, err := fitted(seed + 1)
		if err != nil {
			return err
		}
		next := filepath.Join(dir, "next")
		if err := m.Save(next); err != nil {
			return err
		}
		text, err := os.ReadFile(next)
		if err != nil {
			return err
		}
		strs = append(strs, text)
	}
	for k := 0; time.Now().Before(until.Add(-time.Second)); k++ {
		text := strs[k%2]
		if k%7 == 3 {
			text = text[:len(text)/3]
		}
		if k%2 == 0 { // in place, so that the file is incomplete for a while
			os.WriteFile(file, text, 0o644)
		} else if err := os.WriteFile(file+".new", text, 0o644); err == nil {
			os.Rename(file+".new", file)
		}
		time.Sleep(300 * time.Millisecond)
	}
	return os.WriteFile(file, strs[0], 0o644)
}

// end stops the server under load and reports lost requests.
func (l *load) end() error {
	l.reset()
	go func() {
		time.Sleep(500 * time.Millisecond)
		l.Process.Signal(syscall.SIGTERM)
		time.Sleep(600 * time.Millisecond) // while it drains
		l.stopped.Store(true)
	}()
	l.clients(time.Now().Add(5*time.Second), 0)
	fmt.Printf("while it ends: statuses %v, lost %d\n", l.codes, len(l.lost))
	for _, err := range l.lost[:min(len(l.lost), 3)] {
		fmt.Println("lost:", err)
	}
	if err := l.Wait(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("the server ends with %w: %s", err, l.log)
	}
	return nil
}
