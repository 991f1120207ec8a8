package memory

import (
	"bytes"
	"os"
	"strconv"
)

// Peak returns the most memory that the process has held at once, in bytes.
func Peak() int64 { return kilobytes("/proc/self/status", "VmHWM:") }

// available returns the bytes that a process could still get without swapping.
func available() int64 { return kilobytes("/proc/meminfo", "MemAvailable:") }

// kilobytes finds "name   123 kB" in a file of /proc, 0 where it is not.
func kilobytes(path, name string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for _, row := range bytes.Split(text, []byte("\n")) {
		fields := bytes.Fields(row)
		if len(fields) >= 2 && string(fields[0]) == name {
			n, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			return n << 10
		}
	}
	return 0
}
