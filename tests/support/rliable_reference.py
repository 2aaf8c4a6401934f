"""Write tests/train/rliable_reference.json: what rliable 1.2.0 computes of a few scores.

rliable is no dependency of the tests, because its release needs an older pandas. To run this file:

    pip install rliable==1.2.0 "pandas<3"
    python tests/support/rliable_reference.py > tests/train/rliable_reference.json
"""

import json

import numpy as np

THRESHOLDS = [0.0, 0.25, 0.5, 0.75, 1.0]


def main():
    """Print the reference."""
    from rliable import library, metrics

    def iqm(scores):
        return np.array([metrics.aggregate_iqm(scores)])

    def improvement(ours, theirs):
        return np.array([metrics.probability_of_improvement(ours, theirs)])

    def interval(scores, statistic, replicates=50_000):
        np.random.seed(1)
        _, ends = library.get_interval_estimates({"one": scores}, statistic, reps=replicates)
        return np.asarray(ends["one"])[:, 0].tolist()

    generator = np.random.RandomState(0)
    x, y = (np.round(generator.normal(*moments), 3) for moments in ((0.6, 0.2, (7, 3)), (0.5, 0.25, (5, 3))))
    y[0, 0] = x[0, 0]  # a tie
    sets = {"x": x, "y": y, "first task of x": x[:, :1]}
    reference = {
        "rliable": "1.2.0",
        "x": x.tolist(),
        "y": y.tolist(),
        "thresholds": THRESHOLDS,
        "interquartile_mean": {name: metrics.aggregate_iqm(scores) for name, scores in sets.items()},
        "interval_of_the_interquartile_mean": {name: interval(scores, iqm) for name, scores in sets.items()},
        "performance_profile": {
            name: library.score_distributions(sets[name], THRESHOLDS).tolist() for name in ("x", "y")
        },
        "probability_of_improvement": {
            "x over y": metrics.probability_of_improvement(x, y),
            "y over x": metrics.probability_of_improvement(y, x),
        },
        "interval_of_the_probability_of_improvement": {"x over y": interval((x, y), improvement, 10_000)},
    }
    print("{\n" + ",\n".join(f" {json.dumps(name)}: {json.dumps(value)}" for name, value in reference.items()) + "\n}")


if __name__ == "__main__":
    main()
