package builtin_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/builtin"
)

// TestLoad compares every data set with its description.
func TestLoad(t *testing.T) {
	for _, about := range builtin.All() {
		t.Run(about.Name, func(t *testing.T) {
			train, test, err := builtin.Load(about.Name)
			if err != nil {
				t.Fatal(err)
			}
			if train.Rows() != about.Train || test.Rows() != about.Test || train.Cols() != about.Columns {
				t.Errorf("%d + %d rows, %d columns; described as %d + %d, %d", train.Rows(), test.Rows(), train.Cols(), about.Train,
					about.Test, about.Columns)
			}
			if err := train.Check(); err != nil {
				t.Error(err)
			}
			if about.Test > 0 {
				if err := test.Check(); err != nil {
					t.Error(err)
				}
			}
			if got := train.Schema.Targets[0].Name; got != about.Target {
				t.Errorf("target %q, described as %q", got, about.Target)
			}
			if about.License == "" || about.Attribution == "" || about.Doc == "" || about.Title == "" {
				t.Errorf("the description is not complete: %+v", about)
			}
		})
	}
}

// TestClasses compares the rows of each class with the counts that the sets' authors give.
func TestClasses(t *testing.T) {
	for _, c := range []struct {
		name        string
		classes     []string
		train, test []int
	}{
		{"adult", []string{"<=50K", ">50K"}, []int{24720, 7841}, []int{12435, 3846}},
		{"iris", []string{"Iris-setosa", "Iris-versicolor", "Iris-virginica"}, []int{50, 50, 50}, nil},
		{"wine", []string{"1", "2", "3"}, []int{59, 71, 48}, nil},
		{"optdigits", []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
			[]int{376, 389, 380, 389, 387, 376, 377, 387, 380, 382}, []int{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}},
	} {
		train, test, err := builtin.Load(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := train.Schema.Classes(); !slices.Equal(got, c.classes) {
			t.Errorf("%s: classes %q, want %q", c.name, got, c.classes)
		}
		if got := counts(train); !slices.Equal(got, c.train) {
			t.Errorf("%s: %v training rows per class, want %v", c.name, got, c.train)
		}
		if got := counts(test); !slices.Equal(got, c.test) {
			t.Errorf("%s: %v test rows per class, want %v", c.name, got, c.test)
		}
	}
}

func counts(s datasets.Set) []int {
	var out []int
	for _, y := range s.Y {
		for len(out) <= int(y) {
			out = append(out, 0)
		}
		out[int(y)]++
	}
	return out
}

func TestRoles(t *testing.T) {
	train, test, err := builtin.Read(context.Background(), "adult",
		datasets.Roles{Weight: "fnlwgt", Drop: []string{"education"}})
	if err != nil {
		t.Fatal(err)
	}
	if train.Cols() != 12 || test.Cols() != 12 || train.Weights[0] != 77516 || test.Weights[0] != 226802 {
		t.Errorf("%d columns, first weights %v and %v; want 12, 77516, 226802", train.Cols(), train.Weights[0],
			test.Weights[0])
	}
}

func TestUnknown(t *testing.T) {
	_, _, err := builtin.Load("irys")
	if want := `builtin: no data set "irys"; there are adult, iris, optdigits, wine`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestSHA256 checks that the hashes are those of the original files.
func TestSHA256(t *testing.T) {
	for name, want := range map[string][2]string{
		"adult": {"c7a2b4716a97f930123e0baf879188d701e798172631a654fc703d4b082907f3",
			"8a2c1bffa6e7ce5abfa43881ae5e87c4311ebc2b3cd526c9c40a43f19f06f799"},
		"iris": {"986f1ced51b9cd3082fe93847d88b2f762bdd6653810d1df1a0b9415bf26246f"},
	} {
		train, test, err := (builtin.Info{Name: name}).SHA256()
		if err != nil || train != want[0] || test != want[1] {
			t.Errorf("%s: %s and %s, %v; want %s", name, train, test, err, want)
		}
	}
	if _, _, err := (builtin.Info{Name: "titanic"}).SHA256(); err == nil {
		t.Error("no error for a set that is not built in")
	}
}

func ExampleLoad() {
	train, _, err := builtin.Load("iris")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(train.Rows(), train.Cols(), train.Schema.Classes())
	// Output: 150 4 [Iris-setosa Iris-versicolor Iris-virginica]
}
