package chaos_test

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/cli"
	"github.com/weft-rl/weft/internal/chaos"
)

const asCommand = "WEFT_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" { // a process of a cluster
		cli.Main(weft.Builtin())
	}
	goleak.VerifyTestMain(m)
}

// A synchronous run and an asynchronous one live through faults, the first with Unix
// sockets and the second over TCP. weft chaos is the long version.
func TestFaults(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	faults, seconds := 6, 6.
	if testing.Short() {
		faults, seconds = 2, 2 // a race detector makes more of them
	}
	all := chaos.Runs(seconds)
	report, err := chaos.Test(t.Context(), chaos.Options{
		Program: program, Env: []string{asCommand + "=1"}, Seed: 311, Faults: faults, PerRun: faults / 2, Workers: 3,
		Runs: []chaos.Run{all[0], all[2]}, Patience: 3 * time.Minute, Log: func(text string) { t.Log(text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Faults() < faults {
		t.Errorf("%d faults, want %d", report.Faults(), faults)
	}
	for _, v := range report.Violations() {
		t.Error(v)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || !t.Failed() && len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// A killed worker of an asynchronous run, and one that stood still, are replaced while
// the others go on.
func TestSpared(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	const killThenFreeze = 1
	seconds := 60.
	if testing.Short() {
		seconds = 20 // as long, under a race detector
	}
	report, err := chaos.Test(t.Context(), chaos.Options{
		Program: program, Env: []string{asCommand + "=1"}, Seed: killThenFreeze, Kinds: []chaos.Kind{chaos.KillWorker, chaos.FreezeWorker}, Faults: 2, PerRun: 2, Workers: 3,
		Runs: chaos.Runs(seconds)[2:3], Patience: 3 * time.Minute, Log: func(text string) { t.Log(text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Violations() {
		t.Error(v)
	}
	x := report.Trials[0]
	if len(x.Injected) != 2 || x.Epochs == 1 && (x.Injected[0].Replaced == nil || x.Injected[1].Replaced == nil) {
		t.Errorf("%+v", x)
	}
}

// A run gets over what lasts by doing without it: a link between two workers, a worker that cannot
// write, a socket that is not there, and a submission that hangs. Workers have sockets and TCP, by
// turns.
func TestLasting(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	// The seed deals each kind once, to a run of its own, the link that is cut last: the run may
	// end before it is mended.
	const eachOnce = 1
	seconds := 18.
	if testing.Short() {
		seconds = 6 // as long, under a race detector
	}
	one := chaos.Runs(seconds)[0]
	report, err := chaos.Test(t.Context(), chaos.Options{
		Program: program, Env: []string{asCommand + "=1"}, Seed: eachOnce, Kinds: []chaos.Kind{chaos.CutLink, chaos.HangSubmission, chaos.ReadOnly, chaos.HideSocket},
		Faults: 4, PerRun: 1, Workers: 3, Runs: []chaos.Run{one}, Patience: 3 * time.Minute, Log: func(text string) { t.Log(text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Violations() {
		t.Error(v)
	}
	met := map[chaos.Kind]bool{}
	for _, x := range report.Trials {
		for _, i := range x.Injected {
			met[i.Kind] = met[i.Kind] || i.Recovery >= 0
		}
	}
	if len(met) < 4 {
		t.Errorf("only %v were got over", met)
	}
}

// Runs live through the loss of lines that were not on the coordinator's disk, and begin an epoch
// as soon with a large record as with a small one.
func TestRecords(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	const faults = 2 // one of each
	seconds := 6.
	if testing.Short() {
		seconds = 3
	}
	report, err := chaos.Test(t.Context(), chaos.Options{
		Program: program, Env: []string{asCommand + "=1"}, Seed: 1, Faults: faults, PerRun: faults, Workers: 2,
		Kinds: []chaos.Kind{chaos.LargeRecord, chaos.LoseLines}, Record: 256 << 20,
		Runs: chaos.Runs(seconds)[3:4], Patience: 3 * time.Minute, Log: func(text string) { t.Log(text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Violations() {
		t.Error(v)
	}
	for _, x := range report.Trials {
		for _, i := range x.Injected {
			t.Logf("%s: %.2f s", i.Fault, i.Recovery)
		}
	}
	if report.Faults() < faults {
		t.Errorf("%d faults, want %d", report.Faults(), faults)
	}
}
