package hook

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
)

// textMax is more than a step has to read; of more, nothing can be captured.
const textMax = 1 << 20

// Places of Step.Capture that are no gjson paths.
const (
	placeHeader = "header:"
	placeStatus = "status"
	placeOutput = "output"
)

var errTooMuch = fmt.Errorf("the output is longer than %d KiB", textMax>>10)

// got is what a step gave. A command has neither status nor header.
type got struct {
	status int
	header http.Header
	text   string
	cut    bool // there was more
}

// at is what stands at a place, or why there is nothing.
func (g got) at(place string) (string, error) {
	name, isHeader := strings.CutPrefix(place, placeHeader)
	switch {
	case isHeader && g.header.Get(name) == "":
		return "", fmt.Errorf("the answer has no header %s", name)
	case isHeader:
		return g.header.Get(name), nil
	case place == placeStatus && g.status == 0:
		return "", errors.New("a command has no status but 0")
	case place == placeStatus:
		return fmt.Sprint(g.status), nil
	case g.cut:
		return "", errTooMuch
	case place == placeOutput:
		return strings.TrimSpace(g.text), nil
	case !gjson.Valid(g.text):
		return "", fmt.Errorf("%s asks for JSON, and got: %s", place, firstWords(g.text))
	}
	found := gjson.Get(g.text, place)
	if !found.Exists() || found.Type == gjson.Null {
		return "", fmt.Errorf("nothing stands at %s in: %s", place, firstWords(g.text))
	}
	return found.String(), nil
}
