package memory

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The least that any control group around the process leaves counts, of either version.
func TestGroupsLeave(t *testing.T) {
	const unlimited = math.MaxInt64
	for name, c := range map[string]struct {
		list  string
		files map[string]string
		want  int64
	}{
		"no limit":  {"0::/user\n", map[string]string{"user/memory.max": "max\n", "user/memory.current": "5\n"}, unlimited},
		"container": {"0::/\n", map[string]string{"memory.max": "1000\n", "memory.current": "300\n"}, 700},
		"a job in a job": {"0::/slurm/job_7/step_0\n", map[string]string{
			"slurm/memory.max": "9000\n", "slurm/job_7/memory.max": "1000\n", "slurm/job_7/memory.current": "900\n",
			"slurm/job_7/memory.stat": "anon 10\ninactive_file 250\n", "slurm/job_7/step_0/memory.max": "max\n"}, 350},
		"version 1": {"5:cpu,cpuacct:/x\n4:memory:/kube/pod\n", map[string]string{
			"memory/kube/memory.limit_in_bytes": "2000\n", "memory/kube/memory.usage_in_bytes": "100\n",
			"memory/kube/pod/memory.limit_in_bytes": "800\n", "memory/kube/pod/memory.usage_in_bytes": "100\n"}, 700},
		"a path of the host": {"4:memory:/docker/abc\n", map[string]string{"memory/memory.limit_in_bytes": "500\n"}, 500},
		"nothing left":       {"0::/\n", map[string]string{"memory.max": "100\n", "memory.current": "300\n"}, 0},
	} {
		dir := t.TempDir()
		for file, text := range c.files {
			path := filepath.Join(dir, "sys", file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		list := filepath.Join(dir, "cgroup")
		if err := os.WriteFile(list, []byte(c.list), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := groupsLeave(list, filepath.Join(dir, "sys")); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestAddressSpaceCounts checks that available memory respects the limit of the address space.
func TestAddressSpaceCounts(t *testing.T) {
	if os.Getenv("PRINT_AVAILABLE") != "" {
		os.Stdout.WriteString("available=" + strconv.FormatInt(Available(), 10) + "\n")
		return
	}
	const limit = 3 << 30
	command := exec.Command("sh", "-c", "ulimit -v "+strconv.Itoa(limit>>10)+
		" && exec \"$0\" -test.run=TestAddressSpaceCounts", os.Args[0])
	command.Env = append(os.Environ(), "PRINT_AVAILABLE=1")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Skipf("%v: %s", err, out)
	}
	_, rest, _ := strings.Cut(string(out), "available=")
	text, _, _ := strings.Cut(rest, "\n")
	if got, err := strconv.ParseInt(text, 10, 64); err != nil || got <= 0 || got >= limit {
		t.Errorf("%s: %v, want less than %d", out, err, int64(limit))
	}
}
