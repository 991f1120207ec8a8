// Package command is the command line of bochner. Programs choose its parts: package cmd/bochner has none,
// distributed/cmd/bochner has all.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/internal/runtime/store"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/serve"
)

// The exit codes.
const (
	success  = 0
	failure  = 1
	misuse   = 2
	canceled = 130 // 128 and the number of the signal of Ctrl-C, as a shell reports it
)

// commands is the command line.
type commands struct {
	Auto     autoCommand     `cmd:"" help:"Search for the best model for a data file within a time limit."`
	Init     initCommand     `cmd:"" help:"Generate a commented experiment file for a data file."`
	Validate validateCommand `cmd:"" help:"Check an experiment file and its data."`
	Plan     planCommand     `cmd:"" help:"Estimate time and memory of a run, and refuse one that cannot fit in memory."`
	Run      runCommand      `cmd:"" help:"Run an experiment: load, search, fit, evaluate, save."`
	Report   reportCommand   `cmd:"" help:"Write the HTML report of a finished run."`
	Compare  compareCommand  `cmd:"" help:"Compare runs: settings, scores, and paired significance tests."`
	Evaluate evaluateCommand `cmd:"" help:"Evaluate a model on labeled rows."`
	Predict  predictCommand  `cmd:"" help:"Write the predictions of a model."`
	Explain  explainCommand  `cmd:"" help:"Compute Shapley values: which inputs move each prediction."`
	Export   exportCommand   `cmd:"" help:"Export a model as ONNX, Go or Python."`
	Inspect  inspectCommand  `cmd:"" help:"Print the contents of a model file."`
	Serve    serveCommand    `cmd:"" help:"Serve predictions over HTTP and gRPC."`
	Shard    shardCommand    `cmd:"" help:"Fit on several hosts: fit shards, merge, finish."`
	Schema   schemaCommand   `cmd:"" help:"Print the JSON Schema of experiment files, for editors."`
	Datasets datasetsCommand `cmd:"" help:"List the built-in data sets."`

	Help       helpCommand       `cmd:"" help:"Show help for a command."`
	Version    versionCommand    `cmd:"" help:"Print the version."`
	Completion completionCommand `cmd:"" help:"Print a shell completion script."`
	Man        manCommand        `cmd:"" help:"Write the manual pages into a directory."`
	Complete   completeCommand   `cmd:"" name:"complete-words" hidden:""`

	AllowSuperuser bool `help:"Allow data.sql to use a PostgreSQL superuser; only for trusted experiment files."`

	Quiet       bool             `short:"q" help:"Print no progress and no summary, only results and errors."`
	JSON        bool             `name:"json" help:"Print the result as JSON."`
	VersionFlag kong.VersionFlag `name:"version" help:"Print the version."`
}

// Parts are what a program adds to the command line: packages with large dependencies. A command that needs a missing
// part returns an error before it starts. Drivers of databases are no part; package database/sql knows those of the
// program.
type Parts struct {
	Stores store.Schemes // states and models of sharded fits, by URL scheme; paths and file:// need none

	// ServeGRPC serves models over gRPC on the listener until ctx is done.
	ServeGRPC func(ctx context.Context, models *serve.Server, l net.Listener, o serve.ListenOptions) error

	// Trace returns the server with a trace of each request, sent to the collector at url. The returned function sends the
	// remaining ones.
	Trace func(ctx context.Context, server *serve.Server, url, version string) (http.Handler, func(), error)
}

// errLeftOut reports a missing part.
var errLeftOut = errors.New("this bochner is built without it; " + suggest.CompleteCommand)

// objectStores are the stores of a program without any.
var objectStores = store.Schemes{"s3": store.Unavailable{Err: errLeftOut}, "gs": store.Unavailable{Err: errLeftOut}}

// session is the environment of a command.
type session struct {
	Parts
	ctx         context.Context
	out, err    io.Writer
	quiet, json bool

	clear func() // erases the progress display; may be nil
}

// Main runs the command with the arguments of the process, and exits.
func (parts Parts) Main() {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup has it ignored
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	go func() {
		<-ctx.Done()
		end := time.Now().Add(grace(os.Args[1:]))
		time.Sleep(echo)
		stop() // a second Ctrl-C kills
		time.Sleep(time.Until(end))
		fmt.Fprintln(os.Stderr, "bochner: "+interrupted(os.Args[1:]))
		os.Exit(canceled)
	}()
	collectOften()
	os.Exit(parts.Run(ctx, os.Args[1:], writerFor(os.Stdout), writerFor(os.Stderr)))
}

// echo is the time in which a repeated signal is ignored: a sender that signals a process and its
// group, as timeout does, sends it twice.
const echo = 200 * time.Millisecond

// called is the command that arguments name, "" for none.
func called(args []string) string {
	words := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "-") })
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// grace returns how long a stopped command may take to end. The auto command ends within two seconds
// by its own deadlines; the longer grace is for writing a large model.
func grace(args []string) time.Duration {
	switch called(args) {
	case "auto":
		return 10 * time.Second
	case "serve": // which has a limit of its own
		return 24 * time.Hour
	}
	return 900 * time.Millisecond
}

