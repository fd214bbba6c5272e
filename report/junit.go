package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/idemrace/idemrace/results"
)

// The elements that the common JUnit schema has (jenkins-junit.xsd), as far as
// they are used here.
type (
	xmlSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Time     string     `xml:"time,attr"`
		Suites   []xmlSuite `xml:"testsuite"`
	}
	xmlSuite struct {
		Name       string        `xml:"name,attr"`
		Tests      int           `xml:"tests,attr"`
		Failures   int           `xml:"failures,attr"`
		Errors     int           `xml:"errors,attr"`
		Skipped    int           `xml:"skipped,attr"`
		Time       string        `xml:"time,attr"`
		Timestamp  string        `xml:"timestamp,attr"`
		Properties []xmlProperty `xml:"properties>property"`
		Cases      []xmlCase     `xml:"testcase"`
	}
	xmlProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	xmlCase struct {
		Name      string     `xml:"name,attr"`
		Class     string     `xml:"classname,attr"`
		Time      string     `xml:"time,attr"`
		Skipped   *xmlReason `xml:"skipped"`
		Error     *xmlReason `xml:"error"`
		Failure   *xmlReason `xml:"failure"`
		SystemOut string     `xml:"system-out,omitempty"`
	}
	xmlReason struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// drawJUnit draws a suite per scenario and a case per target. A failure is a
// verdict that is not as expected; an expected violation passes, and is told in
// system-out. An error could not run or is inconclusive; not applicable is skipped.
func drawJUnit(w io.Writer, run results.Run, opt Options) error {
	run = results.Redact(run)
	all := xmlSuites{Name: "idemrace", Time: seconds(run.DurationMS)}
	for _, b := range blocks(run) {
		s := suite(run, b, opt)
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
		all.Suites = append(all.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func suite(run results.Run, b block, opt Options) xmlSuite {
	s := xmlSuite{
		Name:      clean(b.scenario),
		Tests:     len(b.cells),
		Timestamp: run.Started.UTC().Format("2006-01-02T15:04:05"), // the schema knows no zone
		Properties: []xmlProperty{
			{"title", clean(b.title)},
			{"seed", fmt.Sprint(run.Seed)},
			{"store", served(run)},
			{"idemrace", clean(run.Tool.Version)},
			{"interrupted", fmt.Sprint(run.Interrupted)},
		},
	}
	var ms float64
	for _, c := range b.cells {
		x := testCase(run, c, opt)
		s.Cases = append(s.Cases, x)
		s.Failures += one(x.Failure)
		s.Errors += one(x.Error)
		s.Skipped += one(x.Skipped)
		ms += c.DurationMS
	}
	s.Time = seconds(ms)
	return s
}

func testCase(run results.Run, c results.Cell, opt Options) xmlCase {
	text, _ := verdict(c)
	x := xmlCase{Name: clean(c.Target), Class: "idemrace." + clean(c.Scenario), Time: seconds(c.DurationMS)}
	why := &xmlReason{Message: strings.TrimSuffix(text, unexpected), Text: story(run, c, opt)}
	switch {
	case c.Status == results.NotApplicable:
		x.Skipped = &xmlReason{Message: why.Message}
	case c.Status == results.CouldNotRun:
		x.Error, why.Type = why, "could-not-run"
	case c.Verdict == "inconclusive":
		x.Error, why.Type = why, "inconclusive"
	case offExpectation(c):
		x.Failure, why.Type = why, "unexpected"
	default:
		x.SystemOut = story(run, c, opt)
	}
	return x
}

// story is everything a reader of a CI page needs about a case.
func story(run results.Run, c results.Cell, opt Options) string {
	text, _ := verdict(c)
	lines := []string{text, "responses: " + responses(c), "charges made: " + charges(c)}
	lines = append(lines, reasons(c, false)...)
	if again := reproduce(run, c, opt); again != "" {
		lines = append(lines, "reproduce: "+again)
	}
	return strings.Join(lines, "\n")
}

func one(r *xmlReason) int {
	if r == nil {
		return 0
	}
	return 1
}

func seconds(ms float64) string { return fmt.Sprintf("%.3f", ms/1000) }
