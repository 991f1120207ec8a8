package model_test

import (
	"bytes"
	"fmt"

	"github.com/bochner-ml/bochner/model"
)

// Line is a fitted value: State declares its fields once, for writing and for reading.
type Line struct {
	slope     []float64
	intercept float64
}

func (l *Line) State(s *model.State) {
	s.Floats("slope", &l.slope)
	s.Float("intercept", &l.intercept)
	s.Require(len(l.slope) > 0, "there is no slope")
}

func Example() {
	var file bytes.Buffer
	if err := model.Write(&file, &Line{slope: []float64{1, 2}, intercept: 0.5}); err != nil {
		fmt.Println(err)
		return
	}
	var back Line
	err := model.Read(bytes.NewReader(file.Bytes()), int64(file.Len()), &back)
	fmt.Println(back, err)

	file.Bytes()[100] ^= 1
	fmt.Println(model.Read(bytes.NewReader(file.Bytes()), int64(file.Len()), &back))
	// Output:
	// {[1 2] 0.5} <nil>
	// model: the file is damaged or not a model file: its checksum is not that of its contents
}
