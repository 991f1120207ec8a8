package kern

import "syscall"

// hugePages asks the kernel to back large scratch memory with huge pages, for
// which the panels of a product miss the address cache less. It is a wish: an
// error changes nothing.
func hugePages(b []byte) { _ = syscall.Madvise(b, 14) } // MADV_HUGEPAGE
