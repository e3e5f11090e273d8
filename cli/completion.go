package cli

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/request"
)

// shells writes the scripts of shells that complete commands.
var shells = map[string]func(root *cobra.Command, w io.Writer) error{
	"bash":       bashCompletion,
	"zsh":        (*cobra.Command).GenZshCompletion,
	"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
	"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
}

// bashCompletion writes Cobra's script, which needs the package bash-completion, with what it takes
// of that package where it is not installed: the words of the line, parted at blanks alone.
func bashCompletion(root *cobra.Command, w io.Writer) error {
	err := root.GenBashCompletionV2(w, true)
	if err == nil {
		_, err = io.WriteString(w, bashWords)
	}
	return err
}

const bashWords = `
__weft_init_completion()
{
    COMPREPLY=()
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local line=${COMP_LINE:0:COMP_POINT}
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    cword=$((${#words[@]} - 1))
    cur=${words[cword]}
    prev=${words[cword > 0 ? cword - 1 : 0]}
}
`

func (c *command) completion() *cobra.Command {
	names := slices.Sorted(maps.Keys(shells))
	return &cobra.Command{
		Use:   "completion " + strings.Join(names, "|"),
		Short: "Write a script that completes commands in a shell",
		Long: "Completion writes a script for a shell, which then completes commands, flags, and the names of algorithms,\n" +
			"environments, policies, presets, devices and settings. Load it in every new shell:\n\n" +
			"bash: put the first line below into ~/.bashrc. zsh: put the second into ~/.zshrc, behind compinit. fish: run\n" +
			"the third once.",
		Example: "  source <(weft completion bash)\n  source <(weft completion zsh)\n" +
			"  weft completion fish > ~/.config/fish/completions/weft.fish\n  weft completion powershell | Out-String | Invoke-Expression",
		Args:                  cobra.ExactArgs(1),
		ValidArgs:             names,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := shells[args[0]]
			if !ok {
				return request.Unknown("shell", args[0], names, "weft completion --help")
			}
			return write(cmd.Root(), c.out)
		},
	}
}

// completions offers what flags and arguments may be. Commands without such flags are left alone.
func (c *command) completions(root *cobra.Command) {
	offers := map[string]func(cmd *cobra.Command, args []string) []string{
		"env":    func(*cobra.Command, []string) []string { return c.envNames() },
		"policy": func(*cobra.Command, []string) []string { return c.policyNames() },
		"device": func(*cobra.Command, []string) []string { return device.Names() },
		"preset": func(_ *cobra.Command, args []string) []string { return c.presetNames(args) },
		"set":    func(_ *cobra.Command, args []string) []string { return c.settingNames(args) },
	}
	for _, cmd := range root.Commands() {
		for flag, offer := range offers {
			if cmd.Flags().Lookup(flag) == nil {
				continue
			}
			directive := cobra.ShellCompDirectiveNoFileComp
			if flag == "set" {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
			err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
				return offer(cmd, args), directive
			})
			if err != nil {
				panic(err) // registered twice, which every test would have found
			}
		}
		if strings.Contains(cmd.Use, " ALGO") {
			cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
				if len(args) > 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return c.algorithmNames(), cobra.ShellCompDirectiveDefault // or the path of a package
			}
		}
		c.completions(cmd)
	}
}

// described returns a name with what the shell shows beside it.
func described(name, doc string) string { return name + "\t" + doc }

func (c *command) algorithmNames() (out []string) {
	for _, a := range c.set.Algorithms {
		out = append(out, described(a.Name, a.Doc))
	}
	return out
}

func (c *command) envNames() (out []string) {
	for _, e := range c.set.Environments {
		out = append(out, described(e.ID, e.Doc))
	}
	for _, s := range c.set.Schemes {
		out = append(out, described(s.Prefix+":", s.Doc))
	}
	return out
}

func (c *command) policyNames() (out []string) {
	for _, p := range c.set.AllPolicies() {
		out = append(out, described(p.Name, p.Doc))
	}
	return append(out, described(auto, "the fastest of those that keep the plain loop's bits"))
}

// named returns the algorithm that the arguments name; ok is false if they name none.
func (c *command) named(args []string) (a algo.Algorithm, ok bool) {
	if len(args) == 0 {
		return a, false
	}
	a, err := c.set.Algorithm(args[0])
	return a, err == nil
}

func (c *command) presetNames(args []string) (out []string) {
	a, _ := c.named(args)
	for _, p := range a.Presets {
		out = append(out, described(p.Name, p.Doc))
	}
	return out
}

func (c *command) settingNames(args []string) (out []string) {
	a, ok := c.named(args)
	if !ok {
		return nil
	}
	fields, err := config.Fields(a.Config())
	if err != nil {
		return nil
	}
	for _, f := range fields {
		out = append(out, described(f.Key+"=", f.Doc))
	}
	return out
}
