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
		Example: "  weft certs init\n  weft certs issue 10.0.0.1 --role coordinate,work\n" +
			"  weft certs issue gpu1 --role work --host 10.0.0.2 --host gpu1.example.com\n  weft certs issue alice --role submit",
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var dir string
	cmd.PersistentFlags().StringVar(&dir, "dir", "certs", "`folder` of the authority")
	cmd.AddCommand(c.certsInit(&dir), c.certsIssue(&dir), c.certsRenew(&dir), c.certsRevoke(&dir))
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
	var hosts, roles []string
	cmd := &cobra.Command{
		Use: "issue NAME", Short: "Issue a certificate",
		Long: "Issue makes a certificate for NAME: the name or the address of a machine, or a user. Its roles say what the\n" +
			"holder may do: coordinate is for machines that a coordinator runs on, work for those of workers, submit for\n" +
			"who may have runs trained, stop and delete them, read for who may only look. Who may submit may read. A\n" +
			"submission has code executed on the workers: see docs/cluster.md.",
		Example: "  weft certs issue 10.0.0.1 --role coordinate,work\n  weft certs issue gpu1 --role work --host 10.0.0.2\n  weft certs issue alice --role submit",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			as, err := certs.ParseRoles(roles)
			if err != nil {
				return fmt.Errorf("--role: %w", err)
			}
			f, err := certs.Issue(*dir, args[0], as, hosts...)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.out, "%s needs %s, %s and %s, in a folder of its own that --certs names\n", args[0], f.CA, f.Cert, f.Key)
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&hosts, "host", nil, "further `name or address` of the holder; may be repeated")
	cmd.Flags().StringSliceVar(&roles, "role", nil, "`roles` of the holder, of coordinate, work, submit and read")
	return cmd
}

func (c *command) certsRenew(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "renew NAME", Short: "Renew the certificate of a name",
		Long: "Renew makes another certificate for NAME, with the same roles and addresses, in the place of its files. Where they\n" +
			"are used they are to be replaced too; processes read them again by themselves.",
		Example: "  weft certs renew gpu1",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := certs.Renew(*dir, args[0])
			if err != nil {
				return err
			}
			fmt.Fprintf(c.out, "put %s and %s in the place of those that %s has: nothing has to be restarted\n", f.Cert, f.Key, args[0])
			return nil
		},
	}
}

func (c *command) certsRevoke(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "Revoke the certificates of a name",
		Long: "Revoke puts all certificates that were issued to NAME on the authority's list. Coordinators and workers that have\n" +
			"the list beside ca.crt end the connections of their holder and let nobody in with them; they read it again by\n" +
			"themselves when it changes.",
		Example: "  weft certs revoke alice",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := certs.Revoke(*dir, args[0])
			if err != nil {
				return err
			}
			fmt.Fprintf(c.out, "copy %s beside ca.crt wherever a coordinator or a worker runs: nothing has to be restarted\n", list)
			return nil
		},
	}
}
