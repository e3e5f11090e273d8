#!/bin/bash
#SBATCH --job-name=ppo-seed1
#SBATCH --nodes=3
#SBATCH --ntasks-per-node=1
#SBATCH --chdir=/home/me
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:USR1@300
#SBATCH --time=2:00:00
#SBATCH --gres=gpu:1
#SBATCH --exclusive

# Each task is a worker, started by srun; the coordinator is on the first node.
# Before the time limit the run is saved, and the job requeues itself and goes
# on. exec lets the program receive that signal instead of the shell.
exec /opt/weft train ppo --set 'note=it'\''s one' --on slurm
