// Package mlflow logs runs to an MLflow tracking server over its REST interface: parameters, metrics, tags and files.
//
//	address, err := mlflow.ParseAddress("http://localhost:5000?experiment=adult")
//	run, err := mlflow.NewClient(address, mlflow.EnvironmentCredentials()).Start(ctx,
//		mlflow.Start{Experiment: "adult", Name: "wide"})
//	err = run.Log(ctx, mlflow.Entries{Params: map[string]string{"rff.gamma": "0.1"},
//		Metrics: []mlflow.Metric{{Key: "test/accuracy", Value: 0.86}}})
//	err = run.Upload(ctx, "model.bochner", "runs/wide/model.bochner")
//	err = run.End(ctx, mlflow.Finished)
//
// Every call ends with its context. There are no retries and no redirects, which could leak the
// credentials. The package is independent of experiments; package experiment decides what is
// logged.
//
// Source: the REST interface of MLflow, https://mlflow.org/docs/latest/rest-api.html.
package mlflow

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// Address is a tracking server, optionally with the name of an experiment.
type Address struct {
	Server     string // http://HOST, with an optional port and path
	Experiment string // "" for none
}

// Wanted describes a valid address.
const Wanted = "http://HOST:PORT or https://HOST, with ?experiment=NAME where the experiment is to have another name"

// ParseAddress parses an address. Its errors do not contain the address, which may have a password.
func ParseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return Address{}, errors.New("must be " + Wanted + ", got no URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return Address{}, fmt.Errorf("scheme must be that of %[2]s, got %[1]q; `mlflow server` answers there for a folder "+
			"or a database", u.Scheme, Wanted)
	case u.User != nil:
		return Address{}, errors.New("a user stands in the URL: set MLFLOW_TRACKING_USERNAME and " +
			"MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, in the environment instead")
	case u.Host == "" || u.Hostname() == "":
		return Address{}, errors.New("must be " + Wanted + ", got no host")
	case u.Fragment != "":
		return Address{}, errors.New("must be " + Wanted + ", got a fragment after #")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Address{}, errors.New("must be " + Wanted + ", got an invalid query after ?")
	}
	names := query["experiment"]
	delete(query, "experiment")
	if len(query) > 0 || len(names) > 1 || len(names) == 1 && strings.TrimSpace(names[0]) == "" {
		return Address{}, errors.New("must be " + Wanted + ", got another query after ?")
	}
	out := Address{Server: u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/")}
	if len(names) == 1 {
		out.Experiment = names[0]
	}
	return out, nil
}

// Credentials are the credentials for a server: a user with a password, or a token. The zero value
// sends none.
type Credentials struct {
	User, Password string
	Token          string // used if there is no user with a password
}

// EnvironmentCredentials reads the environment variables of MLflow's client:
// MLFLOW_TRACKING_USERNAME with MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN.
func EnvironmentCredentials() Credentials {
	return Credentials{
		User:     os.Getenv("MLFLOW_TRACKING_USERNAME"),
		Password: os.Getenv("MLFLOW_TRACKING_PASSWORD"),
		Token:    os.Getenv("MLFLOW_TRACKING_TOKEN"),
	}
}

// Status is the status of a run, as defined by MLflow.
type Status string

// The ends of a run.
const (
	Finished Status = "FINISHED"
	Failed   Status = "FAILED"
	Killed   Status = "KILLED" // by the user
)

// Entries are logged together.
type Entries struct {
	Params  map[string]string // each may be logged once
	Tags    map[string]string
	Metrics []Metric
}

// Metric is a value at a step, such as an epoch or a fold; 0 without steps.
type Metric struct {
	Key   string
	Value float64
	Step  int
}
