"""The plot of a learning curve."""

from matplotlib.figure import Figure

from funcenv.train.runs.metrics import draw_learning_curve


def test_the_label_of_the_threshold_is_beside_the_curves(tmp_path, monkeypatch):
    figures = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda figure, path: figures.append(figure) or save(figure, path))
    rows = [{"seed": "0", "env_steps": str(step), "mean_return": "475.0"} for step in range(1000, 4000, 1000)]
    draw_learning_curve(tmp_path / "curve.png", rows, "a curve along the threshold", 475.0)
    (axes,) = figures[0].axes
    (label,) = axes.texts
    inside, whole, box = axes.bbox, figures[0].bbox, label.get_window_extent()
    assert label.get_text() == "threshold\n475"
    assert inside.x1 < box.x0 and box.x1 <= whole.x1
    assert [path.name for path in tmp_path.iterdir()] == ["curve.png"]


def test_nothing_is_drawn_before_a_return_is_known(tmp_path):
    rows = [{"seed": "0", "env_steps": "16", "mean_return": "nan", "eval_return": "nan"}]
    draw_learning_curve(tmp_path / "curve.png", rows, "a run that has no returns yet", 475.0)
    assert not list(tmp_path.iterdir())
