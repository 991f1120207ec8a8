package command

import (
	"os"
	"strings"
	"testing"
)

// TestWrongShards checks that shards that are damaged, truncated, missing, duplicated or of another
// job have separate messages.
func TestWrongShards(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", rows(120))
	put(t, "spec.yaml", "data: {train: rows.csv, target: y}\npipeline: [{columns: [{select: numeric, steps: "+
		"[standardize]}]}, {rff: {features: 20, gamma: 1}}, logistic]\n")
	for _, name := range []string{"0", "1", "2"} {
		call(t, success, "-q shard fit spec.yaml --shard "+name+"/3 -o states/"+name)
	}
	whole, err := os.ReadFile("states/1")
	if err != nil {
		t.Fatal(err)
	}
	changed := []byte(string(whole))
	changed[len(changed)/2] ^= 1
	put(t, "changed", string(changed))
	put(t, "cut", string(whole[:len(whole)/2]))
	put(t, "empty", "")
	const damaged = ": the file is damaged or not a state of a sharded fit: "
	for args, want := range map[string]string{
		"finish states/0 changed states/2 -o m": "changed" + damaged + "its checksum is not that of its " +
			"contents\n",
		"finish states/0 cut states/2 -o m": "cut" + damaged,
		"merge states/0 empty -o m":         "empty" + damaged + "it does not begin as a model file does\n",
		"finish states/0 states/2 -o m":     "shard 1 of 3 is missing\n",
		"finish states/0 states/1 states/2 states/1 -o m": "states/1: shard 1 of 3 is already merged: these rows have " +
			"been counted already\n",
		"fit spec.yaml --shard 0/3 --from states/0 -o m": "--from must be the output of finish, got the state of shard " +
			"0 of 3\n",
		"fit spec.yaml --shard 0/3 --from spec.yaml -o m":   "spec.yaml" + damaged,
		"merge nothing/* -o m":                              "nothing/*: no file has such a name",
		"fit spec.yaml --shard 0/3 --set rff.gama=1 -o m":   "rff.gama: no such parameter (did you mean rff.gamma?)\n",
		"fit spec.yaml --shard 0/3 --data nowhere.csv -o m": "nowhere.csv: no such file or directory\n",
	} {
		if _, errs := call(t, failure, "-q shard "+args); !strings.Contains(errs, want) {
			t.Errorf("%s:\n%s\n\twanted: %s", args, errs, want)
		}
	}
	for _, args := range []string{"fit spec.yaml --shard 0/3 -o -", "merge states/0 -o -", "finish states/* -o -"} {
		_, errs := call(t, misuse, "-q shard "+args)
		has(t, errs, `must be a file name, got "-"`)
	}
	for _, shard := range []string{"3/3", "0", "0/0", "a/b"} {
		_, errs := call(t, misuse, "-q shard fit spec.yaml --shard "+shard+" -o m")
		has(t, errs, "must be I/N with 0 ≤ I < N ≤ 65536")
	}
	for _, name := range []string{"m", "-"} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("a file %q was written", name)
		}
	}
}
