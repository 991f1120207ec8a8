package suggest

// CompleteCommand is the remedy where the command of the root module lacks a part.
const CompleteCommand = "use the released binary, or build ./cmd/bochner in distributed/ of a checkout"
