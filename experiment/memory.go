package experiment

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// modestMemory is what a machine is taken to have that does not tell.
const modestMemory = 4 << 30

// memoryBudget returns the bytes that a run may take: what the machine, its control group and
// GOMEMLIMIT leave.
func memoryBudget() int64 {
	budget := availableMemory()
	if budget <= 0 {
		budget = modestMemory
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		budget = min(budget, limit)
	}
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit > 0 {
			budget = min(budget, limit)
		}
	}
	return budget
}
