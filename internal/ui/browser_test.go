//go:build browser

package ui

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	tab "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var (
	shots = flag.String("shots", "", "write pictures of the page into this `folder`")
	of    = flag.String("of", "", "take them of the runs in this `folder`")
)

// browser starts Chromium. Its tests have a build tag, since it is a program of its own: go test
// -tags browser ./internal/ui.
func browser(t testing.TB) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Fatal("there is no Chromium: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1360, 900))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stopTab := chromedp.NewContext(ctx)
	t.Cleanup(stopTab)
	return ctx
}

// does runs actions.
func does(t testing.TB, ctx context.Context, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// is waits until an expression of JavaScript is true.
func is(t testing.TB, ctx context.Context, expression string) {
	t.Helper()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(20*time.Second))); err != nil {
		page, _ := chromedp.Run(ctx, chromedp.Text("body")) // for the message
		t.Fatalf("%s does not become true: %v\n%s", expression, err, page)
	}
}

// script runs JavaScript for what it does.
func script(text string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Evaluate[any](text+"; true")(ctx, t)
		return err
	})
}

// scheme has the browser prefer light or dark pages.
func scheme(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		p := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}}
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, p)
		return err
	})
}

// printed has the browser show pages as they are printed, or, with an empty name, as usual.
func printed(media string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media})
		return err
	})
}

