package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// grants are the sentences that identify accepted licenses, with single spaces between words. None
// of them requires more than including its text.
var grants = []struct{ name, sentence string }{
	{"Apache-2.0", "apache license version 2 0"},
	{"MIT", "permission is hereby granted free of charge to any person obtaining a copy of this software and " +
		"associated documentation files"},
	{"BSD", "redistribution and use in source and binary forms with or without modification are permitted provided " +
		"that the following conditions are met"},
	{"ISC", "permission to use copy modify and or distribute this software for any purpose with or without fee is " +
		"hereby granted"},
	{"BSL-1.0", "permission is hereby granted free of charge to any person or organization obtaining a copy of the " +
		"software and accompanying documentation covered by this license"},
	{"public domain", "dedicated to the public domain"},
}

// refused are words of licenses with further requirements, or of files that revoke a grant.
var refused = []string{
	"gnu general public", "gnu lesser", "gnu affero", "gnu library general", "mozilla public license",
	"eclipse public license",
	"common development and distribution", "server side public", "business source license", "commons clause",
	"creative commons attribution noncommercial",
	"elastic license", "for non commercial",
}

// decided are reviewed files: they do not concern the contents of the command.
var decided = map[string]string{
	"modernc.org/sqlite LICENSE-3RD-PARTY.md": "what is linked has MIT, BSD or the public domain, as in its first " +
		"section; the MPL is that of a module which is in the graph only",
}

var between = regexp.MustCompile(`[^a-z0-9]+`)

// normalized returns text in lower case with single spaces between words.
func normalized(text string) string {
	return between.ReplaceAllString(strings.ToLower(text), " ")
}

// kinds returns the licenses that a text grants.
func kinds(text string) (out []string) {
	words := normalized(text)
	for _, g := range grants {
		if strings.Contains(words, g.sentence) {
			out = append(out, g.name)
		}
	}
	if i := slices.Index(out, "BSD"); i >= 0 {
		out[i] = "BSD-2-Clause"
		if strings.Contains(words, "endorse or promote products derived from this software") {
			out[i] = "BSD-3-Clause"
		}
	}
	return out
}

// errs returns the modules without an accepted license at their root, and the files with further
// requirements.
func errs(modules []module) error {
	var out []error
	for _, m := range modules {
		granted := false
		for _, name := range slices.Sorted(maps.Keys(m.strs)) {
			words := normalized(m.strs[name])
			granted = granted || !strings.Contains(name, "/") && len(kinds(m.strs[name])) > 0
			for _, word := range refused {
				if _, read := decided[m.name+" "+name]; !read && strings.Contains(words, word) {
					out = append(out, fmt.Errorf("%s %s: %s contains %q", m.name, m.version, name, word))
				}
			}
			if len(kinds(m.strs[name])) == 0 && isLicence.MatchString(name) {
				out = append(out, fmt.Errorf("%s %s: %s is a licence that is not known here", m.name, m.version, name))
			}
		}
		if !granted {
			out = append(out, fmt.Errorf("%s %s: no accepted licence in %q", m.name, m.version,
				slices.Sorted(maps.Keys(m.strs))))
		}
	}
	return errors.Join(out...)
}

// isLicence matches the names of files that must grant a license; notices only name people.
var isLicence = regexp.MustCompile(`(?i)(^|/)(licen[sc]e|copying)[^/]*$`)