// interrupted returns the message of a canceled command. Only run resumes.
func interrupted(args []string) string {
	if name := called(args); name == "run" || name == "auto" {
		return "interrupted; run again to resume"
	}
	return "interrupted"
}

// only returns c for the parser with the named command alone: parsing the flags of all commands
// takes longer than predicting a row. For help or an unknown command it returns c.
func (c *commands) only(name string) any {
	fields, found := reflect.VisibleFields(reflect.TypeOf(*c)), false
	for i, f := range fields {
		_, command := f.Tag.Lookup("cmd")
		switch {
		case command && strings.ToLower(f.Name) == name && f.Tag.Get("name") == "":
			found = !slices.Contains([]string{"Help", "Completion", "Man"}, f.Name)
		case command:
			fields[i].Tag = `kong:"-"`
		}
	}
	if !found {
		return c
	}
	return reflect.ValueOf(c).Convert(reflect.PointerTo(reflect.StructOf(fields))).Interface()
}

// parserOf returns the parser of the command line, for all commands or those in [commands.only].
func parserOf(c any, out, err io.Writer) (*kong.Kong, error) {
	versions := experiment.Version()
	return kong.New(c,
		kong.Name("bochner"),
		kong.Description("Kernel machines by random features, from one YAML file.\n\nExample: bochner init rows.csv && "+
			"bochner run rows.yaml"),
		kong.Writers(out, err),
		kong.Exit(func(code int) { panic(exit(code)) }),
		kong.Vars{
			"version": "bochner " + versions.Bochner + " " + versions.Go,
			"formats": reader.FormatNames(), "formatlist": strings.Join(reader.Formats(), ","),
			"endings": strings.Join(reader.Extensions(), " "),
		},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
}

// Run runs the command with its arguments and outputs, and returns the exit code.
func (parts Parts) Run(ctx context.Context, args []string, out, err io.Writer) (code int) {
	if called(args) == "fold" {
		fmt.Fprintln(err, "bochner: the command fold is renamed; use bochner shard fit, merge or finish")
		return misuse
	}
	if parts.Stores == nil {
		parts.Stores = objectStores
	}
	var c commands
	output := &heard{w: out}
	parser, wrong := parserOf(c.only(called(args)), output, err)
	if wrong != nil {
		fmt.Fprintln(err, "bochner: "+wrong.Error())
		return failure
	}
	defer func() { // --help and --version end here
		switch e := recover().(type) {
		case nil:
		case exit:
			if code = int(e); output.err != nil {
				fmt.Fprintln(err, "bochner: "+output.err.Error())
				code = failure
			}
		default:
			panic(e)
		}
	}()
	call, wrong := parser.Parse(joinNegative(args))
	if wrong != nil && output.err == nil {
		fmt.Fprintf(err, "bochner: %v; see bochner --help\n", wrong)
		return misuse
	}
	if c.AllowSuperuser {
		ctx = config.AllowSuperuser(ctx)
	}
	s := session{Parts: parts, ctx: ctx, out: output, err: err, quiet: c.Quiet, json: c.JSON}
	if wrong == nil {
		wrong = call.Run(&s, parser)
	}
	if wrong == nil {
		wrong = output.err
	}
	var use usageError
	if errors.As(wrong, &use) {
		fmt.Fprintf(err, "bochner: %v; see bochner --help\n", use.error)
		return misuse
	}
	if wrong != nil {
		fmt.Fprintln(err, message(ctx, args, wrong))
		if isCanceled(ctx, wrong) {
			return canceled
		}
		return failure
	}
	return success
}

// joinNegative joins a flag and a following negative number into one argument, because the parser
// would take the number for single-letter flags.
func joinNegative(args []string) []string {
	var out []string
	for i, arg := range args {
		_, err := strconv.ParseFloat(arg, 64)
		if err == nil && strings.HasPrefix(arg, "-") && i > 0 && strings.HasPrefix(args[i-1], "--") &&
			!strings.Contains(args[i-1], "=") {
			out[len(out)-1] += "=" + arg
			continue
		}
		out = append(out, arg)
	}
	return out
}

// heard is a writer that stores the first error, so that lost output is not a success.
type heard struct {
	w   io.Writer
	err error
}

func (h *heard) Write(p []byte) (int, error) {
	n, err := h.w.Write(p)
	if h.err == nil {
		h.err = err
	}
	return n, err
}

// exit is the value kong panics with to leave a parse.
type exit int

// isCanceled reports whether an error is that of a signal.
func isCanceled(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// message returns the error message for the user.
func message(ctx context.Context, args []string, err error) string {
	if isCanceled(ctx, err) {
		return "bochner: " + interrupted(args)
	}
	var errs param.FieldErrors
	if errors.As(err, &errs) {
		return errs.Error() // file:line:column, as editors know it
	}
	return "bochner: " + trimPackage(err)
}

// trimPackage returns the message of an error without package prefixes.
func trimPackage(err error) string {
	text := err.Error()
	for {
		name, rest, found := strings.Cut(text, ": ")
		if !found || !slices.Contains(packageNames, name) {
			return text
		}
		text = rest
	}
}

// packageNames are the prefixes that trimPackage removes.
var packageNames = []string{"serve", "shardfit", "distributed", "experiment", "auto", "gridsearch", "pipeline", "model",
	"datasets", "files", "graph", "onnx", "golang", "python"}
