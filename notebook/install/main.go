// Command install builds a gophernotes kernel that has Bochner, gonum and golearn inside, and makes
// it known to Jupyter:
//
//	go run ./install                    # for the user
//	go run ./install -prefix /path/env  # for one Python environment
//
// The kernel is the released source of gophernotes, with the fixes in repairs.go and the bindings
// of this module.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

const module = "github.com/gopherdata/gophernotes"

func main() {
	log.SetFlags(0)
	prefix := flag.String("prefix", "",
		"folder of the Python environment that is to know the kernel; the user's Jupyter folder where empty")
	flag.Parse()
	folder, err := install(*prefix)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("kernel bochner installed in", folder)
}

func install(prefix string) (folder string, err error) {
	home := filepath.Join(prefix, "share", "jupyter")
	if prefix == "" {
		if home, err = userFolder(); err != nil {
			return "", err
		}
	}
	if folder, err = filepath.Abs(filepath.Join(home, "kernels", "bochner")); err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	binary := filepath.Join(folder, "bochner-kernel")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	source, err := download()
	if err != nil {
		return "", err
	}
	if err := build(source, binary); err != nil {
		return "", err
	}
	for _, logo := range []string{"logo-32x32.png", "logo-64x64.png"} {
		if err := copyFile(filepath.Join(folder, logo), filepath.Join(source, "kernel", logo)); err != nil {
			return "", err
		}
	}
	spec, err := json.MarshalIndent(map[string]any{
		"argv": []string{binary, "{connection_file}"}, "display_name": "Go (Bochner)", "language": "go",
	}, "", "  ")
	if err != nil {
		return "", err
	}
	return folder, os.WriteFile(filepath.Join(folder, "kernel.json"), spec, 0o644)
}

// userFolder returns Jupyter's data directory of the user.
func userFolder() (string, error) {
	if folder := os.Getenv("JUPYTER_DATA_DIR"); folder != "" {
		return folder, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Jupyter"), nil
	case "windows":
		return filepath.Join(os.Getenv("APPDATA"), "jupyter"), nil
	}
	if data := os.Getenv("XDG_DATA_HOME"); data != "" {
		return filepath.Join(data, "jupyter"), nil
	}
	return filepath.Join(home, ".local", "share", "jupyter"), nil
}

// download returns the directory with the source of the version of gophernotes in go.mod.
func download() (string, error) {
	get := exec.Command("go", "mod", "download", "-json", module)
	get.Stderr = os.Stderr
	text, err := get.Output()
	if err != nil {
		return "", fmt.Errorf("go mod download %s: %w", module, err)
	}
	var got struct{ Dir string }
	if err := json.Unmarshal(text, &got); err != nil {
		return "", err
	}
	return got.Dir, nil
}

// build compiles the fixed source with the bindings, in a temporary directory of this module.
func build(source, binary string) error {
	folder, err := os.MkdirTemp(".", "kernel-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	files, err := filepath.Glob(filepath.Join(source, "*.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		if err := copyFile(filepath.Join(folder, filepath.Base(file)), file); err != nil {
			return err
		}
	}
	for _, r := range repairs {
		if err := r.apply(folder); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "bochner.go"), []byte(addition), 0o644); err != nil {
		return err
	}
	compile := exec.Command("go", "build", "-o", binary, "./"+folder)
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	compile.Stdout, compile.Stderr = os.Stdout, os.Stderr
	if err := compile.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	return nil
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
