package kern

import "context"

// forever is the context of work that nothing stops.
var forever = context.Background()
