// Package databases_test tests queries as sources of rows and in experiments, by the drivers of SQLite and PostgreSQL. It
// cannot import the command, whose connections to SQLite only read.
package databases_test

import (
	"os"
	"testing"

	"github.com/bochner-ml/bochner/distributed/internal/postgrestest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	postgrestest.Stop()
	os.Exit(code)
}
