package doctor

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

// Libraries returns a check of each library that environments need. It opens one of them.
func Libraries(all []env.Entry, python string) (out []Check) {
	seen := map[string]bool{}
	for _, e := range all {
		if e.Needs == "" || seen[e.Needs] {
			continue
		}
		seen[e.Needs] = true
		out = append(out, Check{strings.ToLower(e.Needs), func(context.Context) Finding {
			source, err := try(e, python)
			if err != nil {
				what, do := reason(err)
				return missing(what, cmp.Or(do, "install "+e.Needs+", or look with weft list envs "+e.ID))
			}
			return ok(cmp.Or(source, e.ID+" opens"))
		}})
	}
	return out
}

// try opens an environment and returns what computes it.
func try(e env.Entry, python string) (source string, err error) {
	d, err := device.Open(device.Default)
	if err != nil {
		return "", err
	}
	scope := rl.NewScope(d, 0)
	defer func() { err = errors.Join(err, scope.Close()) }()
	var options any
	if e.Options != nil {
		options = e.Options()
		if python != "" {
			err = config.Set(options, []config.Assignment{{Key: "python", Value: python, Source: "--python"}})
		}
	}
	if err != nil {
		return "", err
	}
	g, err := env.OpenGroups(scope, e, 1, options)
	if err != nil {
		return "", err
	}
	if s, ok := env.Find[env.Sourced](g); ok {
		source = s.Source()
	}
	return source, nil
}
