package sql_test

import (
	"os"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/postgrestest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	postgrestest.Stop()
	os.Exit(code)
}
