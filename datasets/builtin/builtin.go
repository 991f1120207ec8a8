// Package builtin holds small real data sets, so that examples run on a machine with no network.
//
// They are unchanged copies from the UCI Machine Learning Repository, under CC BY 4.0; [About] has
// the attributions.
package builtin

import (
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/arff"
	"github.com/bochner-ml/bochner/datasets/csv"
)

//go:embed data
var files embed.FS

// Info describes a set.
type Info struct {
	Name        string
	Title       string
	Doc         string // description of the rows and the target
	Train, Test int    // numbers of rows; Test is 0 without an official split
	Columns     int    // inputs
	Target      string
	Task        datasets.Task
	Attribution string
	License     string
}

// set is an Info and where its rows are.
type set struct {
	Info
	train, test string       // files; no test file where the last rows of train are the test rows
	csv         *csv.Options // nil for ARFF
}

const license = "CC BY 4.0"

var sets = []set{
	{
		Info: Info{
			Name: "adult", Title: "Census income",
			Doc: "People in the 1994 US census: age, work, education, family, hours. Predict whether the income exceeds " +
				"50,000 dollars a year (24 %). Missing values; fnlwgt is the number of people that a row stands for.",
			Train: 32561, Test: 16281, Columns: 14, Target: "income", Task: datasets.Classification,
			Attribution: "Becker, B. and Kohavi, R. (1996). Adult. UCI Machine Learning Repository. " +
				"https://doi.org/10.24432/C5XW20", License: license,
		},
		train: "data/adult.data.gz", test: "data/adult.test.gz",
		csv: &csv.Options{
			NoHeader: true, Comment: "|", Missing: []string{"?"},
			Columns: []string{"age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation",
				"relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income"},
			Roles: datasets.Roles{Suffix: "."},
		},
	},
	{
		Info: Info{
			Name: "iris", Title: "Iris flowers",
			Doc: "Length and width, in cm, of the sepals and petals of 50 flowers of each of three species of iris. " +
				"Predict the species.",
			Train: 150, Columns: 4, Target: "species", Task: datasets.Classification,
			Attribution: "Fisher, R. A. (1936). Iris. UCI Machine Learning Repository. https://doi.org/10.24432/C56C76",
			License:     license,
		},
		train: "data/iris.csv.gz",
		csv: &csv.Options{NoHeader: true, Columns: []string{"sepal_length", "sepal_width", "petal_length", "petal_width",
			"species"}},
	},
	{
		Info: Info{
			Name: "optdigits", Title: "Optical recognition of handwritten digits",
			Doc: "Digits written by 43 people, as 8×8 counts of ink from 0 to 16; the test rows are of 13 people who wrote " +
				"none of the training rows. Predict the digit.",
			Train: 3823, Test: 1797, Columns: 64, Target: "class", Task: datasets.Classification,
			Attribution: "Alpaydin, E. and Kaynak, C. (1998). Optical Recognition of Handwritten Digits. UCI Machine " +
				"Learning Repository. https://doi.org/10.24432/C50P49", License: license,
		},
		train: "data/optdigits.arff.gz",
	},
	{
		Info: Info{
			Name: "wine", Title: "Wine recognition",
			Doc:   "Chemical analysis of 178 wines from three growers of one region in Italy. Predict the grower.",
			Train: 178, Columns: 13, Target: "class", Task: datasets.Classification,
			Attribution: "Aeberhard, S. and Forina, M. (1992). Wine. UCI Machine Learning Repository. " +
				"https://doi.org/10.24432/C5PC7J", License: license,
		},
		train: "data/wine.csv.gz",
		csv: &csv.Options{NoHeader: true, Columns: []string{"alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium",
			"total_phenols", "flavanoids", "nonflavanoid_phenols",
			"proanthocyanins", "color_intensity", "hue", "od280_od315", "proline", "class"}},
	},
}

// All returns the descriptions of the data sets in alphabetical order.
func All() []Info {
	out := make([]Info, len(sets))
	for i, s := range sets {
		out[i] = s.Info
	}
	return out
}

// Load returns the data set called name in the split of its authors; test has no rows if there is
// no official split.
func Load(name string) (train, test datasets.Set, err error) {
	return Read(context.Background(), name, datasets.Roles{})
}

// Read returns the set called name with other roles for its columns. The default target and task are
// those of the set.
func Read(ctx context.Context, name string, roles datasets.Roles) (train, test datasets.Set, err error) {
	s, err := find(name)
	if err != nil {
		return train, test, err
	}
	if len(roles.Target) == 0 && roles.Schema == nil {
		roles.Target = []string{s.Target}
		if roles.Task == datasets.AnyTask {
			roles.Task = s.Task
		}
	}
	if train, err = s.read(ctx, s.train, roles); err != nil || s.Test == 0 {
		return train, test, err
	}
	if s.test == "" {
		return train.Slice(0, s.Train), train.Slice(s.Train, s.Train+s.Test), nil
	}
	if roles.Schema == nil {
		roles.Schema = &train.Schema
	}
	test, err = s.read(ctx, s.test, roles)
	return train, test, err
}

// SHA256 returns the hexadecimal hashes of the files of the data set; test is empty if it has only one file.
func (i Info) SHA256() (train, test string, err error) {
	s, err := find(i.Name)
	if err != nil {
		return "", "", err
	}
	if train, err = digest(s.train); err != nil || s.test == "" {
		return train, "", err
	}
	test, err = digest(s.test)
	return train, test, err
}

func digest(path string) (string, error) {
	raw, err := files.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("builtin: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(raw)), nil
}

func find(name string) (set, error) {
	i := slices.IndexFunc(sets, func(s set) bool { return s.Name == name })
	if i < 0 {
		var names []string
		for _, s := range sets {
			names = append(names, s.Name)
		}
		return set{}, fmt.Errorf("builtin: no data set %q; there are %s", name, strings.Join(names, ", "))
	}
	return sets[i], nil
}

func (s set) read(ctx context.Context, file string, roles datasets.Roles) (datasets.Set, error) {
	if s.csv == nil {
		return arff.Options{Roles: roles, FS: files}.ReadFile(ctx, file)
	}
	o := *s.csv
	roles.Suffix = o.Suffix
	o.Roles, o.FS = roles, files
	return o.ReadFile(ctx, file)
}
