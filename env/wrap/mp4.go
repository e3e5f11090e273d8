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
	size := film.Image[0].Rect.Size()
	cmd := exec.CommandContext(ctx, ffmpeg, "-loglevel", "error",
		"-f", "rawvideo", "-pix_fmt", "rgb24", "-s", fmt.Sprintf("%dx%d", size.X, size.Y), "-r", fmt.Sprintf("100/%d", film.Delay[0]), "-i", "pipe:0",
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
	written := errors.Join(writeFrames(in, film), in.Close())
	if err := cmd.Wait(); err != nil { // why it does not read is said there
		return fmt.Errorf("ffmpeg: %w: %s", err, strings.TrimSpace(said.String()))
	}
	return written
}

// writeFrames writes pictures of one size as red, green and blue bytes; the last one as often as it
// is to be seen.
func writeFrames(w io.Writer, film *gif.GIF) error {
	buffer := make([]byte, 0, 3*len(film.Image[0].Pix))
	for i, p := range film.Image {
		buffer = buffer[:0]
		for _, k := range p.Pix {
			r, g, b, _ := p.Palette[k].RGBA()
			buffer = append(buffer, byte(r>>8), byte(g>>8), byte(b>>8))
		}
		for range max(1, film.Delay[i]/film.Delay[0]) {
			if _, err := w.Write(buffer); err != nil {
				return err
			}
		}
	}
	return nil
}