// picture writes what the window shows.
func picture(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// furnish gives a run all that its details can show.
func furnish(t *testing.T, run string) {
	t.Helper()
	line := `{"step":400,"iter":4,"seconds":2,"episode/return_mean":-80,"edge/steps/messages":2,"edge/steps/bytes":2000,"edge/steps/wait":0.25,"edge/steps/depth":1,"group/collector/busy":0.5,"group/collector/wait":0.5,"group/learner/busy":0.75,"group/learner/wait":0.25}` + "\n"
	for name, text := range map[string]string{"metrics.jsonl": line, profileFile: profiled, logFile: "epoch 1 begins\nworker w1 was lost\n", "film.mp4": "film"} {
		if err := os.WriteFile(filepath.Join(run, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBrowser: the page sorts, filters and chooses runs by mouse and keyboard, draws their curves,
// shows a run, and follows what is written.
func TestBrowser(t *testing.T) {
	ctx := browser(t)
	dir := folder(t)
	furnish(t, filepath.Join(dir, "stopped"))
	s, server := site(t, dir)
	s.Cluster = func(context.Context) (Cluster, error) {
		return Cluster{Coordinator: "127.0.0.1:7700", Workers: []Worker{{Name: "w0", State: "working", Run: "mine"}}, Runs: []ClusterRun{{Name: "mine", Phase: "running", Workers: []string{"w0"}}}}, nil
	}
	s.lookAround(t.Context())
	does(t, ctx, chromedp.Navigate(server.URL), chromedp.WaitVisible("body[data-ready]"))
	is(t, ctx, `document.querySelectorAll("#runs tbody tr").length === 7`)
	is(t, ctx, `document.querySelectorAll("#chart .curve").length === 5`)

	does(t, ctx, chromedp.KeyEvent("/"))
	is(t, ctx, `document.activeElement.id === "filter"`)
	does(t, ctx, script(`document.getElementById("filter").value = ""`), chromedp.SendKeys("#filter", "learning_rate>0.005"))
	is(t, ctx, `document.querySelectorAll("#runs tbody tr").length === 3 && document.getElementById("count").textContent === "3 of 7 runs, 1 live"`)
	does(t, ctx, script(`document.getElementById("filter").value = ""; document.getElementById("filter").dispatchEvent(new Event("input"))`))
	is(t, ctx, `document.querySelectorAll("#runs tbody tr").length === 7`)

	does(t, ctx, script(`[...document.querySelectorAll("th button")].find(b => b.textContent === "Return").click()`))
	is(t, ctx, `document.querySelector("#runs tbody tr").textContent.includes("fast/seed3") && document.querySelector('th[aria-sort="descending"]').textContent === "Return"`)
	does(t, ctx, script(`document.getElementById("none").click()`))
	is(t, ctx, `document.querySelectorAll("#runs tbody tr.chosen").length === 0 && document.querySelectorAll("#chart .curve").length === 0`)
	does(t, ctx, script(`document.querySelector("#runs tbody tr").focus()`), chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(" "))
	is(t, ctx, `document.querySelectorAll("#runs tbody tr.chosen").length === 2 && document.querySelectorAll("#chart .curve").length === 2`)
	is(t, ctx, `document.getElementById("diff").textContent.includes("seed")`)

	does(t, ctx, script(`document.getElementById("all").click()`)) // the page may be moving under a pointer
	is(t, ctx, `document.querySelectorAll("#runs tbody tr.chosen").length === 7 && [...document.getElementById("group").options].some(o => o.value === "learning_rate")`)
	does(t, ctx, script(`{const g = document.getElementById("group"); g.value = "learning_rate"; g.dispatchEvent(new Event("change"))}`))
	is(t, ctx, `document.querySelectorAll("#chart .band").length === 2 && document.getElementById("figure-text").textContent.includes("interquartile mean")`)

	does(t, ctx, script(`[...document.querySelectorAll("button.name")].find(b => b.textContent.includes("stopped")).click()`))
	is(t, ctx, `document.getElementById("details-body").textContent.includes("learning_rate") && document.querySelector("#details img").naturalWidth > 0`)

	is(t, ctx, `document.querySelectorAll("#traffic svg .flow").length === 1 && document.querySelector("#traffic table").textContent.includes("2 kB")`)
	is(t, ctx, `[...document.querySelectorAll("#details .stack img")].every(i => i.naturalWidth > 0) && document.querySelector("#details .stack pre").textContent.includes("environment")`)
	is(t, ctx, `document.querySelector("#faults li")?.textContent.includes("was lost") && document.querySelector("#details video") !== null`)
	is(t, ctx, `!document.getElementById("cluster").hidden && document.getElementById("cluster-workers").textContent.includes("w0")`)

	write(t, filepath.Join(dir, "stopped"), "Acrobot-v1", 1, "0.001", 8, -90)
	s.Scan()
	is(t, ctx, `[...document.querySelectorAll("#runs tbody tr")].some(r => r.textContent.includes("live 80 %"))`)
	does(t, ctx, printed("print"))
	is(t, ctx, `[...document.querySelectorAll("button")].every(b => b.closest("thead") || b.classList.contains("name") || !b.offsetParent) && ![...document.querySelectorAll("#details-body h3")].some(h => h.offsetParent && h.textContent === "Plan")`)
	does(t, ctx, printed(""))
	unnamed, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](`[...document.querySelectorAll("button, input, select, img")].filter(e => e.offsetParent && !(e.textContent || e.ariaLabel || e.labels?.length || e.alt !== undefined)).map(e => e.outerHTML)`))
	if err != nil {
		t.Fatal(err)
	}
	if len(unnamed) > 0 {
		t.Errorf("a screen reader has no name for %s", strings.Join(unnamed, "\n"))
	}
}

// many makes a folder of 250 runs.
func many(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i := range 250 {
		write(t, filepath.Join(dir, fmt.Sprintf("run%03d", i)), "CartPole-v1", i, "0.001", 10, 100)
	}
	return dir
}

// rows returns an expression that is true when the table has so many.
func rows(n int) string {
	return fmt.Sprintf(`document.querySelectorAll("#runs tbody tr").length === %d`, n)
}

// filtered types into the filter.
func filtered(text string) chromedp.Action[chromedp.Void] {
	return script(fmt.Sprintf(`{const f = document.getElementById("filter"); f.value = %q; f.dispatchEvent(new Event("input"))}`, text))
}

// sorted clicks on the head of a column.
func sorted(column string) chromedp.Action[chromedp.Void] {
	return script(fmt.Sprintf(`[...document.querySelectorAll("th button")].find(b => b.textContent === %q).click()`, column))
}

// TestManyRuns: the rows of many runs are all there soon, for the page's search too. A row stays
// the element that it is, with the focus, while others are written; what is chosen stays chosen out
// of sight.
func TestManyRuns(t *testing.T) {
	ctx := browser(t)
	dir := many(t)
	s, server := site(t, dir)
	does(t, ctx, chromedp.Navigate(server.URL), chromedp.WaitVisible("body[data-ready]"))
	is(t, ctx, rows(250)+` && document.getElementById("count").textContent === "250 runs" && window.find("run200")`)
	does(t, ctx, sorted("Run"), script(`document.getElementById("none").click()`))
	is(t, ctx, rows(250)+` && document.querySelector("#runs tbody tr").textContent.includes("run000") && location.hash.includes("sort=name")`)
	does(t, ctx, script(`document.querySelector("#runs tbody tr").focus()`), chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.ArrowDown), script(`window.row = document.activeElement`))
	write(t, filepath.Join(dir, "run007"), "CartPole-v1", 7, "0.001", 4, -80)
	s.Scan()
	is(t, ctx, `document.querySelector("#runs tbody tr:nth-child(8)").textContent.includes("-80") && document.activeElement === window.row && window.row.ariaRowIndex === "3"`)
	is(t, ctx, `document.querySelectorAll('#runs tbody tr[tabindex="0"]').length === 1 && window.row.tabIndex === 0`)
	does(t, ctx, filtered("run1"))
	is(t, ctx, rows(100)+` && document.getElementById("count").textContent === "100 of 250 runs, 1 live" && document.querySelectorAll("#chart .curve").length === 1`)
	does(t, ctx, filtered(""))
	is(t, ctx, rows(250)+` && document.querySelector("#runs tbody tr").classList.contains("chosen")`)
	does(t, ctx, chromedp.Navigate(server.URL+"/?again#sort=-name"), chromedp.WaitVisible("body[data-ready]"))
	is(t, ctx, `document.querySelector("#runs tbody tr").textContent.includes("run249") && document.querySelector('th[aria-sort="descending"]').textContent === "Run"`)
}

// TestBusyBrowser: a browser that never has time to draw all rows draws those that are asked for:
// by the key End, and to print.
func TestBusyBrowser(t *testing.T) {
	ctx := browser(t)
	_, server := site(t, many(t))
	busy := chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, tab.AddScriptToEvaluateOnNewDocument, tab.AddScriptToEvaluateOnNewDocumentParams{Source: `window.requestIdleCallback = () => 0`})
		return err
	})
	does(t, ctx, busy, chromedp.Navigate(server.URL), chromedp.WaitVisible("body[data-ready]"))
	is(t, ctx, rows(100)+` && document.getElementById("runs").ariaRowCount === "251"`)
	does(t, ctx, sorted("Run"), script(`document.querySelector("#runs tbody tr").focus()`), chromedp.KeyEvent(kb.End))
	is(t, ctx, rows(250)+` && document.activeElement.textContent.includes("run249") && document.activeElement.ariaRowIndex === "251"`)
	does(t, ctx, sorted("Run"), script(`document.getElementById("none").click()`))
	is(t, ctx, rows(100))
	does(t, ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, tab.PrintToPDF, tab.PrintToPDFParams{})
		return err
	}))
	is(t, ctx, rows(250))
}

