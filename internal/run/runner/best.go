package runner

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/store"
)

// The best checkpoint in the store of a cluster's run is an object of the epoch that wrote it: a
// process that stood still while it wrote one, and goes on when its epoch is long over, does not
// write over a better one. Of all that there are, the one with the highest score counts.

const bestPrefix, bestSuffix = "best.epoch-", ".safetensors"

// earlierBest was its name when epochs shared it.
const earlierBest = "best.safetensors"

// BestName returns what the best checkpoint of an epoch is called.
func BestName(epoch int64) string { return bestPrefix + strconv.FormatInt(epoch, 10) + bestSuffix }

// BestEpoch returns the epoch in a name that BestName returned.
func BestEpoch(name string) (epoch int64, ok bool) {
	if name == earlierBest {
		return 0, true
	}
	number, found := strings.CutPrefix(name, bestPrefix)
	number, ends := strings.CutSuffix(number, bestSuffix)
	epoch, err := strconv.ParseInt(number, 10, 64)
	return epoch, found && ends && err == nil
}

// FetchBest reads the best checkpoint of a run's store; without one the error is
// checkpoint.ErrNone. One that cannot be read matters only if there is no other.
func FetchBest(ctx context.Context, s store.Store) (f checkpoint.File, score float64, step int64, err error) {
	names, err := s.List(ctx)
	if err != nil {
		return f, 0, 0, err
	}
	var errs []error
	found, newest := false, int64(0)
	for _, name := range names {
		epoch, ok := BestEpoch(name)
		if !ok {
			continue
		}
		f1, score1, step1, err := fetchBest(ctx, s, name)
		switch {
		case errors.Is(err, store.ErrNone): // a better one has come meanwhile
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		case !found || score1 > score || score1 == score && epoch > newest:
			f, score, step, found, newest = f1, score1, step1, true, epoch
		}
	}
	switch {
	case found:
		return f, score, step, nil
	case len(errs) > 0:
		return f, 0, 0, errors.Join(errs...)
	}
	return f, 0, 0, fmt.Errorf("no best one: %w", checkpoint.ErrNone)
}

func fetchBest(ctx context.Context, s store.Store, name string) (f checkpoint.File, score float64, step int64, err error) {
	r, size, err := s.Get(ctx, name)
	if err != nil {
		return f, 0, 0, err
	}
	defer r.Close()
	return checkpoint.DecodeBest(r, size)
}
