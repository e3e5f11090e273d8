package config_test

import (
	"fmt"
	"os"

	"github.com/weft-rl/weft/internal/config"
)

type ppo struct {
	Envs   int     `default:"4" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	LR     float64 `key:"learning_rate" default:"2.5e-4" range:"(0,1]" doc:"Adam's step size at the start"`
	Anneal string  `default:"linear" oneof:"linear constant" doc:"how the step size falls"`
	Net    struct {
		Hidden []int `default:"64,64" unit:"units" range:"[1,)" doc:"width of each hidden layer"`
	}
}

func Example() {
	var c ppo
	if err := config.Defaults(&c); err != nil {
		fmt.Println(err)
	}
	file, err := config.ParseYAML([]byte("envs: 8\nnet:\n  hidden: [128]\n"), "run.yaml")
	if err != nil {
		fmt.Println(err)
	}
	flag, err := config.ParseSet("envs=16", "--set")
	if err != nil {
		fmt.Println(err)
	}
	if err := config.Set(&c, file, []config.Assignment{flag}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(c.Envs, c.LR, c.Anneal, c.Net.Hidden)
	// Output: 16 0.00025 linear [128]
}

func ExampleSet_errors() {
	var c ppo
	fmt.Println(config.Set(&c, []config.Assignment{
		{Key: "learning_rat", Value: "0.1", Source: "--set"},
		{Key: "envs", Value: "abc", Source: "run.yaml:2"},
		{Key: "net.hidden", Value: "64,0", Source: "run.yaml:4"},
		{Key: "anneal", Value: "liner"},
	}))
	// Output:
	// --set: unknown setting "learning_rat", did you mean "learning_rate"?
	// run.yaml:2: envs: "abc" is not a whole number
	// run.yaml:4: net.hidden: item 2: 0 is outside [1,)
	// anneal: "liner" is not one of linear, constant, did you mean "linear"?
}

func ExampleTable() {
	fields, err := config.Fields(new(ppo))
	if err != nil {
		fmt.Println(err)
	}
	if err := config.Table(os.Stdout, fields); err != nil {
		fmt.Println(err)
	}
	// Output:
	// SETTING        TYPE      DEFAULT  MEANING
	// envs           int       4        environments stepped together; unit
	//                                   environments; range [1,)
	// learning_rate  float64   2.5e-4   Adam's step size at the start; range (0,1]
	// anneal         string    linear   how the step size falls; one of linear,
	//                                   constant
	// net.hidden     int list  64,64    width of each hidden layer; unit units; range
	//                                   [1,)
}

func ExampleYAML() {
	var c ppo
	if err := config.Defaults(&c); err != nil {
		fmt.Println(err)
	}
	data, err := config.YAML(&c)
	if err != nil {
		fmt.Println(err)
	}
	os.Stdout.Write(data)
	// Output:
	// # environments stepped together; unit environments; range [1,); default 4
	// envs: 4
	// # Adam's step size at the start; range (0,1]; default 2.5e-4
	// learning_rate: 0.00025
	// # how the step size falls; one of linear, constant; default linear
	// anneal: linear
	// net:
	//   # width of each hidden layer; unit units; range [1,); default 64,64
	//   hidden: [64, 64]
}

func ExampleNearest() {
	name, ok := config.Nearest("cartpole", []string{"Acrobot-v1", "CartPole-v1"})
	fmt.Println(name, ok)
	// Output: CartPole-v1 true
}
