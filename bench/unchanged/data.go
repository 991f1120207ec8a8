package main

import (
	"bytes"
	"embed"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

//go:embed specs/*.yaml
var specs embed.FS

// prepare writes the data and the experiments to a directory and returns the paths of the
// experiments.
func prepare(folder string) ([]string, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	for name, content := range map[string][]byte{"table.csv": table(700), "numbers.csv": columns(600),
		"words.svm": words(500), "text.csv": messages(400)} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return nil, err
		}
	}
	entries, err := specs.ReadDir("specs")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, entry := range entries {
		text, err := specs.ReadFile("specs/" + entry.Name())
		if err != nil {
			return nil, err
		}
		path := filepath.Join(folder, entry.Name())
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return nil, err
		}
		out = append(out, path)
	}
	return out, nil
}

// table returns a CSV file with numbers, strings, missing values, weights, groups and classes.
func table(rows int) []byte {
	rng := rand.New(rand.NewPCG(1, 1))
	colors := []string{"red", "green", "blue", "grey", "rare"}
	var b bytes.Buffer
	fmt.Fprintln(&b, "length,width,depth,age,colour,shop,weight,group,many,two")
	for i := range rows {
		x := []float64{rng.NormFloat64(), 3 * rng.NormFloat64(), rng.ExpFloat64(), float64(18 + rng.IntN(60))}
		c := rng.IntN(4)
		if rng.IntN(60) == 0 {
			c = 4
		}
		shop := rng.IntN(9)
		signal := math.Sin(2*x[0]) + x[1]*x[1]/9 - x[2] + 0.4*float64(c) + 0.3*rng.NormFloat64()
		for j, v := range x {
			if j < 2 && rng.IntN(25) == 0 {
				b.WriteString(",")
				continue
			}
			fmt.Fprintf(&b, "%.5g,", v)
		}
		class := []string{"low", "middle", "high"}[max(0, min(2, int(signal+1)))]
		two := "no"
		if signal > 0.5 {
			two = "yes"
		}
		fmt.Fprintf(&b, "%s,shop%d,%.2f,g%d,%s,%s\n", colors[c], shop, 0.5+rng.Float64(), i%31, class, two)
	}
	return b.Bytes()
}

// columns is a CSV file of numbers with two targets.
func columns(rows int) []byte {
	rng := rand.New(rand.NewPCG(2, 1))
	var b bytes.Buffer
	fmt.Fprintln(&b, "a,b,c,d,e,heat,cold")
	for range rows {
		x := make([]float64, 5)
		for j := range x {
			x[j] = rng.NormFloat64() * float64(j+1)
			fmt.Fprintf(&b, "%.6g,", x[j])
		}
		heat := math.Cos(x[0])*x[1] + 0.2*x[4]
		fmt.Fprintf(&b, "%.6g,%.6g\n", heat+0.1*rng.NormFloat64(), 5-heat*heat/4+0.1*rng.NormFloat64())
	}
	return b.Bytes()
}

// messages returns a CSV file of text, with missing values and a class.
func messages(rows int) []byte {
	rng := rand.New(rand.NewPCG(4, 1))
	vocabulary := strings.Fields("the a of meeting report invoice prize winner free offer team budget lunch click now")
	var b bytes.Buffer
	fmt.Fprintln(&b, "message,length,kind")
	for i := range rows {
		sum := 0.0
		text := make([]string, 4+rng.IntN(9))
		for k := range text {
			word := rng.IntN(len(vocabulary))
			text[k] = vocabulary[word]
			sum += math.Sin(float64(word))
		}
		kind := "ham"
		if sum+0.3*rng.NormFloat64() > 0.4 {
			kind = "spam"
		}
		if i%40 == 39 {
			text = nil
		}
		fmt.Fprintf(&b, "%s,%d,%s\n", strings.Join(text, " "), len(text), kind)
	}
	return b.Bytes()
}

// words returns an svmlight file of sparse rows with two classes.
func words(rows int) []byte {
	rng := rand.New(rand.NewPCG(3, 1))
	var b bytes.Buffer
	for range rows {
		sum := 0.0
		var fields bytes.Buffer
		for j := range 80 {
			if rng.IntN(10) > 0 {
				continue
			}
			v := math.Round(8*rng.Float64()) / 8
			sum += v * math.Sin(float64(j))
			fmt.Fprintf(&fields, " %d:%g", j+1, v)
		}
		class := "-1"
		if sum+0.2*rng.NormFloat64() > 0 {
			class = "+1"
		}
		b.WriteString(class + fields.String() + "\n")
	}
	return b.Bytes()
}
