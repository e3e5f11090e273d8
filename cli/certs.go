package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/run/certs"
)

func (c *command) certs() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "certs",
		Short: "Make the certificates of a cluster",
		Long: "Certs makes an authority, and certificates for the machines and users of a cluster. On any address but loopback\n" +
			"both sides of a connection must show one of the same authority.",
		Example: "  weft certs init\n  weft certs issue 10.0.0.1\n  weft certs issue gpu1 --host 10.0.0.2 --host gpu1.example.com",
		Args:    noSuchCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var dir string
	cmd.PersistentFlags().StringVar(&dir, "dir", "certs", "`folder` of the authority")
	cmd.AddCommand(c.certsInit(&dir), c.certsIssue(&dir))
	return cmd
}

func (c *command) certsInit(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "init", Short: "Make an authority", Example: "  weft certs init\n  weft certs init --dir certs",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := certs.Init(*dir); err != nil {
				return err
			}
			fmt.Fprintf(c.out, "%s/ca.crt is for everybody; %s/ca.key stays here and issues certificates\n", *dir, *dir)
			return nil
		},
	}
}

func (c *command) certsIssue(dir *string) *cobra.Command {
	var hosts []string
	cmd := &cobra.Command{
		Use: "issue NAME", Short: "Make a certificate of the authority",
		Long:    "Issue makes a certificate for NAME: the name or the address of a machine, or a user.",
		Example: "  weft certs issue 10.0.0.1\n  weft certs issue gpu1 --host 10.0.0.2",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := certs.Issue(*dir, args[0], hosts...)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.out, "%s needs %s, %s and %s, in a folder of its own that --certs names\n", args[0], f.CA, f.Cert, f.Key)
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&hosts, "host", nil, "further `name or address` under which it is reached; may be repeated")
	return cmd
}
