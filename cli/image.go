package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/image"
	"github.com/weft-rl/weft/internal/module"
	"github.com/weft-rl/weft/internal/request"
)

// imageFlags are the flags of image.
type imageFlags struct {
	out, tag, program        string
	algorithm, env, policies string
}

// image returns the command that writes a container image.
func (c *command) image() *cobra.Command {
	f := &imageFlags{}
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Write a container image with this program",
		Long: "Image writes an image with this program and the libraries it is linked with, for --on kubernetes. It needs no\n" +
			"container engine. The archive is an OCI image layout, which skopeo and crane push to a registry, and what docker\n" +
			"load and ctr images import read. Its user is not root, and it writes to /tmp alone. With --algorithm, --env or\n" +
			"--policies the program has those packages of an author's too.",
		Example: "  weft image --out weft.tar\n" +
			"  weft image --out mine.tar --tag registry.example/mine:1 --algorithm ./my/algo --env ./my/env\n" +
			"  weft image --out weft.tar --program weft-linux-arm64",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runImage(cmd, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "", "`file` to write the image to")
	flags.StringVar(&f.tag, "tag", "weft:latest", "`NAME:TAG` that docker load gives the image")
	flags.StringVar(&f.program, "program", "", "`file` of the program, built for Linux; default: this one")
	flags.StringVar(&f.algorithm, "algorithm", "", "`path` of an algorithm's package")
	flags.StringVar(&f.env, "env", "", "`path` of an environment's package")
	flags.StringVar(&f.policies, "policies", "", "`path` of a package of policies")
	return cmd
}

func (c *command) runImage(cmd *cobra.Command, f *imageFlags) (err error) {
	var packages []module.Named
	for _, x := range []module.Named{{Path: f.algorithm, Variable: "Algorithm"}, {Path: f.env, Variable: "Environment"}, {Path: f.policies, Variable: "Policy"}} {
		if x.Path != "" {
			packages = append(packages, x)
		}
		if x.Path != "" && !request.IsPath(x.Path) {
			return fmt.Errorf("%q is no path of a package: what comes with weft is in the image anyway; a path begins with ./ or /", x.Path)
		}
	}
	switch {
	case f.out == "":
		return errors.New("--out FILE is needed: where to write the image")
	case f.program != "" && packages != nil:
		return errors.New("--program: leave out --algorithm, --env and --policies, which a program is built for")
	case f.program == "":
		if f.program, err = self(); err != nil {
			return err
		}
	}
	if packages != nil {
		tmp, err := os.MkdirTemp("", module.Folder)
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		made, err := c.built(cmd.Context(), tmp, packages, "")
		if err != nil {
			return err
		}
		f.program = made.Path
	}
	return c.writeImage(f)
}

// writeImage writes the image of a program to a file, or no file.
func (c *command) writeImage(f *imageFlags) error {
	out, err := os.Create(f.out)
	if err != nil {
		return err
	}
	c.started = true
	b := bufio.NewWriter(out)
	digest, err := image.Write(b, image.Spec{Program: f.program, Tag: f.tag, Version: thisBuild().Version})
	if err = errors.Join(err, b.Flush(), out.Close()); err != nil {
		return errors.Join(err, os.Remove(f.out))
	}
	fmt.Fprintf(c.out, "image %s is in %s, %s\n", f.tag, f.out, digest)
	return nil
}
