package gym

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestArgs(t *testing.T) {
	var o Options
	for _, kv := range [][2]string{
		{"a", "1.5"}, {"b", "false"}, {"c", "False"}, {"d", "4x4"}, {"e", `["S","G"]`}, {"arg.timeout", "None"}, {"f", `say "hi"`},
	} {
		if err := o.SetExtra(kv[0], kv[1]); err != nil {
			t.Error(err)
		}
	}
	got, err := json.Marshal(o.args)
	if want := `{"a":1.5,"b":false,"c":false,"d":"4x4","e":["S","G"],"f":"say \"hi\"","timeout":null}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	for _, kv := range [][2]string{{"a", "2"}, {"x.y", "2"}, {"arg.", "2"}} {
		if err := o.SetExtra(kv[0], kv[1]); err == nil {
			t.Errorf("%s was accepted", kv[0])
		}
	}
}

func TestParseWrapper(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"ClipReward", "ClipReward map[]"},
		{"m.n:W(a=1; b=[1,2];c=x)", "m.n:W map[a:1 b:[1,2] c:\"x\"]"},
		{"W(a=1", "wrapper \"W(a=1\" is not of the form Name(key=value;key=value)"},
		{"W(a)", "wrapper W: \"a\" is not of the form key=value"},
		{"W(a=1;a=2)", "wrapper W: keyword argument a is given twice"},
	} {
		w, err := parseWrapper(c.text)
		got := fmt.Sprint(err)
		if err == nil {
			var args []string
			for _, k := range []string{"a", "b", "c"} {
				if v, ok := w.Args[k]; ok {
					args = append(args, k+":"+string(v))
				}
			}
			got = fmt.Sprintf("%s map[%s]", w.Name, strings.Join(args, " "))
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}
