package project

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

func TestDevParity(t *testing.T) {
	rs, err := Package(context.Background(), ".", standard, "../../../algo/ppo", "../analyze/testdata/src/loops/...")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		for _, f := range r.Refused {
			fmt.Println("REFUSED", r.Package, f.Grouping, f.Err())
		}
	}
	for name, list := range ran(t, overlaid(t, rs, nil), strings.Fields(os.Getenv("LOOPS"))...) {
		plain := list[0]
		fmt.Println(name, "plain", plain.Err, len(plain.Logs), plain.Moved)
		for _, o := range list[1:] {
			v := ""
			if o.Weights != plain.Weights {
				v += " WEIGHTS"
			}
			if o.State != plain.State {
				v += " STATE"
			}
			if strings.Join(o.Logs, "\n") != strings.Join(plain.Logs, "\n") {
				v += " LOGS"
				for i := range o.Logs {
					if i >= len(plain.Logs) || o.Logs[i] != plain.Logs[i] {
						v += "(" + o.Logs[i] + ")"
						break
					}
				}
			}
			d := 0.
			for i := range o.Values {
				d = max(d, math.Abs(o.Values[i]-plain.Values[i]))
			}
			v += fmt.Sprintf(" %.2g", d)
			if v == " 0" {
				continue
			}
			fmt.Println("   ", o.Grouping, o.Replicas, v, o.Err)
		}
	}
}
