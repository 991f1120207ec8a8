package memory

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Peak returns the peak resident memory of the process, in bytes.
func Peak() int64 { return kilobytes("/proc/self/status", "VmHWM:") }

// available returns the bytes that the process can allocate without swapping, 0 if unknown.
func available() int64 {
	left := kilobytes("/proc/meminfo", "MemAvailable:")
	if left == 0 {
		left = math.MaxInt64
	}
	left = min(left, groupsLeave("/proc/self/cgroup", "/sys/fs/cgroup"))
	for _, limit := range []struct {
		resource int
		used     string
	}{{syscall.RLIMIT_AS, "VmSize:"}, {syscall.RLIMIT_DATA, "VmData:"}} {
		var r syscall.Rlimit
		if syscall.Getrlimit(limit.resource, &r) == nil && r.Cur < math.MaxInt64 {
			// The runtime reserves more addresses than it uses.
			left = min(left, (int64(r.Cur)-kilobytes("/proc/self/status", limit.used))/10*9)
		}
	}
	if left == math.MaxInt64 {
		return 0
	}
	return max(left, 1)
}

// groupsLeave returns the remaining bytes in the control groups (version 1 or 2) of the process,
// including their ancestors, because job systems and containers may set the limit on any of them.
// Cached files count as free. It returns math.MaxInt64 if there is no limit.
func groupsLeave(list, mounted string) int64 {
	text, err := os.ReadFile(list)
	if err != nil {
		return math.MaxInt64
	}
	left := int64(math.MaxInt64)
	for line := range strings.Lines(string(text)) { // HIERARCHY:CONTROLLERS:PATH
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		root, limit, used, cached := mounted, "memory.max", "memory.current", "inactive_file"
		if fields[1] != "" {
			root, limit, used, cached = filepath.Join(mounted, "memory"), "memory.limit_in_bytes", "memory.usage_in_bytes",
				"total_inactive_file"
			if !slices.Contains(strings.Split(fields[1], ","), "memory") {
				continue
			}
		}
		for path := filepath.Clean("/" + fields[2]); ; path = filepath.Dir(path) {
			at := filepath.Join(root, path)
			if most, ok := numberIn(filepath.Join(at, limit)); ok {
				now, _ := numberIn(filepath.Join(at, used))
				left = min(left, max(most-now+entry(filepath.Join(at, "memory.stat"), cached), 0))
			}
			if path == "/" {
				break
			}
		}
	}
	return left
}

// numberIn returns the number in a file, false if it contains none, such as max.
func numberIn(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

// kilobytes returns the value of "name   123 kB" in a file of /proc in bytes, 0 if missing.
func kilobytes(path, name string) int64 { return entry(path, name) << 10 }

// entry returns the value of "name   123" in a file of lines, 0 if missing.
func entry(path, name string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for _, row := range bytes.Split(text, []byte("\n")) {
		fields := bytes.Fields(row)
		if len(fields) >= 2 && string(fields[0]) == name {
			n, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			return n
		}
	}
	return 0
}
