#!/bin/bash
# A campaign as an array of Slurm jobs, and a job that merges what they found:
#
#     array=$(sbatch --parsable farms/slurm.sh) && sbatch --array=1 --dependency=afterany:$array farms/slurm.sh merge
#
# A task that is requeued goes on where it stopped: its folder is its own. Slurm requeues one that is preempted or whose node fails; one that is
# killed otherwise (out of memory, say) requeues itself, three times at most.
#SBATCH --job-name=tangle
#SBATCH --array=1-8
#SBATCH --cpus-per-task=4
#SBATCH --requeue
#SBATCH --open-mode=append
# With GPUs: #SBATCH --gres=gpu:1

set -u
tangle=${TANGLE:-target/release/tangle}
out=${TANGLE_OUT:-tangle-farm}
seed=${TANGLE_SEED:-1}

if [[ ${1:-} == merge ]]; then
    exec "$tangle" merge "$out"/part-* --out "$out/all"
fi
# shellcheck disable=SC2086 # several words
"$tangle" fuzz --seed "$seed" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --out "$out/part-$SLURM_ARRAY_TASK_ID" \
    ${TANGLE_OPTIONS:---time 1h}
code=$?
# 1: something was found, and the task did what it was to do. 2: the command line is wrong, or no device is there.
((code > 2 && ${SLURM_RESTART_COUNT:-0} < 3)) && scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
((code <= 1)) || exit $code