// TestScreenReader: what assistive programs are told of the page: a grid with its rows, of which
// some are selected, and a name for everything that takes the focus. Values read off the figure by
// keys are told aloud.
func TestScreenReader(t *testing.T) {
	ctx := browser(t)
	_, server := site(t, folder(t))
	does(t, ctx, chromedp.Navigate(server.URL), chromedp.WaitVisible("body[data-ready]"))
	is(t, ctx, `document.querySelectorAll("#chart .curve").length === 5`)
	does(t, ctx, script(`document.getElementById("chart").focus()`), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	var nodes []*accessibility.Node
	does(t, ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		tree, err := cdp.Call(ctx, t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		nodes = tree.Nodes
		return err
	}))
	count, told := map[string]int{}, ""
	within := map[accessibility.NodeID]bool{} // nodes in the grid
	for _, n := range nodes {
		role, name := said(n.Role), said(n.Name)
		if within[n.NodeID] = within[n.ParentID] || role == "grid"; n.Ignored {
			continue
		}
		if within[n.NodeID] || role == "searchbox" || role == "slider" {
			count[role]++
		}
		for _, p := range n.Properties {
			value := said(p.Value)
			if p.Name == "focusable" && value == "true" && name == "" {
				t.Errorf("a %s that takes the focus has no name", role)
			}
			if role == "row" && p.Name == "selected" && value == "true" {
				count["selected"]++
			}
		}
		if strings.Contains(name, " steps: ") {
			told = name
		}
	}
	for role, want := range map[string]int{"grid": 1, "row": 8, "selected": 5, "columnheader": 11, "checkbox": 7, "searchbox": 1, "slider": 1} {
		if count[role] != want {
			t.Errorf("%d of %s, want %d", count[role], role, want)
		}
	}
	if !strings.Contains(told, "fast/seed1 ") {
		t.Errorf("told aloud: %q", told)
	}
}

// said returns a value of the accessibility tree as text.
func said(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	return strings.Trim(string(v.Value), `"`)
}

// TestShots takes pictures of the page: light and dark, wide and narrow. They are for people to
// look at.
func TestShots(t *testing.T) {
	if *shots == "" {
		*shots = t.TempDir()
	}
	ctx := browser(t)
	dir := *of
	if dir == "" {
		dir = folder(t)
	}
	_, server := site(t, dir)
	for _, x := range []struct {
		name          string
		width, height int64
		scheme        string
	}{{"wide-light", 1440, 1000, "light"}, {"wide-dark", 1440, 1000, "dark"}, {"narrow-light", 420, 900, "light"}, {"narrow-dark", 420, 900, "dark"}} {
		does(t, ctx, chromedp.EmulateViewport(x.width, x.height), scheme(x.scheme),
			chromedp.Navigate(server.URL+"/?"+x.name), chromedp.WaitVisible("body[data-ready]"))
		is(t, ctx, `document.querySelectorAll("#chart .curve").length > 0`)
		took, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.dataset.ready + " ms, " + Math.round(performance.memory.usedJSHeapSize / 1e6) + " MB"`))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: ready after %s", x.name, took)
		if wide, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > window.innerWidth`)); err != nil || wide {
			t.Errorf("%s: the page is wider than the window", x.name)
		}
		picture(t, ctx, x.name)
		does(t, ctx, script(`{const g = document.getElementById("group"); g.selectedIndex = g.options.length - 1; g.dispatchEvent(new Event("change"))}`), chromedp.Click("#all"))
		is(t, ctx, `document.querySelectorAll("#chart .band").length > 1`)
		picture(t, ctx, x.name+"-joined")
		does(t, ctx, chromedp.Click(`#runs .name`))
		is(t, ctx, `document.querySelector("#details img")?.naturalWidth > 0`)
		does(t, ctx, chromedp.EmulateViewport(x.width, 3000), script(`window.scrollTo(0, document.getElementById("details").offsetTop)`))
		picture(t, ctx, x.name+"-details")
		does(t, ctx, printed("print"))
		picture(t, ctx, x.name+"-print")
		does(t, ctx, printed(""))
	}
}
