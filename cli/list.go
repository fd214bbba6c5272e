package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/idemrace/idemrace/check"
	"github.com/idemrace/idemrace/impl"
	"github.com/idemrace/idemrace/report"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/store/backend"
)

// thing is a line of a list.
type thing struct {
	Name   string   `json:"name"`
	Doc    string   `json:"doc"`
	Groups []string `json:"groups,omitempty"` // of coordinators and scenarios
}

// section is one list.
type section struct {
	name   string
	things []thing
}

func (a *app) listVerb() *cobra.Command {
	format := ""
	var sections []string
	for _, s := range a.sections() {
		sections = append(sections, s.name)
	}
	cmd := &cobra.Command{
		Use:       "list [" + strings.Join(sections, "|") + "]",
		Short:     "List what there is",
		Example:   "  idemrace list\n  idemrace list scenarios\n  idemrace list impls --format json",
		ValidArgs: sections,
		RunE:      func(cmd *cobra.Command, args []string) error { return a.list(args, format, sections) },
	}
	cmd.Flags().StringVar(&format, "format", defaultFormat, "`format`: table or json")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(listFormats(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func listFormats() []string { return []string{defaultFormat, "json"} }

func (a *app) list(args []string, format string, known []string) error {
	if len(args) > 1 {
		return usage("list takes one of %s, got %d arguments", strings.Join(known, ", "), len(args))
	}
	chosen := a.sections()
	if len(args) == 1 {
		at := slices.Index(known, args[0])
		if at < 0 {
			return unknown("list", args[0], known, "idemrace list --help")
		}
		chosen = chosen[at : at+1]
	}
	switch format {
	case defaultFormat:
		return a.print([]byte(listText(chosen, width(a.stdout))))
	case "json":
		return a.listJSON(chosen)
	}
	return unknown("format", format, listFormats(), "idemrace list --help")
}

// listText is at most width columns wide, if its names are; 0 is any width.
func listText(chosen []section, width int) string {
	var b strings.Builder
	for i, s := range chosen {
		indent := ""
		if len(chosen) > 1 {
			indent = "  "
			if i > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintln(&b, s.name)
		}
		wide := 0
		for _, t := range s.things {
			wide = max(wide, len(t.Name))
		}
		for _, t := range s.things {
			lead := fmt.Sprintf("%s%-*s  ", indent, wide, t.Name)
			listThing(&b, lead, t.Doc, width)
		}
	}
	return b.String()
}

// readable is the least room for a text beside its name; with less it goes below.
const readable = 24

// listThing writes one line, and what does not fit below it. Words are never
// broken: they may be names.
func listThing(b *strings.Builder, lead, doc string, width int) {
	column := len(lead)
	if width > 0 && width-column < readable {
		fmt.Fprintln(b, strings.TrimRight(lead, " "))
		column = 4
		lead = strings.Repeat(" ", column)
	}
	line := lead
	for _, word := range strings.Fields(doc) {
		switch {
		case len(line) == column:
			line += word
		case width > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			fmt.Fprintln(b, line)
			line = strings.Repeat(" ", column) + word
		default:
			line += " " + word
		}
	}
	fmt.Fprintln(b, strings.TrimRight(line, " "))
}

// listJSON writes one list as an array, all of them as an object.
func (a *app) listJSON(chosen []section) error {
	var value any = chosen[0].things
	if len(chosen) > 1 {
		all := map[string][]thing{}
		for _, s := range chosen {
			all[s.name] = s.things
		}
		value = all
	}
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return a.print(append(text, '\n'))
}

func (a *app) sections() []section {
	return []section{
		{"scenarios", scenarioThings()},
		{"impls", a.implThings()},
		{"invariants", invariantThings()},
		{"formats", formatThings()},
		{"stores", storeThings()},
	}
}

func scenarioThings() []thing {
	var list []thing
	for _, s := range scenarios.All() {
		t := thing{Name: s.Name, Doc: s.Title}
		if s.Article {
			t.Groups = []string{impl.Article}
		}
		list = append(list, t)
	}
	return list
}

func (a *app) implThings() []thing {
	var list []thing
	for _, e := range a.entries() {
		list = append(list, thing{Name: e.Name, Doc: e.Doc, Groups: e.Groups})
	}
	for _, g := range a.groups() {
		var members []string
		entries, _ := a.group(g)
		for _, e := range entries {
			members = append(members, e.Name)
		}
		if len(members) > 0 {
			list = append(list, thing{Name: g, Doc: "group: " + strings.Join(members, ", ")})
		}
	}
	return list
}

func invariantThings() []thing {
	var list []thing
	for _, inv := range check.All() {
		list = append(list, thing{Name: inv.ID, Doc: inv.Predicate})
	}
	return list
}

func formatThings() []thing {
	var list []thing
	for _, f := range report.Formats() {
		list = append(list, thing{Name: f.Name, Doc: f.Doc})
	}
	return list
}

func storeThings() []thing {
	docs := map[string]string{
		backend.Auto:        "$REDIS_URL if set, else redis-server if installed, else embedded",
		backend.Embedded:    "miniredis in this process, over TCP; needs nothing",
		backend.RedisServer: "a private redis-server from PATH, on a free loopback port",
		backend.Container:   backend.DefaultImage + " in Docker (--redis-image for another)",
		backend.Memory:      "no Redis at all: the reference store; nothing can cut it",
	}
	var list []thing
	for _, name := range backend.Names() {
		list = append(list, thing{Name: name, Doc: docs[name]})
	}
	return append(list, thing{Name: "redis://HOST:PORT", Doc: "yours (rediss:// for TLS, a cluster too); only loopback without --allow-remote"})
}
