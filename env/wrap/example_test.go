package wrap_test

import (
	"fmt"

	"github.com/gomlx/compute/gobackend"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/rl"
)

func Example() {
	backend, _ := gobackend.New("ops_sequential")
	list, err := wrap.Parse("rescale-action,frame-stack=3,time-limit=50")
	if err != nil {
		fmt.Println(err)
		return
	}
	entry := wrap.Entry(classic.Pendulum, list, "")
	b, err := env.Open(rl.NewScope(rl.NewDevice(backend), 1), entry, 4, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(b.Spec().Obs.(rl.Box).High), b.Spec().Action, b.Spec().Limit)
	// Output: 9 Box(-1..1, [1]) 50
}
