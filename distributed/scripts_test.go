package distributed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/distributed/internal/servertest"
	"github.com/bochner-ml/bochner/distributed/internal/store/s3"
	"github.com/bochner-ml/bochner/internal/runtime/store"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
)

// The tests of the scripts of Slurm and Kubernetes run them with processes in the place of the engine: sbatch is a
// script, and kubectl is this program.
func TestMain(m *testing.M) {
	if folder := os.Getenv("BOCHNER_CLUSTER"); folder != "" {
		if err := (cluster{folder}).kubectl(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "kubectl:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// workplace creates a directory with the command, rows.csv, rows.yaml and alone.bochner, the model
// fitted by the commands in three shards. It puts bin first in PATH.
func workplace(t *testing.T) string {
	if !exhaustive.Tests() {
		t.Skip("builds the command")
	}
	if _, err := exec.LookPath("sh"); err != nil || os.PathSeparator != '/' {
		t.Skip("no shell")
	}
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "bin", "bochner"), "./cmd/bochner")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	random, rows := rand.New(rand.NewPCG(1, 2)), new(strings.Builder)
	rows.WriteString("a,b,c,y\n")
	for range 30_000 {
		a, b, c := random.NormFloat64(), random.NormFloat64(), random.IntN(3)
		fmt.Fprintf(rows, "%.4f,%.4f,%c,%.4f\n", a, b, 'u'+c, a*b+float64(c%2)+random.NormFloat64()/10)
	}
	put(t, filepath.Join(dir, "rows.csv"), rows.String())
	put(t, filepath.Join(dir, "rows.yaml"), "data: {train: "+filepath.Join(dir, "rows.csv")+
		", target: y, task: regression}\npipeline:\n"+
		"  - columns: [{select: numeric, steps: [standardize]}, {select: categorical, steps: [onehot]}]\n"+
		"  - rff: {features: 50, gamma: 0.3}\n  - ridge: {alpha: 1}\n")
	put(t, filepath.Join(dir, "alone.sh"), `set -eu
from=
while :; do
	rm -rf alone
	for shard in 0 1 2; do
		bochner -q shard fit rows.yaml --shard $shard/3 $from -o alone/$shard.state
	done
	bochner -q --json shard finish "alone/*" -o alone.bochner >alone.json
	if grep -q '"done": true' alone.json; then break; fi
	from="--from alone.bochner"
done
`)
	if out, err := shell(t, dir, "alone.sh"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
}

// script returns the absolute path of a script.
func script(t *testing.T, name string) string {
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// shell runs a script in a directory.
func shell(t *testing.T, dir string, args ...string) (string, error) {
	command := exec.CommandContext(t.Context(), "sh", args...)
	command.Dir = dir
	out, err := command.CombinedOutput()
	return string(out), err
}

// same compares a model with that of the commands.
func same(t *testing.T, dir, model string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join(dir, "alone.bochner"))
	if err != nil {
		t.Fatal(err)
	}
	stores := store.Schemes{"s3": s3.New()}
	r, err := stores.Read(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s has other bytes than the model of the verbs; error %v", model, err)
	}
}

// flaky installs a wrapper of bochner that fails with a status for the first calls with a given
// shard.
func flaky(t *testing.T, dir, shard string, status, times int) {
	put(t, filepath.Join(dir, "flaky"), fmt.Sprintf(`#!/bin/sh
case "$*" in
*"fit "*"--shard"?"%s/"*)
	echo >>%[2]s/tries
	if [ $(wc -l <%[2]s/tries) -le %d ]; then
		echo "flaky: no" >&2
		exit %d
	fi ;;
esac
exec %[2]s/bin/bochner "$@"
`, shard, dir, times, status))
	os.Remove(filepath.Join(dir, "tries"))
}

// sbatch is a substitute that runs the jobs sequentially and immediately.
const sbatch = `#!/bin/sh
# sbatch FLAGS SCRIPT ARGUMENTS
set -u
last= out= needs=
while :; do
	case $1 in
	--array=0-*) last=${1#--array=0-} ;;
	--output=*) out=${1#--output=} ;;
	--dependency=afterok:*) needs=${1#--dependency=afterok:} ;;
	--cpus-per-task=2) ;; # of FIT
	--parsable | --requeue | --open-mode=append | --job-name=* | --kill-on-invalid-dep=yes) ;;
	--*) echo "sbatch: $1?" >&2 && exit 1 ;;
	*) break ;;
	esac
	shift
done
jobs=$SBATCH_JOBS
id=$(ls "$jobs" | wc -l)
: >"$jobs/$id"
echo "$id;one"
if [ -n "$needs" ] && [ -s "$jobs/$needs" ]; then exit; fi
for task in $(seq 0 "${last:-0}"); do
	SLURM_ARRAY_TASK_ID=$task sh "$@" >>"$(echo "$out" | sed "s/%a/$task/")" 2>&1 || echo "$task: $?" >>"$jobs/$id"
done
`

// On Slurm: the model of the verbs, with a part that fails twice, a job that is submitted again
// after one that fails for good, and states in a bucket.
func TestSlurm(t *testing.T) {
	dir := workplace(t)
	fold := script(t, "slurm/shard.sh")
	put(t, filepath.Join(dir, "bin", "sbatch"), sbatch)
	jobs := filepath.Join(dir, "jobs")
	if err := os.Mkdir(jobs, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SBATCH_JOBS", jobs)
	t.Setenv("FIT", "--cpus-per-task=2")
	t.Setenv("WAIT", "0")
	submit := func(folder, model string) string {
		t.Helper()
		out, err := shell(t, dir, fold, "rows.yaml", "3", folder, model)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return out
	}

	if out := submit("one", "one.bochner"); !strings.Contains(out, "pass 0: jobs 0 and 1; logs in ") {
		t.Error(out)
	}
	same(t, dir, filepath.Join(dir, "one.bochner"))
	if out := submit("one", "one.bochner"); !strings.Contains(out, "one.bochner is the model") {
		t.Error(out)
	}

	t.Setenv("BOCHNER", filepath.Join(dir, "flaky"))
	flaky(t, dir, "1", 1, 2)
	submit("two", "two.bochner")
	same(t, dir, filepath.Join(dir, "two.bochner"))

	flaky(t, dir, "1", 1, 3)
	submit("three", "three.bochner")
	if _, err := os.Stat(filepath.Join(dir, "three.bochner")); err == nil {
		t.Error("a model without shard 1")
	}
	if out := submit("three", "three.bochner"); !strings.Contains(out, "pass 0: ") {
		t.Error(out)
	}
	same(t, dir, filepath.Join(dir, "three.bochner"))
	if log, _ := os.ReadFile(filepath.Join(dir, "three/logs/pass-0-0.log")); !strings.Contains(string(log),
		"pass-0/0.state is there") {
		t.Errorf("shard 0 was done again: %s", log)
	}

	flaky(t, dir, "1", 2, 1) // wrong use
	submit("four", "four.bochner")
	if tries, _ := os.ReadFile(filepath.Join(dir, "tries")); len(tries) != 1 {
		t.Errorf("%d tries of what is used wrongly", len(tries))
	}

	if out, err := shell(t, dir, fold, "rows.yaml"); err == nil ||
		!strings.Contains(out, "usage: sh shard.sh EXPERIMENT SHARDS FOLDER MODEL") {
		t.Error(out, err)
	}

	t.Run("bucket", func(t *testing.T) {
		model := bucket(t, "slurm")
		t.Setenv("STORE", strings.TrimSuffix(model, "/model.bochner"))
		submit("five", model)
		same(t, dir, model)
		if states, _ := filepath.Glob(filepath.Join(dir, "five", "*", "*.state")); len(states) > 0 {
			t.Errorf("%q", states)
		}
	})
}

// bucket starts a server, sets the environment for it, and returns the URL of a model in its
// bucket.
func bucket(t *testing.T, folder string) string {
	u, err := url.Parse(servertest.S3(t)(folder + "/model.bochner"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ENDPOINT_URL", u.Query().Get("endpoint"))
	u.RawQuery = ""
	return u.String()
}

// On Kubernetes: the model of the verbs, with a pod of a shard that fails three times, a Job that fails for good and is
// done again, and states in a bucket.
func TestKubernetes(t *testing.T) {
	dir := workplace(t)
	fold := script(t, "kubernetes/shard.sh")
	us, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "bin", "kubectl"), "#!/bin/sh\nBOCHNER_CLUSTER="+dir+"/cluster exec "+us+" \"$@\"\n")
	t.Setenv("POLL", "0.1")
	t.Setenv("IMAGE", filepath.Join(dir, "bin", "bochner"))
	submit := func(s, job string) (string, error) { return shell(t, dir, fold, "rows.yaml", "3", s, job) }

	one := filepath.Join(dir, "one")
	if out, err := submit(one, ""); err != nil || !strings.Contains(out, one+"/model.bochner is the model") {
		t.Fatalf("%v: %s", err, out)
	}
	same(t, dir, one+"/model.bochner")
	if out, err := submit(one, ""); err != nil || strings.Contains(out, "job.batch/rows-fit-0 created") {
		t.Errorf("done again: %v: %s", err, out)
	}

	t.Setenv("IMAGE", filepath.Join(dir, "flaky"))
	flaky(t, dir, "1", 137, 3)
	two := filepath.Join(dir, "two")
	if out, err := submit(two, "two"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	same(t, dir, two+"/model.bochner")

	flaky(t, dir, "1", 1, 4)
	three := filepath.Join(dir, "three")
	if out, err := submit(three, "three"); err == nil || !strings.Contains(out, "three-fit-0 has failed") ||
		!strings.Contains(out, "shards that failed: 1") || !strings.Contains(out, "flaky: no") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := submit(three, "three"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	same(t, dir, three+"/model.bochner")

	flaky(t, dir, "1", 2, 1) // wrong use
	if out, err := submit(filepath.Join(dir, "four"), "four"); err == nil ||
		!strings.Contains(out, "four-fit-0 has failed") {
		t.Errorf("%v: %s", err, out)
	}
	if tries, _ := os.ReadFile(filepath.Join(dir, "tries")); len(tries) != 1 {
		t.Errorf("%d tries of what is used wrongly", len(tries))
	}

	t.Run("bucket", func(t *testing.T) {
		t.Setenv("IMAGE", filepath.Join(dir, "bin", "bochner"))
		model := bucket(t, "kubernetes")
		if out, err := submit(strings.TrimSuffix(model, "/model.bochner"), "five"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		same(t, dir, model)
	})
}

// cluster emulates a Kubernetes cluster in a directory: it runs the containers of an applied Job,
// with a local program as the image, and stores the Job with its status in a file.
type cluster struct{ folder string }

// job contains the fields of a Job in use. Other fields are rejected.
type job struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name   string
		Labels map[string]string
	}
	Spec struct {
		CompletionMode           string `yaml:"completionMode"`
		Completions, Parallelism int
		BackoffLimitPerIndex     *int                   `yaml:"backoffLimitPerIndex"`
		BackoffLimit             int                    `yaml:"backoffLimit"`
		MaxFailedIndexes         *int                   `yaml:"maxFailedIndexes"`
		TTLSecondsAfterFinished  int                    `yaml:"ttlSecondsAfterFinished"`
		PodFailurePolicy         struct{ Rules []rule } `yaml:"podFailurePolicy"`
		Template                 struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
	}
}

type rule struct {
	Action          string
	OnPodConditions []map[string]string `yaml:"onPodConditions"`
	OnExitCodes     *struct {
		ContainerName, Operator string `yaml:",omitempty"`
		Values                  []int
	} `yaml:"onExitCodes"`
}

type pod struct {
	RestartPolicy string `yaml:"restartPolicy"`
	Containers    []struct {
		Name, Image string
		Args        []string
		Env         []struct{ Name, Value string }
	}
}

// status is the status of a Job.
type status struct{ Condition, Message, FailedIndexes, Log string }

func (c cluster) path(name string) string { return filepath.Join(c.folder, name+".json") }

func (c cluster) kubectl(args []string) error {
	if err := os.MkdirAll(c.folder, 0o777); err != nil {
		return err
	}
	line := strings.Join(args, " ")
	name := ""
	if found := regexp.MustCompile(`job-name=([a-z0-9-]+)|^(?:get|delete) job ([a-z0-9-]+)`).FindStringSubmatch(line); found != nil {
		name = found[1] + found[2]
	}
	var s status
	content, err := os.ReadFile(c.path(name))
	if err == nil {
		err = json.Unmarshal(content, &s)
	}
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	switch {
	case strings.HasPrefix(line, "create configmap ") && strings.HasSuffix(line, "--dry-run=client -o yaml"):
		from := regexp.MustCompile(`--from-file=(\S+)`).FindStringSubmatch(line)[1]
		fmt.Printf("kind: ConfigMap\ndata: {%s: %s}\n", filepath.Base(from), from)
	case line == "apply -f -":
		return c.apply(os.Stdin)
	case strings.HasPrefix(line, "get job "+name+" --ignore-not-found -o jsonpath={.metadata.name}:{range"):
		if content != nil {
			fmt.Printf("%s:%s ", name, s.Condition)
		}
	case strings.HasPrefix(line, "get job "+name+" -o jsonpath={.metadata.name} has failed:"):
		fmt.Printf("%s has failed: %s; shards that failed: %s\n", name, s.Message, s.FailedIndexes)
	case line == "delete job "+name+" --wait":
		return os.Remove(c.path(name))
	case line == "get pods --selector=batch.kubernetes.io/job-name="+name+
		" --field-selector=status.phase=Succeeded -o name":
		fmt.Printf("pod/%s\n", name)
	case strings.HasPrefix(line, "logs pod/"):
		if content, err = os.ReadFile(c.path(strings.TrimPrefix(line, "logs pod/"))); err == nil {
			err = json.Unmarshal(content, &s)
		}
		fmt.Print(s.Log)
		return err
	case line == "logs --tail=20 --prefix --selector=batch.kubernetes.io/job-name="+name:
		fmt.Print(s.Log)
	default:
		return fmt.Errorf("%q?", line)
	}
	return nil
}

func (c cluster) apply(manifest io.Reader) error {
	text, err := io.ReadAll(manifest)
	if err != nil {
		return err
	}
	var about struct {
		Kind string
		Data map[string]string
	}
	if err := yaml.Unmarshal(text, &about); err != nil {
		return err
	}
	if about.Kind == "ConfigMap" {
		for key, from := range about.Data {
			content, err := os.ReadFile(from)
			if err == nil {
				err = os.WriteFile(filepath.Join(c.folder, key), content, 0o666)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	var j job
	if err := yaml.Unmarshal(text, &j); err != nil {
		return err
	}
	if j.APIVersion != "batch/v1" || j.Kind != "Job" || j.Spec.Template.Spec.RestartPolicy != "Never" ||
		len(j.Spec.Template.Spec.Containers) != 1 ||
		!maps.Equal(j.Metadata.Labels, j.Spec.Template.Metadata.Labels) || bytes.Contains(text, []byte("\n    ${")) {
		return fmt.Errorf("%s", text)
	}
	s := c.run(j)
	content, err := json.Marshal(s)
	if err != nil {
		return err
	}
	fmt.Printf("job.batch/%s created\n", j.Metadata.Name)
	return os.WriteFile(c.path(j.Metadata.Name), content, 0o666)
}

// run runs the pods of a Job according to its policies.
func (c cluster) run(j job) status {
	indexes, tries, s := 1, 1+j.Spec.BackoffLimit, status{Condition: "Complete"}
	if j.Spec.CompletionMode == "Indexed" {
		indexes, tries = j.Spec.Completions, 1+*j.Spec.BackoffLimitPerIndex
	}
	for index := range indexes {
		code := 0
		for range tries {
			var log string
			code, log = c.pod(j, index)
			s.Log += log
			if code == 0 {
				break
			}
			if slices.ContainsFunc(j.Spec.PodFailurePolicy.Rules, func(r rule) bool {
				return r.Action == "FailJob" && r.OnExitCodes != nil && slices.Contains(r.OnExitCodes.Values, code)
			}) {
				return status{"Failed", "a container has exited with " + strconv.Itoa(code), "", s.Log}
			}
		}
		if code != 0 {
			return status{"Failed", "too many pods have failed", strconv.Itoa(index), s.Log}
		}
	}
	return s
}

// pod runs the container of one, with $(NAME) in its arguments replaced as Kubernetes does.
func (c cluster) pod(j job, index int) (code int, log string) {
	container := j.Spec.Template.Spec.Containers[0]
	values := map[string]string{}
	for _, v := range container.Env {
		values[v.Name] = v.Value
	}
	if j.Spec.CompletionMode == "Indexed" {
		values["JOB_COMPLETION_INDEX"] = strconv.Itoa(index)
	}
	var args []string
	for _, arg := range container.Args {
		args = append(args, regexp.MustCompile(`\$\(([A-Z_]+)\)`).ReplaceAllStringFunc(arg, func(name string) string {
			if value, found := values[name[2:len(name)-1]]; found {
				return value
			}
			return name
		}))
		args[len(args)-1] = strings.Replace(args[len(args)-1], "/experiment/", c.folder+"/", 1) // its volume
	}
	command := exec.CommandContext(context.Background(), container.Image, args...)
	out, err := command.CombinedOutput()
	if err != nil && command.ProcessState == nil {
		return 128, err.Error()
	}
	return command.ProcessState.ExitCode(), string(out)
}
