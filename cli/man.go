package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (c *command) man() *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "Write the manual page",
		Long: "Man writes the manual page of weft with all of its commands, for man(1). It says what the --help of each\n" +
			"command says.",
		Example: "  weft man > weft.1\n  man ./weft.1\n  weft man | gzip > /usr/local/share/man/man1/weft.1.gz",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(c.out, manual(cmd.Root(), thisBuild().Version))
			return err
		},
	}
}

// manual returns the page of a command and all below it, in the macros of man(7). The page has no
// date, so that one program writes one page.
func manual(root *cobra.Command, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"weft %s\" \"Weft\"\n", strings.ToUpper(root.Name()), roff(version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", root.Name(), roff(strings.ToLower(root.Short[:1])+root.Short[1:]))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.I command\n[flags]\n", root.Name())
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s", paragraphs(root.Long))
	examples(&b, root.Example)
	b.WriteString(".SH COMMANDS\n")
	for _, cmd := range root.Commands() {
		section(&b, cmd)
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, x := range []struct {
		code int
		text string
	}{{exitDone, "done"}, {exitFailed, "failed"}, {exitUsage, "wrong usage or configuration; nothing has started"}, {exitInterrupted, "interrupted, after a checkpoint"}} {
		fmt.Fprintf(&b, ".TP\n%d\n%s\n", x.code, x.text)
	}
	return b.String()
}

// section writes about a command and those below it.
func section(b *strings.Builder, cmd *cobra.Command) {
	if !cmd.IsAvailableCommand() {
		return
	}
	parent := strings.TrimPrefix(cmd.Parent().CommandPath()+" ", cmd.Root().Name()+" ")
	fmt.Fprintf(b, ".SS %s\n%s", roff(parent+cmd.Use), paragraphs(cmd.Long))
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(b, ".TP\n.B \\-\\-%s\n", roff(strings.TrimSpace(f.Name+" "+kind)))
		fmt.Fprintf(b, "%s\n", roff(usage))
	})
	examples(b, cmd.Example)
	for _, below := range cmd.Commands() {
		section(b, below)
	}
}

// examples writes commands to copy.
func examples(b *strings.Builder, text string) {
	if text == "" {
		return
	}
	b.WriteString(".PP\n.nf\n.RS\n")
	for line := range strings.Lines(text) {
		b.WriteString(roff(strings.TrimSpace(line)) + "\n")
	}
	b.WriteString(".RE\n.fi\n")
}

// paragraphs writes text whose paragraphs an empty line divides.
func paragraphs(text string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(text, "\n\n") {
		fmt.Fprintf(&b, ".PP\n%s\n", roff(strings.Join(strings.Fields(part), " ")))
	}
	return b.String()
}

// roff writes text so that none of it is a request: backslashes, hyphens that are to be copied, and
// lines that begin with a dot or an apostrophe.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}
