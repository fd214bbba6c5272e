// Package deploy has manifests for Kubernetes, and no code. Its test holds them
// against the program: the fields are batch/v1's, and the command lines are idemrace's.
package deploy

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/idemrace/idemrace/cli"
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
				RestartPolicy string `yaml:"restartPolicy"`
				Containers    []struct {
					Name, Image string
					Args        []string
					EnvFrom     []struct {
						ConfigMapRef struct{ Name string } `yaml:"configMapRef"`
					} `yaml:"envFrom"`
					Resources struct {
						Requests map[string]string
					}
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
		if s.RestartPolicy != "Never" || s.Volumes[0].PersistentVolumeClaim.ClaimName != "idemrace-results" || s.Containers[0].VolumeMounts[0].MountPath != "/results" {
			t.Errorf("%+v", s)
		}
	}
	help := accepted(t, c.Args)
	for _, path := range []string{"base/kustomization.yaml", "example/kustomization.yaml"} {
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
	var merging kustomization
	read(t, "merge/kustomization.yaml", &merging)
}
