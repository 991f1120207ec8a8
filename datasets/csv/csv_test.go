package csv_test

import (
	"context"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/internal/golden"
)

func TestAdult(t *testing.T) {
	o := csv.Options{
		NoHeader: true, Comment: "|", Missing: []string{"?"},
		Columns: []string{"age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"},
		Roles:   datasets.Roles{Target: []string{"income"}, Suffix: "."},
	}
	train, err := csv.Read(context.Background(), golden.Path(t, "data/adult/adult.data.gz"), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Schema = &train.Schema
	test, err := csv.Read(context.Background(), golden.Path(t, "data/adult/adult.test.gz"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(train.Rows(), test.Rows(), train.Schema, train.Y[:10], train.X.At(0, 0))
	for _, s := range []datasets.Set{train, test} {
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
}
