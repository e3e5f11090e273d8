#!/bin/bash
# Submit it with
#
#   ray job submit --submission-id ppo-seed1 -- bash -c "$(cat FILE)"
#
# The command leads the run. It asks Ray for a placement group of 3 bundles
# {"CPU":4,"GPU":1}, STRICT_SPREAD, and runs a worker as an actor in
# each of them; the coordinator is beside the command.
cd /home/me
exec /opt/weft train ppo --set 'note=it'\''s one' --on ray --nodes 3 --ray cpus=4 --ray gpus=1
