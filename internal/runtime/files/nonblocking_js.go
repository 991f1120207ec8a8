package files

// nonBlocking is 0, because browsers have no pipes.
const nonBlocking = 0
