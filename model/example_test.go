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
	state, err := model.Record(&Line{slope: []float64{1, 2}, intercept: 0.5})
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if err := model.Write(&file, model.Header{Name: "a line"}, state); err != nil {
		fmt.Println(err)
		return
	}
	header, state, err := model.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	var back Line
	err = model.Restore(state, &back)
	fmt.Println(header.Name, back, err)

	file.Bytes()[100] ^= 1
	_, _, err = model.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	fmt.Println(err)
	// Output:
	// a line {[1 2] 0.5} <nil>
	// model: the file is damaged or not a model file: its checksum is not that of its contents
}
