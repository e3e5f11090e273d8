#!/usr/bin/env bash
# Makes the pictures of docs/gallery.md from runs of the weft command: bash docs/gallery/make.sh
# [ROW...]. WEFT names the command, SEEDS the number of seeds, RUNS the folder of runs. A run that is
# there is not trained again.
set -euo pipefail
weft=${WEFT:-weft} seeds=${SEEDS:-3} runs=${RUNS:-runs/gallery}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$runs"

# row NAME ALGORITHM ENV STEPS LOW:HIGH FLAG... trains some seeds, evaluates each greedily ten times
# on its way, and draws the curves with the interval that they are compared with; none is -.
row() {
	local name=$1 algorithm=$2 env=$3 steps=$4 interval=$5
	shift 5
	wanted "$name" || return 0
	local out=$runs/$name
	[ -e "$out" ] || "$weft" train "$algorithm" --env "$env" --steps "$steps" --seeds "$seeds" \
		--eval-every $((steps / 10)) --eval-episodes 20 --out "$out" "$@" >"$out.log" 2>&1
	local published=()
	[ "$interval" = - ] || published=(--published "$env=$interval")
	"$weft" plot "$algorithm=$out" --metric eval/return "${published[@]}" --out "$here/$name.svg"
}

# film NAME RUN draws an episode.
film() {
	wanted "$1" || return 0
	"$weft" eval "$2" --episodes 1 --video "$here/$1.gif" >/dev/null
}

wanted() { [ ${#rows[@]} -eq 0 ] || [[ " ${rows[*]} " == *" $1 "* ]]; }
rows=("$@")

# Classic control. Intervals: mean and standard deviation over episodes of RL Zoo's trained agents,
# of c51 those of CleanRL's runs.
row ppo ppo CartPole-v1 64000 499:500 --preset quick
row a2c a2c CartPole-v1 500000 499:500
row dqn dqn CartPole-v1 500000 499:500
row c51 c51 CartPole-v1 500000 460.7:500
row qrdqn qrdqn CartPole-v1 50000 499:500
row rainbow rainbow CartPole-v1 50000 -
row impala impala CartPole-v1 1000000 -
row reinforce reinforce CartPole-v1 400000 -
row ac ac CartPole-v1 500000 -
row r2d2 r2d2 CartPolePositions-v1 300000 -
row sac sac Pendulum-v1 20000 -245.7:-68.3
row td3 td3 Pendulum-v1 20000 -242.1:-61.6
row ddpg ddpg Pendulum-v1 20000 -246.4:-57.8

# Several agents, on tiny tasks. In the two-step game VDN is known to reach 7 and QMIX 8.
row mappo mappo Agents-v0 40000 -
row maddpg maddpg Agents-v0 20000 -
row matd3 matd3 Agents-v0 20000 -
row qmix qmix TwoStep-v0 20000 7.8:8.2
row vdn vdn TwoStep-v0 20000 6.8:7.2
row iql-independent iql-independent TwoStep-v0 20000 6.8:7.2

# Games, and search in a learnt model.
row alphazero alphazero board/TicTacToe-v0 100000 - --set act_by=network
row muzero muzero CartPole-v1 80000 -

# A learnt model of the world.
row dreamer dreamer Pendulum-v1 30000 -200:0

# Data: episodes of the first run of sac, and the return of what recorded them.
expert=$runs/expert.parquet
[ -e "$expert" ] || [ ! -e "$runs/sac" ] || "$weft" record "$runs/sac/seed1" --episodes 50 --out "$expert" >/dev/null
data=(--data "$expert" --set hidden=64,64 --set batch=64)
row bc bc Pendulum-v1 20000 -245.7:-68.3 "${data[@]}"
row td3bc td3bc Pendulum-v1 20000 -245.7:-68.3 "${data[@]}" --set alpha=0.3
row iql iql Pendulum-v1 20000 -245.7:-68.3 "${data[@]}"
row awac awac Pendulum-v1 20000 -245.7:-68.3 "${data[@]}" --set lambda=3
row cql cql Pendulum-v1 20000 -245.7:-68.3 "${data[@]}" --set policy_rate=1 --set entropy=-3 --set learning_rate=1e-3
row gail gail Pendulum-v1 300000 -245.7:-68.3 --data "$expert"

# A league, by its payoff matrix, and a population, by its lineage.
if wanted psro; then
	[ -e "$runs/psro" ] || "$weft" train psro --env "board/KuhnPoker-v0?opponent=none" --steps 800000 --eval-episodes 0 --out "$runs/psro" >"$runs/psro.log" 2>&1
	"$weft" league "$runs/psro" --svg "$here/psro.svg" >/dev/null
fi
if wanted population; then
	[ -e "$runs/population" ] || "$weft" train ppo --env CartPole-v1 --population 8 --mutate learning_rate=1e-5..1e-1 --steps 40000 --exploit-every 4096 --eval-episodes 20 --out "$runs/population" >"$runs/population.log" 2>&1
	"$weft" population "$runs/population" --svg "$here/population.svg" >/dev/null
fi

# Films.
short() { # NAME ALGORITHM ENV LIMIT FLAG...
	wanted "film-$1" || return 0
	local out=$runs/film-$1
	[ -e "$out" ] || "$weft" train "$2" --env "$3" --wrap "time-limit=$4" --out "$out" --eval-episodes 0 "${@:5}" >"$out.log" 2>&1
	film "film-$1" "$out"
}
short cartpole ppo CartPole-v1 60 --preset quick
short acrobot ppo Acrobot-v1 120 --steps 100000
short pendulum sac Pendulum-v1 80 --steps 20000
film film-tictactoe "$runs/alphazero/seed1"
if wanted film-spread; then
	[ -e "$runs/film-spread" ] || "$weft" train mappo --env mpe/simple_spread-v3 --steps 200000 --out "$runs/film-spread" --eval-episodes 0 >"$runs/film-spread.log" 2>&1
	film film-spread "$runs/film-spread"
fi

# Graphs of loops, and a comparison.
for algorithm in ppo dqn sac; do
	wanted "graph-$algorithm" && "$weft" graph "$algorithm" --format overview >"$here/graph-$algorithm.svg"
done
wanted compare && "$weft" compare sac="$runs/sac" td3="$runs/td3" ddpg="$runs/ddpg" --metric eval/return --svg "$here/compare.svg" >/dev/null
exit 0
