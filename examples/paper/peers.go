package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// peer is a result of peers.py.
type peer struct {
	Data, Method string
	Rows         int
	Error, CPU   float64
}

// peers runs scikit-learn and returns the table of its results.
func (t *table) peers(ctx context.Context) (string, error) {
	var all []peer
	err := t.memo.recall("peers", &all, func() error {
		args := []string{filepath.Join(t.folder, "peers.py")}
		for _, name := range []string{"a9a", "a9a.t", "cpu_act.arff", cover} {
			at, err := t.find(name)
			if err != nil {
				return err
			}
			args = append(args, at)
		}
		var stdout bytes.Buffer
		c := exec.CommandContext(ctx, "python3", args...)
		c.Stdout, c.Stderr = &stdout, os.Stderr
		if err := c.Run(); err != nil {
			return fmt.Errorf("scikit-learn: %w", err)
		}
		for d := json.NewDecoder(&stdout); d.More(); {
			var p peer
			if err := d.Decode(&p); err != nil {
				return fmt.Errorf("scikit-learn: %w", err)
			}
			all = append(all, p)
		}
		return nil
	})
	if errors.Is(err, errNotKept) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString(sklearnHeader)
	for _, p := range all {
		fmt.Fprintf(&out, "| %s | %s | %d | %.2f | %.2g s |\n", p.Data, p.Method, p.Rows, p.Error, p.CPU)
	}
	return out.String(), nil
}
