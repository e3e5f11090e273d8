//go:build browser

package ui

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/weft-rl/weft/internal/request"
)

// typed types into the filter, a letter or a term at a time, waits each time until the browser has
// shown the rows, and returns the longest wait in milliseconds.
const typed = `(async () => {
  const field = document.getElementById("filter");
  let worst = 0;
  for (const text of ["p", "pp", "ppo", "ppo ", "ppo s", "ppo seed<4", "ppo", "", "learning_rate>1e-3", "", "state=done", ""]) {
    const began = performance.now();
    field.value = text;
    field.dispatchEvent(new Event("input"));
    await new Promise(shown => requestAnimationFrame(() => setTimeout(shown)));
    worst = Math.max(worst, performance.now() - began);
  }
  return worst;
})()`

// sorted clicks on the head of every column, and returns the longest wait in milliseconds.
const sorted = `(async () => {
  let worst = 0;
  for (let i = 0; i < document.querySelectorAll("#runs th button").length; i++) {
    const began = performance.now();
    document.querySelectorAll("#runs th button")[i].click();
    await new Promise(shown => requestAnimationFrame(() => setTimeout(shown)));
    worst = Math.max(worst, performance.now() - began);
  }
  return worst;
})()`

// watched collects the tasks that kept the page from answering for over 50 ms.
const watched = `window.long = [0]; new PerformanceObserver(l => { for (const e of l.getEntries()) window.long.push(e.duration); }).observe({ type: "longtask" }); true`

// BenchmarkPage opens the page of 1,000 runs of 1,000 points each, types, sorts, and then leaves it
// open while 20 of the runs write twice a second. It reports milliseconds, and MB at the end.
func BenchmarkPage(b *testing.B) {
	dir := b.TempDir()
	var live []string
	for i := range 1000 {
		run := filepath.Join(dir, fmt.Sprint("group", i/5), fmt.Sprint("seed", i%5+1))
		write(b, run, []string{"CartPole-v1", "Acrobot-v1"}[i/500], i%5+1, fmt.Sprintf("%.4g", 1e-4*float64(1+i/5)), 1000, float64(100+i%400))
		if i%50 == 0 {
			live = append(live, run)
			extend(b, run)
		}
	}
	s, server := site(b, dir)
	ctx := browser(b)
	milliseconds := func(expression string) float64 {
		x, err := chromedp.Run(ctx, chromedp.Evaluate[float64](expression, chromedp.EvalAwaitPromise))
		if err != nil {
			b.Fatal(err)
		}
		return x
	}
	visit := 0
	for b.Loop() {
		visit++
		does(b, ctx, chromedp.Navigate(fmt.Sprintf("%s/?%d", server.URL, visit)), chromedp.WaitVisible("body[data-ready]"))
		is(b, ctx, `document.querySelectorAll("#chart .curve").length === 5`)
		paint := milliseconds(`performance.getEntriesByName("first-contentful-paint")[0].startTime`)
		ready := milliseconds(`Number(document.body.dataset.ready)`)
		key, sort := milliseconds(typed), milliseconds(sorted)
		does(b, ctx, script(watched))
		follow(b, s, live, 10*time.Second)
		is(b, ctx, `document.getElementById("count").textContent === "1000 runs, 20 live"`)
		b.ReportMetric(paint, "first-paint-ms")
		b.ReportMetric(ready, "complete-ms")
		b.ReportMetric(key, "worst-key-ms")
		b.ReportMetric(sort, "worst-sort-ms")
		b.ReportMetric(milliseconds(`Math.max(...window.long)`), "worst-task-ms")
		b.ReportMetric(milliseconds(`performance.memory.usedJSHeapSize / 1e6`), "heap-MB")
		b.ReportMetric(resident("renderer"), "tab-MB")
		b.ReportMetric(0, "ns/op") // it waits, mostly
	}
}

// extend gives a run steps to do.
func extend(b *testing.B, run string) {
	b.Helper()
	name := filepath.Join(run, request.ConfigFile)
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, bytes.Replace(text, []byte("steps: "), []byte("steps: 99"), 1), 0o644)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// follow has runs write twice a second for a while, and the site look as often as weft ui does.
func follow(b *testing.B, s *Site, live []string, long time.Duration) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.Context(), long)
	defer stop()
	var wait sync.WaitGroup
	wait.Go(func() { s.Watch(ctx, 2*time.Second) })
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for n := 1; ctx.Err() == nil; n++ {
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
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	wait.Wait()
}

// resident returns the memory of the largest of Chromium's processes of some kind, in MB.
func resident(kind string) (most float64) {
	folders, _ := filepath.Glob("/proc/[0-9]*") // none where there is no Linux
	for _, dir := range folders {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !bytes.Contains(line, []byte("--type="+kind)) {
			continue // it is not one, or has ended
		}
		status, _ := os.ReadFile(filepath.Join(dir, "status"))
		_, rest, _ := bytes.Cut(status, []byte("VmRSS:"))
		if fields := bytes.Fields(rest); len(fields) > 0 {
			kB, _ := strconv.ParseFloat(string(fields[0]), 64)
			most = max(most, kB/1e3)
		}
	}
	return most
}
