package kern

import "syscall"

// hugePages asks the operating system to back scratch memory with huge pages, which reduces TLB
// misses in panel products. Errors are ignored.
func hugePages(b []byte) { _ = syscall.Madvise(b, 14) } // MADV_HUGEPAGE
