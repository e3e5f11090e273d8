package metrics_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/weft-rl/weft/internal/metrics"
)

// A run writes its rows to two sinks. It is interrupted after step 4096 and
// resumed from a checkpoint at step 2048: the second row is written again, and
// the file holds it once.
func Example() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "metrics.jsonl")

	run := func(resumeStep int64, rows ...metrics.Row) {
		lines, err := metrics.OpenJSONL(path, resumeStep)
		if err != nil {
			log.Fatal(err)
		}
		events, err := metrics.OpenTensorBoard(dir, resumeStep)
		if err != nil {
			log.Fatal(err)
		}
		sink := metrics.Multi(lines, events)
		for _, r := range rows {
			if err := sink.Write(r); err != nil {
				log.Fatal(err)
			}
		}
		if err := sink.Close(); err != nil {
			log.Fatal(err)
		}
	}
	first := metrics.Row{Step: 2048, Iter: 1, Seconds: 0.5, Values: []metrics.Value{{Name: "loss/policy", X: -0.01}}}
	second := metrics.Row{Step: 4096, Iter: 2, Seconds: 1, Values: []metrics.Value{{Name: "loss/policy", X: -0.02}}}
	run(-1, first, second)
	run(2048, second)

	rows, err := metrics.ReadJSONL(path)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range rows {
		fmt.Println(r.Step, r.Values)
	}
	// Output:
	// 2048 [{loss/policy -0.01}]
	// 4096 [{loss/policy -0.02}]
}

func ExampleCount() {
	fmt.Println(metrics.Count(12345), metrics.Count(2.9e9), metrics.Number(195.34), metrics.Duration(92*time.Second))
	// Output:
	// 12.3k 2.9G 195.3 1m32s
}
