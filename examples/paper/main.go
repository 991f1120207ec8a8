// Command paper reproduces table 1 of Rahimi and Recht, "Random features for large-scale kernel
// machines" (NIPS 2007), from the experiment files in its directory, and writes docs/paper.md.
//
//	go run ./examples/paper -data FOLDER [-only 'covtype*'] [-ways [-sklearn]] [-out docs/paper.md]
//
// FOLDER contains the data files that README.md lists, at any depth, optionally gzip-compressed.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "paper:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context) error {
	t := table{folder: "examples/paper", seeds: 5}
	flag.StringVar(&t.data, "data", "examples/paper/data", "folder of the data files")
	flag.StringVar(&t.only, "only", "*", "only the files of this pattern, such as a9a*")
	flag.IntVar(&t.seeds, "seeds", t.seeds, "number of seeds")
	flag.BoolVar(&t.sklearn, "sklearn", false, "with -ways: time scikit-learn too, by python3")
	flag.BoolVar(&t.ways, "ways", false, "only the comparison of heads, pitch laws and mixtures")
	out := flag.String("out", "", "page to write; standard output when left out")
	log := flag.String("log", "", "file to keep results in, and to take those from that are there")
	flag.BoolVar(&t.memo.only, "kept", false, "run nothing: take what -log has")
	one := flag.Bool("one", false, "make one run of the file and the overrides that follow, for this program itself")
	flag.Parse()
	if *one {
		return single(ctx, flag.Args())
	}
	if _, err := path.Match(t.only, ""); err != nil {
		return fmt.Errorf("-only %s: %w", t.only, err)
	}
	if t.seeds < 1 || flag.NArg() > 0 {
		return errors.New("-seeds must be ≥ 1, and there are no other arguments")
	}
	if err := t.memo.open(*log); err != nil {
		return err
	}
	defer t.memo.close()
	page, err := t.page(ctx)
	if err != nil {
		return err
	}
	if *out == "" {
		_, err = os.Stdout.WriteString(page)
		return err
	}
	return os.WriteFile(*out, []byte(page), 0o644)
}

// memo stores the results of runs, one JSON value per line, so that an interrupted table can be
// resumed.
type memo struct {
	file *os.File
	seen map[string]json.RawMessage
	only bool // whether missing results are errors
}

// errNotKept reports a run that is missing in the log, if no runs are allowed.
var errNotKept = errors.New("not in the log")

type memory struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

func (m *memo) open(name string) error {
	m.seen = map[string]json.RawMessage{}
	if name == "" {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, line := range strings.Split(string(text), "\n") {
		var one memory
		if json.Unmarshal([]byte(line), &one) == nil && one.Key != "" {
			m.seen[one.Key] = one.Value
		}
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	m.file, err = os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	return err
}

func (m *memo) close() {
	if m.file != nil {
		m.file.Close()
	}
}

// recall reads the stored value of the key, or calls make and stores the value.
func (m *memo) recall(key string, value any, make func() error) error {
	if kept, ok := m.seen[key]; ok {
		return json.Unmarshal(kept, value)
	}
	if m.only {
		return errNotKept
	}
	if err := make(); err != nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil || m.file == nil {
		return err
	}
	line, err := json.Marshal(memory{key, text})
	if err == nil {
		_, err = m.file.Write(append(line, '\n'))
	}
	return cmp.Or(err, m.file.Sync())
}
