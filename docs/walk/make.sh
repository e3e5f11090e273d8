#!/bin/bash
# Does what docs/walk.md says in an empty folder, prints how long each command took, and makes the
# page's pictures: bash docs/walk/make.sh. Take times on a quiet machine. The pictures of the film
# and of the page need ffmpeg and Chromium; without them they stay as they are.
set -eu
cd "$(dirname "$0")/../.."
here=$PWD/docs/walk
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/weft" ./cmd/weft
cd "$dir"
PATH=$dir:$PATH
uptime

# timed runs a command, keeps what it printed, and prints the seconds that it took.
timed() {
	local begin=$EPOCHREALTIME
	"$@" >>said.txt 2>&1
	awk -v a="$begin" -v b="$EPOCHREALTIME" -v what="$*" 'BEGIN { printf "%6.2f s  %s\n", b - a, what }'
}

# answered waits until a server answers.
answered() { until curl -sf "$@" >/dev/null; do sleep .01; done; }

timed weft doctor
timed weft train ppo --seeds 3 --out runs/walk-ppo
timed weft train a2c --env CartPole-v1 --steps 100000 --seeds 3 --out runs/walk-a2c
timed weft compare runs/walk-ppo runs/walk-a2c --svg walk.svg
timed weft plot runs/walk-ppo runs/walk-a2c --metric episode/return_mean --out walk-curves.svg
timed weft eval runs/walk-ppo/seed1 --episodes 20 --video walk.gif
timed weft export runs/walk-ppo/seed1 --out walk.onnx
weft ui --listen 127.0.0.1:7391 >>said.txt &
timed answered http://127.0.0.1:7391/api/runs
kill $!
weft serve runs/walk-ppo/seed1 --listen 127.0.0.1:7392 >>said.txt &
timed answered -d '{"obs": [0, 0, 0.1, 0]}' http://127.0.0.1:7392/v1/act
kill $!
cat said.txt

cp walk.svg walk-curves.svg "$here"
command -v ffmpeg >/dev/null || exit 0
ffmpeg -loglevel error -y -i walk.gif -frames:v 100 -vf 'scale=300:-1:flags=neighbor' "$here/walk.gif"
if command -v chromium >/dev/null; then
	cd "$here/../.."
	go test -tags browser -run '^TestShots$' ./internal/ui -args -shots "$dir" -of "$dir/runs"
	ffmpeg -loglevel error -y -i "$dir/wide-light.png" -vf 'scale=1000:-1,split[a][b];[a]palettegen[p];[b][p]paletteuse=dither=none' "$here/page.png"
fi
