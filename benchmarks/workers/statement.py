"""A statement of Python, run once while the work is prepared, after another one that is not counted."""

import json
import sys

from protocol import serve

exec(json.loads(sys.argv[1])["before"])  # noqa: S102


def prepare(options):
    exec(options["statement"])  # noqa: S102
    return lambda: None, {"steps": 1}


serve(prepare)
