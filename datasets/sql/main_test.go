package sql_test

import (
	"os"
	"testing"

	"github.com/bochner-ml/bochner/internal/postgres"
)

func TestMain(m *testing.M) {
	code := m.Run()
	postgres.Stop()
	os.Exit(code)
}
