package resp_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tidwall/redcon"

	"github.com/idemrace/idemrace/faultproxy/resp"
)

// scan hands the stream over in the given pieces.
func scan(pieces ...[]byte) ([]resp.Command, error) {
	var got []resp.Command
	s := resp.NewScanner(func(c resp.Command) { got = append(got, c) })
	for _, p := range pieces {
		n, err := s.Write(p)
		if n != len(p) || err != nil {
			panic(fmt.Sprintf("Write returned %d, %v for %d bytes", n, err, len(p)))
		}
	}
	return got, s.Err()
}

// command is a command as clients send it.
func command(args ...string) string {
	b := redcon.AppendArray(nil, len(args))
	for _, a := range args {
		b = redcon.AppendBulkString(b, a)
	}
	return string(b)
}

func TestStreams(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, row := range []struct {
		stream string
		want   []resp.Command
		stops  bool
		why    string
	}{
		{"", nil, false, "nothing has been sent"},
		{command("ping"), []resp.Command{{Name: "PING", End: 14}}, false, "names are told in upper case: Redis does not care"},
		{command("EVALSHA", "5f3a", "1", "k"), []resp.Command{{Name: "EVALSHA", Args: []string{"5f3a", "1", "k"}, Script: "5f3a", Count: 3, End: 41}}, false, "the digest tells which script it is"},
		{command("GET", "a") + command("GET", "b"), []resp.Command{{Name: "GET", Args: []string{"a"}, Count: 1, End: 20}, {Name: "GET", Args: []string{"b"}, Count: 1, End: 40}}, false, "a pipeline is as many commands"},
		{command("SET", "", ""), []resp.Command{{Name: "SET", Args: []string{"", ""}, Count: 2, End: 25}}, false, "empty arguments are arguments"},
		{command("SET", "k", "*3\r\n$3\r\nDEL\r\n"), []resp.Command{{Name: "SET", Args: []string{"k", "*3\r\n$3\r\nDEL\r\n"}, Count: 2, End: 40}}, false, "what looks like a command inside a value is none"},
		{command("SET", "1", "2", "3", "4", "5", "6", "7"), []resp.Command{{Name: "SET", Args: []string{"1", "2", "3", "4", "5", "6"}, Count: 7, End: 62}}, false, "only the first arguments are kept, all are counted"},
		{command("eval", "return 1", "0"), []resp.Command{{Name: "EVAL", Args: []string{"return 1", "0"}, Script: "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", Count: 2, End: 35}}, false, "a script that is sent is known by the digest that SCRIPT LOAD would give it"},
		{"EVAL 'return 1' 0\r\n", []resp.Command{{Name: "EVAL", Args: []string{"return 1", "0"}, Script: "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", Count: 2, End: 19}}, false, "inline too"},
		{command("EVALSHA", "AB", "0"), []resp.Command{{Name: "EVALSHA", Args: []string{"AB", "0"}, Script: "ab", Count: 2, End: 32}}, false, "Redis takes a digest in either case"},
		{command("EVALSHA"), []resp.Command{{Name: "EVALSHA", End: 17}}, false, "without arguments it calls no script"},
		{command(long, long), []resp.Command{{Name: strings.ToUpper(long[:64]), Args: []string{long[:64]}, Count: 1, End: 420}}, false, "only the head is kept"},
		{"PING\r\n", []resp.Command{{Name: "PING", End: 6}}, false, "an inline command"},
		{"set k \"a b\"\nGET k\r\n", []resp.Command{{Name: "SET", Args: []string{"k", "a b"}, Count: 2, End: 12}, {Name: "GET", Args: []string{"k"}, Count: 1, End: 19}}, false, "inline, with quotes and a bare line feed"},
		{"\r\n\nPING\r\n", []resp.Command{{Name: "PING", End: 9}}, false, "Redis skips empty lines"},
		{"*0\r\n*-1\r\n" + command("PING"), []resp.Command{{Name: "PING", End: 23}}, false, "Redis skips empty arrays"},
		{command("GET", "a") + "*2\r\n$3\r\nGET\r\n$5\r\nab", []resp.Command{{Name: "GET", Args: []string{"a"}, Count: 1, End: 20}}, false, "a command that was cut off was not sent"},

		{"\x16\x03\x01\x02\x00\x01\x00\n", nil, true, "TLS"},
		{command("PING") + "\x00", []resp.Command{{Name: "PING", End: 14}}, true, "garbage after a command"},
		{"*1\r\n+PING\r\n", nil, true, "an argument is a bulk string"},
		{"*1\r\n$-1\r\n", nil, true, "a command's argument cannot be null"},
		{"*1\r\n$4\r\nPINGxx", nil, true, "an argument ends where its length says"},
		{"*1\r\n$4\r\nPING\rx", nil, true, "and with both bytes"},
		{"*x\r\n", nil, true, "a count is a number"},
		{"*+1\r\n", nil, true, "without a sign"},
		{"*\r\n", nil, true, "and not empty"},
		{"*1\n", nil, true, "a header ends with both bytes"},
		{"*1\r\n$99999999999999\r\n", nil, true, "longer than any length of Redis"},
		{"*" + strings.Repeat("1", 100), nil, true, "a header that does not end is not kept"},
		{"PING" + strings.Repeat(" ", 64<<10) + "\r\n", nil, true, "longer than Redis takes inline"},
		{"PING \"abc\r\n", nil, true, "quotes that do not end"},
		{" %%% \r\n", nil, true, "no command has such a name"},
		{"\"\" x\r\n", nil, true, "nor an empty one"},
	} {
		t.Run(fmt.Sprintf("%.30q", row.stream), func(t *testing.T) {
			got, err := scan([]byte(row.stream))
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", row.why, diff)
			}
			if errors.Is(err, resp.ErrNotCommands) != row.stops {
				t.Errorf("%s: error %v, want one: %v", row.why, err, row.stops)
			}
		})
	}
}

