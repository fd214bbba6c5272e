package runner

import (
	"fmt"
	"strings"

	"github.com/idemrace/idemrace/config"
	"github.com/idemrace/idemrace/scenarios"
	"github.com/idemrace/idemrace/target/effects"
	"github.com/idemrace/idemrace/target/httptarget"
)

// Requests are what a service would be sent in each scenario, as text, without
// sending anything: steps that the service cannot do are not looked at.
func Requests(svc config.Service, list []scenarios.Scenario) (string, error) {
	profile, err := httptarget.Resolve(svc.Profile)
	if err != nil {
		return "", err
	}
	attribute, err := effects.Attribute(svc.Effects.Ref)
	if err != nil {
		return "", err
	}
	t, err := httptarget.New(httptarget.Config{Request: svc.Request, Answer: svc.Answer, Profile: profile, Tenants: svc.Tenants, Run: "dry-run",
		Header: map[string][]string{Mark: {"dry-run"}}, Vars: captured(svc)})
	if err != nil {
		return "", err
	}
	defer t.Close()
	var amounts *httptarget.Amounts
	if attribute.ByAmount() {
		amounts = &httptarget.Amounts{}
	}
	var out strings.Builder
	for i, s := range list {
		fmt.Fprintf(&out, "# %s on %s: %s\n", s.Name, svc.Name, s.Title)
		cell := t.In(httptarget.NewNames("dry-run", fmt.Sprint(i+1), amounts), nil)
		for _, a := range s.Attempts() {
			text, err := cell.Render(a)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&out, "## %s, to %s\n%s\n\n", a.Client, a.Worker, text)
		}
	}
	return out.String(), nil
}

// captured stand in for what setup steps would capture.
func captured(svc config.Service) map[string]string {
	vars := map[string]string{}
	for _, step := range svc.Setup {
		for name := range step.Capture {
			vars[name] = "{" + name + "}"
		}
	}
	return vars
}
