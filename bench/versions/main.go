// Command versions archives the outputs of released versions of the bochner command as test data
// for later versions: experiments, their model files, and the predictions of these models for new
// rows.
//
//	go run ./bench/versions v0.1.0      archives a version, or any commit
//
// It builds the command at the commit in a separate clone, runs the experiments of the folder
// experiments, and writes testdata/VERSION.zip, where VERSION is the recorded version: of a commit
// without a tag, the pseudo-version of Go modules. Experiments that the version does not support
// are reported. The test of this package reads all archives.
package main

import (
	"archive/zip"
	"context"
	"debug/buildinfo"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// given contains the experiments and their data files. The name of an experiment begins with that
// of its data.
//
//go:embed experiments rows
var given embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "versions: name tags or commits whose files are to be kept")
		os.Exit(2)
	}
	for _, commit := range os.Args[1:] {
		if err := keep(ctx, commit, filepath.Join("bench", "versions", "testdata")); err != nil {
			fmt.Fprintf(os.Stderr, "versions: %s: %v\n", commit, err)
			os.Exit(1)
		}
	}
}

// keep writes the archive of a commit to a directory.
func keep(ctx context.Context, commit, into string) error {
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "versions")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	command := filepath.Join(folder, "bochner")
	version, err := build(ctx, commit, filepath.Join(folder, "tree"), command)
	if err != nil {
		return err
	}
	work := filepath.Join(folder, "work")
	if err := os.CopyFS(work, given); err != nil {
		return err
	}
	names, err := fs.Glob(given, "experiments/*.yaml")
	if err != nil {
		return err
	}
	made, known := map[string][]byte{}, 0
	for _, file := range names {
		name := strings.TrimSuffix(path.Base(file), ".yaml")
		outputs, err := try(ctx, command, filepath.Join(work, "experiments"), name)
		if err != nil {
			fmt.Printf("%s refuses %s: %v\n", version, name, err)
			continue
		}
		for ending, content := range outputs {
			made[name+ending] = content
		}
		known++
	}
	if known == 0 {
		return errors.New("it runs none of the experiments")
	}
	fmt.Printf("%s runs %d of %d experiments\n", version, known, len(names))
	return pack(filepath.Join(into, version+".zip"), made)
}

// build builds the command of a commit in a clone and returns the version that it has recorded.
func build(ctx context.Context, commit, tree, command string) (version string, err error) {
	for _, c := range []*exec.Cmd{
		exec.CommandContext(ctx, "git", "clone", "--quiet", "--shared", "--no-checkout", ".", tree),
		exec.CommandContext(ctx, "git", "-C", tree, "checkout", "--quiet", "--detach", commit),
		exec.CommandContext(ctx, "go", "build", "-C", tree, "-buildvcs=true", "-o", command, "./cmd/bochner"),
	} {
		if output, err := c.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w: %s", c, err, output)
		}
	}
	info, err := buildinfo.ReadFile(command)
	if err != nil {
		return "", err
	}
	return info.Main.Version, nil
}

// try runs an experiment and returns its experiment file, model and predictions, keyed by file
// extension.
func try(ctx context.Context, command, dir, name string) (map[string][]byte, error) {
	bochner := func(args ...string) error {
		c := exec.CommandContext(ctx, command, args...)
		c.Dir = dir
		if output, err := c.CombinedOutput(); err != nil {
			text := strings.TrimSpace(string(output))
			return errors.New(text[strings.LastIndex(text, "\n")+1:])
		}
		return nil
	}
	if err := bochner("run", "--quiet", "--set", "output.dir="+name, name+".yaml"); err != nil {
		return nil, err
	}
	made := map[string]string{".yaml": name + ".yaml", ".bochner": name + "/model.bochner", ".csv": name + "/new.csv"}
	rows, err := rowsOf(name)
	if err != nil {
		return nil, err
	}
	if err := bochner("predict", "--quiet", made[".bochner"], "../"+rows, "-o", made[".csv"]); err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for ending, file := range made {
		if out[ending], err = os.ReadFile(filepath.Join(dir, file)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// rowsOf returns the file of new rows that the model of an experiment predicts.
func rowsOf(experiment string) (string, error) {
	first, _, _ := strings.Cut(experiment, "-")
	found, err := fs.Glob(given, "rows/"+first+".new.*")
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%s: number of prediction files must be 1, got %d", experiment, len(found))
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// pack writes an archive atomically.
func pack(to string, files map[string][]byte) error {
	unfinished, err := os.CreateTemp(filepath.Dir(to), ".unfinished-*")
	if err != nil {
		return err
	}
	defer os.Remove(unfinished.Name())
	archive := zip.NewWriter(unfinished)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := archive.Create(name)
		if err == nil {
			_, err = w.Write(files[name])
		}
		if err != nil {
			return errors.Join(err, unfinished.Close())
		}
	}
	if err := errors.Join(archive.Close(), unfinished.Chmod(0o644), unfinished.Close()); err != nil {
		return err
	}
	return os.Rename(unfinished.Name(), to)
}