// Once it has stopped, a scanner stays stopped: what follows may look like a
// command and be none.
func TestStoppedForGood(t *testing.T) {
	got, err := scan([]byte("\x16\x03"), []byte(command("PING")))
	if len(got) != 0 || err == nil {
		t.Errorf("commands %v, error %v; want none, and the error", got, err)
	}
}

// A huge argument must pass without being kept. The bound is on memory that is
// allocated, in bytes, against 512 MB that pass.
func TestHugeArgumentIsNotKept(t *testing.T) {
	const size, piece = 512 << 20, 1 << 20
	zeros := make([]byte, piece)
	var got []resp.Command
	s := resp.NewScanner(func(c resp.Command) { got = append(got, c) })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fmt.Fprintf(s, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n", size)
	for range size / piece {
		s.Write(zeros)
	}
	fmt.Fprint(s, "\r\n")
	runtime.ReadMemStats(&after)
	if len(got) != 1 || got[0].Name != "SET" || s.Err() != nil {
		t.Fatalf("commands %v, error %v", got, s.Err())
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
		t.Errorf("%d bytes allocated for one command, want next to nothing", n)
	}
}

// FuzzScanner: however the stream is cut, the same commands are found; and
// where redcon understands the stream as well, it finds them too.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		command("PING"), command("SET", "k", "v") + command("GET", "k"), "PING\r\nset a 'b c'\n",
		"*0\r\n" + command("QUIT"), "\x16\x03\x01", "*1\r\n$-1\r\n", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nab",
		"*1\r\n$99999999999999\r\n", "\r\n\r\n", "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n",
	} {
		f.Add([]byte(seed), uint64(1))
	}
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		whole, wholeErr := scan(stream)
		for name, pieces := range map[string][][]byte{"random": cut(stream, seed), "single": slices.Collect(slices.Chunk(stream, 1))} {
			got, err := scan(pieces...)
			if diff := cmp.Diff(whole, got); diff != "" {
				t.Errorf("%s pieces (-whole +pieces):\n%s", name, diff)
			}
			if fmt.Sprint(err) != fmt.Sprint(wholeErr) {
				t.Errorf("%s pieces: error %v, whole: %v", name, err, wholeErr)
			}
		}
		end := int64(0)
		for _, c := range whole {
			if c.End <= end || c.End > int64(len(stream)) || len(c.Name) > resp.MaxKept || len(c.Args) > resp.MaxArgs || c.Count < int64(len(c.Args)) {
				t.Errorf("command %+v after %d, of %d bytes", c, end, len(stream))
			}
			// Nothing beyond its end is needed to find it: never an over-read.
			if upTo, _ := scan(stream[:c.End]); len(upTo) == 0 || !cmp.Equal(upTo[len(upTo)-1], c) {
				t.Errorf("%+v is not found in the bytes up to its end", c)
			}
			if short, _ := scan(stream[:c.End-1]); len(short) > 0 && short[len(short)-1].End >= c.End {
				t.Errorf("%+v is found before it is complete", c)
			}
			agree(t, stream[end:c.End], c)
			end = c.End
		}
	})
}

// cut cuts a stream into pieces at random, empty ones among them.
func cut(stream []byte, seed uint64) [][]byte {
	r := rand.New(rand.NewPCG(seed, 0))
	var pieces [][]byte
	for len(stream) > 0 {
		n := r.IntN(min(len(stream), 9) + 1)
		pieces, stream = append(pieces, stream[:n]), stream[n:]
	}
	return pieces
}

// agree asks redcon for the same command. Empty commands may come before it.
func agree(t *testing.T, stream []byte, want resp.Command) {
	t.Helper()
	for len(stream) > 0 {
		if bytes.HasPrefix(stream, []byte("*-")) {
			return // redcon refuses a negative count, which Redis skips
		}
		complete, args, _, rest, err := redcon.ReadNextCommand(stream, nil)
		if err != nil || !complete {
			t.Errorf("redcon: complete %v, error %v, for %q", complete, err, stream)
			return
		}
		if len(args) > 0 {
			name := string(args[0][:min(len(args[0]), resp.MaxKept)])
			if !strings.EqualFold(name, want.Name) || len(rest) != 0 || !cmp.Equal(want.Args, heads(args[1:]), cmpopts.EquateEmpty()) || want.Count != int64(len(args)-1) {
				t.Errorf("redcon: %q and %d bytes left, want %+v", args, len(rest), want)
			}
			return
		}
		stream = rest
	}
	t.Errorf("redcon found nothing for %+v", want)
}

// heads is what is kept of arguments.
func heads(args [][]byte) (kept []string) {
	for _, a := range args[:min(len(args), resp.MaxArgs)] {
		kept = append(kept, string(a[:min(len(a), resp.MaxKept)]))
	}
	return kept
}
