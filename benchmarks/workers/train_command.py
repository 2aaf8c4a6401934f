"""`funcenv train` in a new process, with the cache of compiled programs that the benchmark gives; its clocks count.

The log of a run counts from the moment at which the run writes its configuration.
"""

import csv
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from protocol import serve


def prepare(options):
    variables = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    variables |= {"JAX_PLATFORMS": "cpu", "XDG_CACHE_HOME": os.environ["JAX_COMPILATION_CACHE_DIR"]}

    def work():
        with tempfile.TemporaryDirectory() as folder:
            run = pathlib.Path(folder) / "run"
            command = [sys.executable, "-m", "funcenv", "train", options["env"], "--run-dir", str(run)]
            start, before = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True, env=variables, stdout=subprocess.DEVNULL)
            end, after = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
            rows = csv.DictReader((run / "metrics.csv").open())
            solved = next(row for row in rows if float(row["mean_return"]) >= options["threshold"])
            solved_at = (run / "config.json").stat().st_mtime + float(solved["wall_seconds"])
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"solved after": solved_at - start, "ends after": end - start, "CPU-s": cpu}

    return work, {"steps": 1}


serve(prepare)
