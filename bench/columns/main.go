// Command columns compares the time to read typed columns and CSV with the same rows with pyarrow
// and polars:
//
//	go run ./bench/columns -python python3
//
// The rows have 14 floats (4 of them float32), 3 integers, 2 string columns and a target. The
// programs run interleaved, -pairs times, each in its own process. Bochner opens the file, which
// includes a pass over strings and target, and reads all rows as blocks, strings as codes. pyarrow
// reads by batches, polars the whole file; neither converts columns to rows. It prints CPU seconds,
// wall time (meaningful on an idle host only) and peak memory.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arrow"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/datasets/parquet"
)

// outcome is the output of a program.
type outcome struct {
	Side      string
	Rows      int
	CPU       float64 `json:"cpu_seconds"`
	Clock     float64 `json:"clock_seconds"`
	Megabytes float64
}

//go:embed peer.py
var peer string

func main() {
	rows := flag.Int("rows", 5_000_000, "rows")
	pairs := flag.Int("pairs", 3, "times that the sides take turns")
	python := flag.String("python", "python3", "the Python that has pyarrow and polars")
	own := flag.String("own", "", "file to read by our side, here")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	do := func() error { return compare(ctx, *rows, *pairs, *python) }
	if *own != "" {
		do = func() error { return read(ctx, *own) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "columns:", err)
		os.Exit(1)
	}
}

// compare writes the files and runs all programs on them, interleaved.
func compare(ctx context.Context, rows, pairs int, python string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "columns")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if out, err := exec.CommandContext(ctx, python, "-c", peer, "write", folder,
		strconv.Itoa(rows)).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	for _, name := range []string{"snappy.parquet", "zstd.parquet", "plain.arrow", "rows.csv"} {
		path := filepath.Join(folder, name)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d rows, %d MB\n", name, rows, info.Size()>>20)
		for range pairs {
			for _, side := range [][]string{{self, "-own", path}, {python, "-c", peer, "pyarrow", path},
				{python, "-c", peer, "polars", path}} {
				cmd := exec.CommandContext(ctx, side[0], side[1:]...)
				text, err := cmd.Output()
				if err != nil {
					return err
				}
				var o outcome
				if err := json.Unmarshal(text, &o); err != nil || o.Rows != rows {
					return fmt.Errorf("%[1]s must print %[3]d rows, got %[2]q", side[0], text, rows)
				}
				if o.CPU == 0 {
					o.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
				}
				fmt.Printf("  %-15s %6.2f CPU s %6.2f s %6.0f MB\n", o.Side, o.CPU, o.Clock, o.Megabytes)
			}
		}
	}
	return nil
}

// read is our side.
func read(ctx context.Context, path string) error {
	began := time.Now()
	roles := datasets.Roles{Target: []string{"y"}}
	var src datasets.Source
	var err error
	switch filepath.Ext(path) {
	case ".parquet":
		src, err = parquet.Options{Roles: roles}.Open(ctx, path)
	case ".arrow":
		src, err = arrow.Options{Roles: roles}.Open(ctx, path)
	default:
		src, err = csv.Options{Roles: roles}.Open(ctx, path)
	}
	if err != nil {
		return err
	}
	out := outcome{Side: "bochner"}
	if err := src.Blocks(ctx, func(b datasets.Set) error { out.Rows += b.Rows(); return nil }); err != nil {
		return err
	}
	out.Clock = time.Since(began).Seconds()
	var held runtime.MemStats
	runtime.ReadMemStats(&held)
	out.Megabytes = float64(held.Sys) / (1 << 20)
	return json.NewEncoder(os.Stdout).Encode(out)
}
