#!/bin/sh
# sets.sh makes the data sets that offline algorithms are compared on, as D4RL has them, with the soft actor-critic of
# this project: of every environment random, medium, medium-replay and expert.
#
#	sh internal/dataset/sets.sh FOLDER [ENV...]      (HalfCheetah-v5 and Hopper-v5, if none are named)
#
# Numbers come from the environment:
#
#	WEFT     the command                                        weft
#	SAMPLES  steps of each set                                  200000
#	MEDIUM   steps of training after which a policy is medium   55000
#	EXPERT   steps of training of the expert                    1000000
#	SEED     of the first run                                   1
#	FLAGS    more flags of the runs that learn, as --set        (none)
#
# A run that is there already is taken as it is, so that a script that was interrupted goes on. Random is what sac does
# before it learns. Medium is what the policy does, with exploration, after MEDIUM steps, for HalfCheetah about D4RL's
# 4,980. Medium-replay is all that training runs saw until then: as many seeds as it takes to SAMPLES steps. Expert is
# what the best weights of a long run do, greedily.
set -eu

out=${1:?the folder of the sets}
shift
[ $# -gt 0 ] || set -- HalfCheetah-v5 Hopper-v5
weft=${WEFT:-weft} samples=${SAMPLES:-200000} medium=${MEDIUM:-55000} expert=${EXPERT:-1000000} first=${SEED:-1}
mkdir -p "$out"

# train ENV STEPS NAME FLAGS... trains sac, unless it has.
train() {
	env=$1 steps=$2 run=$out/runs/$3
	shift 3
	[ -e "$run/done" ] && return
	rm -rf "$run"
	"$weft" train sac --env "$env" --steps "$steps" --out "$run" "$@"
	touch "$run/done"
}

for env in "$@"; do
	name=$out/$(echo "${env%-v*}" | tr '[:upper:]' '[:lower:]')

	train "$env" "$samples" "$env-random" --seed "$first" --set learning_starts=$((samples + 1)) \
		--eval-episodes 0 --record "$name-random.parquet"

	parts=
	runs=$(((samples + medium - 1) / medium))
	for i in $(seq 1 "$runs"); do
		part=$out/runs/$env-medium-$i.parquet
		train "$env" "$medium" "$env-medium-$i" --seed $((first + i - 1)) --record "$part" ${FLAGS-}
		parts="$parts $part"
	done
	"$weft" data merge $parts --out "$name-medium-replay.parquet"
	"$weft" record "$out/runs/$env-medium-1" --newest --sample --steps "$samples" --out "$name-medium.parquet"

	train "$env" "$expert" "$env-expert" --seed "$first" --eval-every $((expert / 20 + 1)) --eval-episodes 10 ${FLAGS-}
	"$weft" record "$out/runs/$env-expert" --steps "$samples" --out "$name-expert.parquet"

	for kind in random medium-replay medium expert; do
		"$weft" data info "$name-$kind.parquet"
	done
done
