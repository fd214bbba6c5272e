// Package deploy has manifests for Kubernetes, and no code. Its test holds them
// against the program: the fields are batch/v1's, and the command lines are idemrace's.
package deploy

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/idemrace/idemrace/cli"
	"github.com/idemrace/idemrace/store/storetest"
)

// job is batch/v1's, as far as the manifests use it: any other field is refused.
type job struct {
	APIVersion string            `yaml:"apiVersion"`
	Kind       string            `yaml:"kind"`
	Metadata   map[string]string `yaml:"metadata"`
	Spec       struct {
		CompletionMode string `yaml:"completionMode"`
		Completions    int    `yaml:"completions"`
		Parallelism    int    `yaml:"parallelism"`
		BackoffLimit   *int   `yaml:"backoffLimit"`
		Template       struct {
			Spec struct {
				RestartPolicy      string `yaml:"restartPolicy"`
				EnableServiceLinks *bool  `yaml:"enableServiceLinks"`
				SecurityContext    struct {
					RunAsNonRoot bool `yaml:"runAsNonRoot"`
					RunAsUser    int  `yaml:"runAsUser"`
					FSGroup      int  `yaml:"fsGroup"`
				} `yaml:"securityContext"`
				Containers []struct {
					Name, Image string
					Args        []string
					EnvFrom     []struct {
						ConfigMapRef struct{ Name string } `yaml:"configMapRef"`
					} `yaml:"envFrom"`
					Resources struct {
						Requests map[string]string
					}
					SecurityContext struct {
						AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
						ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
						Capabilities             struct{ Drop []string }
					} `yaml:"securityContext"`
					VolumeMounts []struct {
						Name      string
						MountPath string `yaml:"mountPath"`
					} `yaml:"volumeMounts"`
				}
				Volumes []struct {
					Name                  string
					PersistentVolumeClaim struct {
						ClaimName string `yaml:"claimName"`
					} `yaml:"persistentVolumeClaim"`
				}
			}
		}
	}
}

// kustomization is what is used of kustomize's.
type kustomization struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Namespace  string
	Resources  []string
	Images     []struct {
		Name    string
		NewName string `yaml:"newName"`
		NewTag  string `yaml:"newTag"`
	}
	ConfigMapGenerator []struct {
		Name, Behavior string
		Literals       []string
	} `yaml:"configMapGenerator"`
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// accepted has idemrace read a command line, as a pod would, and returns its help.
func accepted(t *testing.T, args []string) string {
	t.Helper()
	var out, said bytes.Buffer
	if code := cli.Run(context.Background(), cli.Config{Args: append(args, "--help"), Stdout: &out, Stderr: &said}); code != 0 {
		t.Errorf("%v: exit %d: %s", args, code, said.String())
	}
	return out.String()
}

func TestTheJobIsOneLoad(t *testing.T) {
	var j job
	read(t, "base/job.yaml", &j)
	c := j.Spec.Template.Spec.Containers[0]
	if j.APIVersion != "batch/v1" || j.Kind != "Job" || j.Spec.CompletionMode != "Indexed" || j.Spec.Completions != j.Spec.Parallelism || *j.Spec.BackoffLimit != 0 {
		t.Errorf("%+v", j)
	}
	if args := strings.Join(c.Args, " "); !strings.Contains(args, fmt.Sprint("--shards=", j.Spec.Completions)) || !strings.Contains(args, "$(JOB_COMPLETION_INDEX)") {
		t.Errorf("%s is not %d shards", args, j.Spec.Completions)
	}
	var merge job
	read(t, "merge/job.yaml", &merge)
	m := merge.Spec.Template.Spec.Containers[0]
	accepted(t, m.Args)
	for i := range j.Spec.Completions {
		file := strings.ReplaceAll("/results/shard-$(JOB_COMPLETION_INDEX).json", "$(JOB_COMPLETION_INDEX)", fmt.Sprint(i))
		if !strings.Contains(strings.Join(m.Args, " "), file) {
			t.Errorf("merge leaves out %s", file)
		}
	}
	for _, of := range []job{j, merge} {
		s := of.Spec.Template.Spec
		if by := s.SecurityContext; !imageRunsAs(t, by.RunAsUser) || by.FSGroup != by.RunAsUser || !by.RunAsNonRoot {
			t.Errorf("the image's user may not write to the volume: %+v", by)
		}
		if s.RestartPolicy != "Never" || s.Volumes[0].PersistentVolumeClaim.ClaimName != "idemrace-results" || s.Containers[0].VolumeMounts[0].MountPath != "/results" {
			t.Errorf("%+v", s)
		}
	}
	help := accepted(t, c.Args)
	for _, path := range []string{"base/kustomization.yaml", "example/load/kustomization.yaml"} {
		var k kustomization
		read(t, path, &k)
		for _, g := range k.ConfigMapGenerator {
			if g.Name != c.EnvFrom[0].ConfigMapRef.Name {
				t.Errorf("%s: config map %s is read by nobody", path, g.Name)
			}
			for _, l := range g.Literals {
				name, value, ok := strings.Cut(strings.TrimPrefix(l, "IDEMRACE_"), "=")
				if flag := " --" + strings.ToLower(strings.ReplaceAll(name, "_", "-")) + " "; !ok || value == "" || !strings.Contains(help, flag) {
					t.Errorf("%s: %s sets no flag of load", path, l)
				}
			}
		}
	}
	var merging, over, with kustomization
	read(t, "merge/kustomization.yaml", &merging)
	read(t, "example/load/kustomization.yaml", &over)
	read(t, "example/merge/kustomization.yaml", &with)
	if over.Namespace != with.Namespace || !slices.Equal(over.Images, with.Images) {
		t.Errorf("the example's merge is not where its load is: %+v, %+v", over, with)
	}
}

