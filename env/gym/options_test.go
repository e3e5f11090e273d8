package gym

import (
	"reflect"
	"testing"

	"github.com/weft-rl/weft/internal/config"
)

// The defaults that Go code gets are those of the tags.
func TestDefaults(t *testing.T) {
	for _, made := range []any{newOptions(), atariDefaults(), zooDefaults()} {
		tagged := reflect.New(reflect.TypeOf(made).Elem()).Interface()
		if err := config.Defaults(tagged); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(made, tagged) {
			t.Errorf("made %+v, tagged %+v", made, tagged)
		}
	}
}
