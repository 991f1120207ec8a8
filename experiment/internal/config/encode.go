package config

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/param"
	pipeyaml "github.com/bochner-ml/bochner/pipeline/yaml"
)

// Flow formats a plain value as YAML on one line, in a form allowed inside flow lists and maps.
func Flow(value any) string {
	text, err := yaml.Marshal(yamlnode.Of(value))
	if err != nil {
		return ""
	}
	line := strings.TrimSpace(string(text))
	var alone any
	var within []any
	if strings.Contains(line, "\n") || yaml.Unmarshal([]byte(line), &alone) != nil ||
		yaml.Unmarshal([]byte("["+line+"]"), &within) != nil || !reflect.DeepEqual(within, []any{alone}) {
		// A long text is folded, and a plain one may end a list. JSON is YAML without these.
		if text, err = json.Marshal(value); err != nil {
			return ""
		}
		line = string(text)
	}
	return line
}

// Key writes a string as the key of a map and its colon, for a line with that indent.
func Key(name, indent string) string {
	const most = 1024 // maximum characters of an implicit key
	if text := Flow(name); len(text) > most {
		return "? " + text + "\n" + indent + ":"
	}
	return Flow(name) + ":"
}

// Encode returns the text of a file of that name that loads as the same spec, with every default
// written out.
func (s Spec) Encode(file string) ([]byte, error) { return s.encode(file, nil, nil) }

// EncodeBrief is Encode without values that are defaults, for readers. Comments are those of the pipeline, under "",
// and of named members of ensembles.
func (s Spec) EncodeBrief(file string, comments map[string]string) ([]byte, error) {
	initial := New()
	if s.Search != nil {
		initial.Search = NewSearch()
	}
	if s.Intervals != nil {
		initial.Intervals = NewIntervals()
	}
	defaults := map[string]any{}
	for _, p := range param.All(initial) {
		defaults[p.Path] = p.Value
	}
	return s.encode(file, defaults, comments)
}

func (s Spec) encode(file string, defaults map[string]any, comments map[string]string) ([]byte, error) {
	s.Data.Train, s.Data.Test = pathsFrom(s.Data.Train, file), pathsFrom(s.Data.Test, file)
	s.Data.SQL = s.Data.SQL.moved(func(path string) string { return SeenFrom(file, path) })
	s.Data.Gram = s.Data.Gram.moved(func(path string) string { return SeenFrom(file, path) })
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, section := range []string{"name", "seed", "precision", "data", "pipeline", "search", "intervals", "report",
		"output"} {
		var value *yaml.Node
		switch section {
		case "pipeline":
			node, err := pipeyaml.Encode(s.Pipeline, defaults != nil)
			if err != nil {
				return nil, err
			}
			comment(node, comments)
			value = node
		case "search":
			if s.Search == nil {
				continue
			}
			value = s.section(section, defaults)
			s.encodeGrid(value)
		case "intervals":
			if s.Intervals == nil {
				continue
			}
			value = s.section(section, defaults)
		default:
			value = s.section(section, defaults)
		}
		if value.Kind == yaml.MappingNode && len(value.Content) == 0 && section != "intervals" { // {} requests them
			continue
		}
		key := yamlnode.Of(section)
		if section == "pipeline" {
			key.HeadComment = comments[""]
		}
		root.Content = append(root.Content, key, value)
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return nil, err
	}
	return b.Bytes(), encoder.Close()
}

// comment adds comments to the keys of these names.
func comment(node *yaml.Node, comments map[string]string) {
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			child.HeadComment = comments[child.Value]
		}
		comment(child, comments)
	}
}

// SeenFrom returns a path as a file of that name has to write it.
func SeenFrom(file, path string) string {
	if path == "" || path == reader.StandardInput || filepath.IsAbs(path) {
		return path
	}
	if filepath.IsAbs(file) {
		if absolute, err := filepath.Abs(path); err == nil {
			return filepath.ToSlash(absolute)
		}
	}
	if relative, err := filepath.Rel(filepath.Dir(file), path); err == nil {
		return filepath.ToSlash(relative)
	}
	return path
}

func pathsFrom(p reader.Paths, file string) reader.Paths {
	out := make(reader.Paths, len(p))
	for i, path := range p {
		out[i] = SeenFrom(file, path)
	}
	return out
}

// Encode returns how files of rows are read, without the names of the files, as [DecodeData] reads it.
func (s Data) Encode() (string, error) {
	if s.Gram.Given() { // new rows have none of the columns of the training file
		s.Drop, s.Kinds, s.Dates = nil, nil, nil
	}
	s.Train, s.Test, s.SQL, s.Gram, s.Dataset, s.Split = nil, nil, SQL{}, Gram{}, "", Split{}
	text, err := yaml.Marshal(Spec{Data: s}.section("data", nil))
	return string(text), err
}

// section is the node of everything declared at or below a path that differs from the defaults, by path.
func (s Spec) section(path string, defaults map[string]any) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, p := range param.All(s) {
		usual, known := defaults[p.Path]
		usually := known && reflect.DeepEqual(usual, p.Value)
		if p.Path == path && !usually {
			return yamlnode.Of(p.Value)
		}
		rest, below := strings.CutPrefix(p.Path, path+".")
		if !below || s.implied(p) || usually {
			continue
		}
		at := out
		names := strings.Split(rest, ".")
		for _, name := range names[:len(names)-1] {
			at = child(at, name)
		}
		at.Content = append(at.Content, yamlnode.Of(names[len(names)-1]), yamlnode.Of(p.Value))
	}
	return out
}

// implied reports whether a value can be omitted because it follows from others or is the default.
func (s Spec) implied(p param.Param) bool {
	is := func(section string) bool { return strings.HasPrefix(p.Path, section) }
	switch {
	case p.Path == "search.folds":
		return true // cv.folds
	case p.Path == "search.random" && s.Search.Random == 0,
		p.Path == "search.strategy" && !s.Search.Coordinate(),
		p.Path == "search.rounds" && !s.Search.Coordinate(),
		is("search.halving.") && (s.Search.Halving.MinResources == 0 || p.Path == "search.halving.max_resources" &&
			s.Search.Halving.MaxResources == 0),
		p.Path == "data.format" && s.Data.SQL.Given(),
		is("data.split.") && s.Data.Split.Test == 0,
		is("data.csv.") && s.Data.CSV.IsDefault(),
		is("data.svmlight.") && s.Data.SVMLight == reader.SVMLight{}:
		return true
	}
	switch v := p.Value.(type) {
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// child returns the mapping at name below node, and creates it if it does not exist.
func child(node *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i+1]
		}
	}
	made := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	node.Content = append(node.Content, yamlnode.Of(name), made)
	return made
}

// encodeGrid inserts the axes before the other keys of the search.
func (s Spec) encodeGrid(search *yaml.Node) {
	grid := &yaml.Node{Kind: yaml.MappingNode}
	for _, axis := range s.Search.Grid {
		grid.Content = append(grid.Content, yamlnode.Of(axis.Path), yamlnode.Of(axis.Values))
	}
	search.Content = append([]*yaml.Node{yamlnode.Of("grid"), grid}, search.Content...)
}
