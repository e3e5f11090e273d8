//go:build browser

package ui

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/weft-rl/weft/internal/request"
)

// watched collects the tasks of a page that keep it from answering for over 50 ms, from its
// beginning on. Worst does things one after the other, waits each time until the browser has shown
// what follows, and returns the longest wait.
const watched = `window.long = [0];
new PerformanceObserver(l => { for (const e of l.getEntries()) window.long.push(e.duration); }).observe({ type: "longtask", buffered: true });
window.worst = async acts => {
  let worst = 0;
  for (const act of acts) {
    const began = performance.now();
    act();
    await new Promise(shown => requestAnimationFrame(() => setTimeout(shown)));
    worst = Math.max(worst, performance.now() - began);
  }
  return worst;
}; true`

// waits measure the longest time in milliseconds that the page takes to answer: to keys in the
// filter, clicks that sort by every column, scrolling through all rows, and runs that the space bar
// chooses.
var waits = map[string]string{
	"key-ms": `worst(["p", "pp", "ppo", "ppo ", "ppo s", "ppo seed<4", "ppo", "", "learning_rate>1e-3", "", "state=done", ""].map(text => () => {
  const field = document.getElementById("filter");
  field.value = text;
  field.dispatchEvent(new Event("input"));
}))`,
	"sort-ms": `worst([...document.querySelectorAll("#runs th button")].map((_, i) => () => document.querySelectorAll("#runs th button")[i].click()))`,
	"scroll-ms": `(async () => {
  const box = document.querySelector("#table .scroll");
  const all = await worst(Array.from({ length: 60 }, (_, i) => () => { box.scrollTop = i * box.scrollHeight / 60; }));
  box.scrollTop = 0;
  return all;
})()`,
	"choose-ms": `(async () => {
  const rows = [...document.querySelectorAll("#runs tbody tr")].slice(10, 14), press = r => () => r.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }));
  return worst([...rows.map(press), ...rows.map(press)]);
})()`,
}

