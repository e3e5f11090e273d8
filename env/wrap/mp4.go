package wrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/gif"
	"io"
	"os/exec"
	"strings"
	"time"
)

// ffmpeg is the program that makes MP4 films.
const ffmpeg = "ffmpeg"

// encoding bounds how long ffmpeg may take over a film.
const encoding = 5 * time.Minute

// encodeMP4 writes a film as an MP4 with H.264, in fragments, because ffmpeg writes it into a pipe.
// Sides of an odd length lose a pixel.
func encodeMP4(w io.Writer, film *gif.GIF) error {
	ctx, cancel := context.WithTimeout(context.Background(), encoding)
	defer cancel()
	cmd := exec.CommandContext(ctx, ffmpeg, "-loglevel", "error", "-f", "gif", "-i", "pipe:0", "-an",
		"-vf", "crop=trunc(iw/2)*2:trunc(ih/2)*2", "-pix_fmt", "yuv420p", "-movflags", "frag_keyframe+empty_moov", "-f", "mp4", "pipe:1")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &said
	if err := cmd.Start(); err != nil {
		return err
	}
	written := gif.EncodeAll(in, film)
	written = errors.Join(written, in.Close())
	if err := cmd.Wait(); err != nil { // why it does not read is said there
		return fmt.Errorf("ffmpeg: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return written
}
