package shardfit

import (
	"context"

	"github.com/bochner-ml/bochner/experiment/internal/dataload"
	"github.com/bochner-ml/bochner/internal/rows/reader"
)

// input is one file of rows.
type input struct {
	index int
	path  string
}

// inputsOf are the files that the look of a shard reads.
func inputsOf(s *State, o Options) ([]input, error) {
	if o.Data != "" {
		return []input{{o.Shard, o.Data}}, nil
	}
	all, err := filesOf(s)
	if err != nil {
		return nil, err
	}
	var out []input
	for k := range all {
		if k*o.Shards/len(all) == o.Shard {
			out = append(out, all[k])
		}
	}
	return out, nil
}

// filesOf returns the files of the training rows.
func filesOf(s *State) ([]input, error) {
	list, err := dataload.Files(s.spec.Data).List(s.spec.Data.Train)
	if err != nil {
		return nil, dataload.ErrorOf(context.Background(), s.spec, "data.train", err)
	}
	out := make([]input, len(list))
	for k, path := range list {
		out[k] = input{k, path}
	}
	return out, nil
}

// open opens a file with its name for messages. The last function returned closes it.
func open(ctx context.Context, s *State, path string, o Options) (file reader.Files, name string, last func(),
	end func(), err error) {
	file, name, last, end = s.spec.Data.Files, path, func() {}, func() {}
	if reader.ReadOnce(path) {
		stream := reader.NewStream(ctx, path, o.Input)
		if path == reader.StandardInput {
			name = "standard input"
		}
		file.FS, last, end = stream, stream.LastPass, stream.Close
	}
	if file.Format == "auto" && reader.FormatOf(name) == "" {
		file, err = file.Guess(name)
	}
	if err != nil {
		end()
	}
	return file, name, last, end, err
}