// imageRunsAs: the image's user is that.
func imageRunsAs(t *testing.T, user int) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), fmt.Sprintf("\nUSER %d:%d\n", user, user))
}

// What the Jobs would run is run here, one pod after the other: the volume is a folder,
// and the settings are the config map's, but for the store, the rate and the time.
func TestTheJobsCanBeRun(t *testing.T) {
	redis := storetest.StartRedis(t)
	var j, merge job
	var k kustomization
	read(t, "base/job.yaml", &j)
	read(t, "merge/job.yaml", &merge)
	read(t, "base/kustomization.yaml", &k)
	folder := t.TempDir()
	pod := func(args []string, env ...string) (string, string) {
		t.Helper()
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "/results", folder)
			for _, one := range env {
				name, value, _ := strings.Cut(one, "=")
				args[i] = strings.ReplaceAll(args[i], "$("+name+")", value)
			}
		}
		var out, said bytes.Buffer
		if code := cli.Run(t.Context(), cli.Config{Args: args, Environ: env, Stdout: &out, Stderr: &said}); code != 0 {
			t.Fatalf("%v: exit %d: %s", args, code, said.String())
		}
		return out.String(), said.String()
	}
	env := append(slices.Clone(k.ConfigMapGenerator[0].Literals), "IDEMRACE_STORE=redis://"+redis, "IDEMRACE_RATE=400", "IDEMRACE_FOR=300ms")
	for i := range j.Spec.Completions {
		args := slices.Clone(j.Spec.Template.Spec.Containers[0].Args)
		if _, said := pod(args, append(slices.Clone(env), fmt.Sprint("JOB_COMPLETION_INDEX=", i))...); strings.Contains(said, "no flag's") {
			t.Error(said)
		}
	}
	table, _ := pod(slices.Clone(merge.Spec.Template.Spec.Containers[0].Args))
	if !strings.Contains(table, "Of 4 shards") || !regexp.MustCompile(`(?m)^wait +120 `).MatchString(table) {
		t.Errorf("not the whole plan:\n%s", table)
	}
}

// What kustomize makes of the overlays is whole: each name that one object has for
// another is there, in one namespace.
func TestKustomizeBuilds(t *testing.T) {
	kustomize := []string{"kustomize", "build"}
	if _, err := exec.LookPath(kustomize[0]); err != nil {
		kustomize = []string{"kubectl", "kustomize"}
	}
	if _, err := exec.LookPath(kustomize[0]); err != nil {
		t.Skip("needs kustomize: it would build the overlays; kubectl has it, too")
	}
	build := func(dir string) (load job, text string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), kustomize[0], kustomize[1], dir).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", dir, err, out)
		}
		for doc := range strings.SplitSeq(string(out), "\n---\n") {
			if strings.Contains(doc, "\nkind: Job\n") {
				d := yaml.NewDecoder(strings.NewReader(doc))
				d.KnownFields(true)
				if err := d.Decode(&load); err != nil {
					t.Fatalf("%s: %v\n%s", dir, err, doc)
				}
			}
		}
		return load, string(out)
	}
	for _, under := range []string{"", "example/"} {
		from := map[string]string{"": "base", "example/": "example/load"}[under]
		load, text := build(from)
		merge, _ := build(under + "merge")
		a, b := load.Spec.Template.Spec, merge.Spec.Template.Spec
		if load.Metadata["namespace"] != merge.Metadata["namespace"] || a.Containers[0].Image != b.Containers[0].Image || a.Volumes[0] != b.Volumes[0] {
			t.Errorf("%s is not merged by %smerge: %+v, %+v", from, under, load, merge)
		}
		if name := a.Containers[0].EnvFrom[0].ConfigMapRef.Name; !strings.Contains(text, "\n  name: "+name+"\n") {
			t.Errorf("%s: there is no config map %s", from, name)
		}
		if claim := a.Volumes[0].PersistentVolumeClaim.ClaimName; !strings.Contains(text, "\n  name: "+claim+"\n") {
			t.Errorf("%s: there is no volume claim %s", from, claim)
		}
	}
}
