"""A job of torch (gloo, or nccl on GPUs: YOUR_JOB_BACKEND) whose ranks do what job_options.h says; it is told the same words."""
import datetime
import os
import signal
import sys
import time

COMPUTE_SECONDS, LOAD_SECONDS = 30, 20
PATIENCE = datetime.timedelta(seconds=90)


def work(seconds):
    """Half of a processor."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        until = time.monotonic() + 0.01
        while time.monotonic() < until:
            pass
        time.sleep(0.01)


def main():
    mode, seconds, who, folder = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    signal.alarm(int(seconds))
    end = time.monotonic() + seconds - 3
    rank = int(os.environ["RANK"])
    # Ranks that are told that they are the same one have files of their own.
    with open(os.path.join(folder, "rank." + os.environ.get("YOUR_JOB_LOG", str(rank))), "w", buffering=1) as log:
        print("pid %d rank %d size %s" % (os.getpid(), rank, os.environ["WORLD_SIZE"]), file=log)
        try:
            run(mode, end, rank, who, log)
            print("end", file=log)
            code = 0
        except Exception as error:  # what torch raises is of many kinds, and all of it is the job's end
            print("error " + str(error).replace("\n", " "), file=log)
            if mode == "stay":
                time.sleep(max(0, end - time.monotonic()))
            code = 1
    os._exit(code)  # ranks end at different moments: whoever still reads would see an error


def run(mode, end, rank, who, log):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    if mode == "load" and rank == who:
        work(LOAD_SECONDS)
    backend = os.environ.get("YOUR_JOB_BACKEND", "gloo")
    device = "cuda" if backend == "nccl" else "cpu"
    dist.init_process_group(backend, timeout=PATIENCE)
    small, large = torch.ones(2, device=device), torch.ones(1 << 18, device=device)

    def step():
        dist.all_reduce(small)
        dist.all_reduce(large)
        dist.barrier()
        if device == "cuda":
            torch.cuda.synchronize()  # what was only queued has not happened

    step()
    step()
    print("ready", file=log)
    number = 0
    while time.monotonic() < end:
        if mode == "idle":
            time.sleep(max(0, end - time.monotonic()))
        if mode == "compute" and rank == who:
            work(COMPUTE_SECONDS)
        step()
        print("step %d" % number, file=log)
        number += 1
        time.sleep(0.05)


main()