// BenchmarkPage opens the page of 1,000 runs of 1,000 points each, served by weft ui, uses it, and
// leaves it open while 20 runs that are shown write twice a second. It reports the worst of all
// visits: milliseconds, MB at the end, and percent of a core.
func BenchmarkPage(b *testing.B) {
	dir := b.TempDir()
	var live []string
	for i := range 1000 {
		run := filepath.Join(dir, fmt.Sprint("group", i/5), fmt.Sprint("seed", i%5+1))
		write(b, run, []string{"CartPole-v1", "Acrobot-v1"}[i/500], i%5+1, fmt.Sprintf("%.4g", 1e-4*float64(1+i/5)), 1000, float64(100+i%400))
		if i%50 == 0 {
			live = append(live, run)
		}
		furnished(b, run, i%50 == 0)
	}
	address, server := serving(b, dir)
	ctx := browser(b)
	most := map[string]float64{}
	measure := func(what, expression string) {
		x, err := chromedp.Run(ctx, chromedp.Evaluate[float64](expression, chromedp.EvalAwaitPromise))
		if err != nil {
			b.Fatal(err)
		}
		most[what] = max(most[what], x)
	}
	visit := 0
	for b.Loop() {
		visit++
		does(b, ctx, chromedp.Navigate(fmt.Sprintf("%s?%d", address, visit)), chromedp.WaitVisible("body[data-ready]"))
		is(b, ctx, `document.querySelectorAll("#chart .curve").length === 5`)
		does(b, ctx, script(watched))
		measure("first-paint-ms", `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
		measure("complete-ms", `Number(document.body.dataset.ready)`)
		is(b, ctx, `document.querySelectorAll("#runs tbody tr").length === 1000`)
		for _, what := range slices.Sorted(maps.Keys(waits)) {
			measure(what, waits[what])
		}
		measure("task-ms", `Math.max(...long)`)
		chosen(b, ctx, "#none", "", 0)
		chosen(b, ctx, "#all", "state=live", len(live))
		does(b, ctx, script(`window.long = [0]`))
		before := cpu(b, server)
		follow(b, live, 10*time.Second)
		most["live-server-percent"] = max(most["live-server-percent"], 100*(cpu(b, server)-before)/10)
		measure("live-task-ms", `Math.max(...long)`)
		chosen(b, ctx, "#all", "", 200)
		measure("heap-MB", `performance.memory.usedJSHeapSize / 1e6`)
		most["tab-MB"] = max(most["tab-MB"], renderers())
		most["server-MB"] = max(most["server-MB"], resident(server))
	}
	b.ReportMetric(0, "ns/op") // it waits, mostly
	for what, x := range most {
		b.ReportMetric(x, what)
	}
}

// chosen has a button choose runs that match a filter, and waits until so many have curves.
func chosen(b *testing.B, ctx context.Context, button, filter string, curves int) {
	b.Helper()
	does(b, ctx, script(fmt.Sprintf(`{const f = document.getElementById("filter"); f.value = %q; f.dispatchEvent(new Event("input")); document.querySelector(%q).click()}`, filter, button)))
	is(b, ctx, fmt.Sprintf(`document.querySelectorAll("#chart .curve").length === %d`, curves))
}

// furnished gives a run as many settings as runs have, and one that is live steps to do.
func furnished(b *testing.B, run string, live bool) {
	b.Helper()
	name := filepath.Join(run, request.ConfigFile)
	text, err := os.ReadFile(name)
	if live {
		text = bytes.Replace(text, []byte("steps: "), []byte("steps: 99"), 1)
	}
	for i := range 50 {
		text = fmt.Appendf(text, "  setting_%02d: %d\n", i, i)
	}
	if err == nil {
		err = os.WriteFile(name, text, 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// serving has weft ui, built here, show a folder, and returns where, and its process.
func serving(b *testing.B, dir string) (address string, process int) {
	b.Helper()
	program := filepath.Join(b.TempDir(), "weft")
	if text, err := exec.Command("go", "build", "-o", program, "../../cmd/weft").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, text)
	}
	server := exec.Command(program, "ui", "--listen", "127.0.0.1:0", dir)
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait() // it was interrupted
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, found := strings.Cut(strings.TrimSpace(line), "runs at ")
	if err != nil || !found {
		b.Fatalf("%q, %v", line, err)
	}
	return address, server.Process.Pid
}

// follow has runs write twice a second for a while.
func follow(b *testing.B, live []string, long time.Duration) {
	b.Helper()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for n := range int(long / (500 * time.Millisecond)) {
		for _, run := range live {
			f, err := os.OpenFile(filepath.Join(run, recordFile), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				b.Fatal(err)
			}
			_, err = fmt.Fprintf(f, `{"step":%d,"iter":%d,"seconds":%d,"episode/return_mean":%d}`+"\n", 100_000+100*n, 1000+n, 500+n, n)
			if closed := f.Close(); err != nil || closed != nil {
				b.Fatal(err, closed)
			}
		}
		<-tick.C
	}
}

// resident returns the memory of a process in MB; 0 where there is no Linux.
func resident(process int) float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
	_, rest, _ := bytes.Cut(status, []byte("VmRSS:"))
	fields := append(bytes.Fields(rest), []byte("0"))
	kB, _ := strconv.ParseFloat(string(fields[0]), 64)
	return kB / 1e3
}

// renderers returns the memory of the largest of Chromium's processes that show pages, in MB.
func renderers() (most float64) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range folders {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !bytes.Contains(line, []byte("--type=renderer")) {
			continue // it is not one, or has ended
		}
		if process, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			most = max(most, resident(process))
		}
	}
	return most
}

// cpu returns the seconds that a process has computed; 0 where there is no Linux.
func cpu(b *testing.B, process int) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	user, err := strconv.ParseFloat(string(fields[11]), 64)
	system, err2 := strconv.ParseFloat(string(fields[12]), 64)
	if err != nil || err2 != nil {
		b.Fatal(err, err2)
	}
	return (user + system) / 100 // ticks a second
}
