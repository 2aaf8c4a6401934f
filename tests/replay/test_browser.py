"""The page in a real browser: it plays, it says what happened, and it draws what the rasteriser draws."""

import base64
import dataclasses
import functools
import io

import jax
import numpy as np
import pytest
from PIL import Image

import funcenv
from funcenv.replay import Replay, record
from funcenv.replay.scene_stack import take_steps
from funcenv.scene import rasterize

DRAWN = """
const canvas = document.createElement("canvas");
[canvas.width, canvas.height] = [arguments[2], arguments[3]];
replay.draw(canvas, arguments[0], arguments[1]);
return canvas.toDataURL().split(",")[1];
"""


@pytest.fixture(scope="module")
def cartpole():
    env = funcenv.make("CartPole-v1")
    return record(env, funcenv.random_policy(env), funcenv.key(3), num_episodes=3, title="CartPole-v1")


@pytest.fixture
def page(browser, tmp_path):
    """Return a function that opens a replay on a screen of some kind."""

    def open_page(replay, **screen):
        replay.save(tmp_path / "replay.html")
        browser.look(**screen)
        browser.open(tmp_path / "replay.html")
        return browser

    yield open_page
    assert browser.errors() == []


def figures(browser, card=0):
    """Step, reward and return, as a card shows them."""
    return browser.run(
        "return [...document.querySelectorAll('article')[arguments[0]].querySelectorAll('dd')].map(x => x.textContent)",
        card,
    )


@functools.partial(jax.jit, static_argnums=(1, 2, 3))
def rasterized(scene, height, width, supersample):
    return rasterize(scene, height, width, supersample=supersample)


def reference(replay, episode, step, height, width, supersample=2):
    return np.asarray(rasterized(take_steps(replay.episodes[episode].scenes, step), height, width, supersample))


@pytest.fixture
def drawn(browser):
    """Return a function that draws with the page's program, at any size."""

    def draw(episode, step, height, width):
        png = base64.b64decode(browser.run(DRAWN, episode, step, width, height))
        return np.array(Image.open(io.BytesIO(png)).convert("RGB"))

    return draw


def assert_same_image(ours, reference, mean=0.6, large=0.001):
    """Levels from 0 to 255: what differs are the edges, by how they are anti-aliased."""
    difference = np.abs(ours.astype(int) - reference.astype(int)).max(axis=-1)
    assert difference.mean() < mean, difference.mean()
    assert (difference > 48).mean() < large, (difference > 48).mean()


@pytest.mark.parametrize(("height", "width"), [(260, 400), (520, 800)])
def test_every_shape_is_drawn_as_the_rasteriser_draws_it(page, every_shape, drawn, height, width):
    page(every_shape)
    for step in (1, 3):
        assert_same_image(drawn(0, step, height, width), reference(every_shape, 0, step, height, width))


@pytest.mark.parametrize("env_id", ["Acrobot-v1", "MountainCar-v0", "FrozenLake-v1", "Taxi-v4"])
def test_environments_are_drawn_as_the_rasteriser_draws_them(page, drawn, env_id):
    env = funcenv.make(env_id)
    replay = record(env, funcenv.random_policy(env), funcenv.key(0), max_steps=12)
    page(replay)
    for step in (0, replay.num_steps):
        assert_same_image(drawn(0, step, 260, 360), reference(replay, 0, step, 260, 360))


@pytest.mark.parametrize("ratio", [1, 2])
def test_what_is_on_the_screen_is_the_rasterisers_frame_at_the_screens_resolution(page, every_shape, ratio):
    browser = page(every_shape, width=424, height=760, ratio=ratio)  # a canvas of 400 x 260
    browser.run("replay.seek(2)")
    size = browser.run("const {width, height} = document.querySelector('canvas'); return [height, width]")
    box = browser.run("return document.querySelector('canvas').getBoundingClientRect().width")
    assert size[1] == pytest.approx(ratio * box, abs=1)
    shot = browser.screenshot(".frame canvas")
    assert np.abs(np.subtract(shot.shape[:2], size)).max() <= 1
    height, width = np.minimum(shot.shape[:2], size)
    below_corners = slice(14 * ratio, height), slice(width)  # the card's corners are round
    wanted = reference(every_shape, 0, 2, *size)[below_corners]
    assert_same_image(shot[below_corners], wanted, mean=1.0, large=0.002)


def test_it_plays_to_the_end_and_says_the_return(page, cartpole):
    browser = page(cartpole)
    assert figures(browser) == ["0", "–", "0"]
    browser.run("document.getElementById('loop').click(); document.getElementById('speed').value = '8'")
    browser.run("document.getElementById('speed').dispatchEvent(new Event('change'))")
    play = "const play = document.getElementById('play')"  # at once: a slow machine could ask after the end
    assert browser.run(f"{play}; play.click(); return play.getAttribute('aria-label')") == "Pause"
    browser.run(
        "return new Promise(done => { const look = () => replay.playing ? setTimeout(look, 5) : done(); look() })"
    )
    for i, episode in enumerate(cartpole.episodes):
        assert figures(browser, i) == [str(episode.num_steps), "1", f"{episode.episode_return:g}"]
    badges = browser.run("return [...document.querySelectorAll('.badge')].map(x => x.hidden ? null : x.textContent)")
    assert badges == ["terminated"] * 3
    mean = cartpole.episode_return.mean()
    summary = browser.run("return document.querySelector('.summary').textContent")
    assert summary == f"3 episodes, mean return {mean:.4g}"


def test_it_begins_to_play_by_itself_unless_the_reader_wants_less_motion(page, cartpole):
    browser = page(cartpole)
    assert not browser.run("return replay.playing")
    browser.let_move()
    browser.run("location.reload()")
    browser.run("return new Promise(done => { const look = () => replay.step ? done() : setTimeout(look, 5); look() })")
    assert browser.run("return replay.playing")


def test_keys(page, cartpole):
    browser = page(cartpole)
    left, right, home, end = "\ue012", "\ue014", "\ue011", "\ue010"
    steps = []
    for key in (right, right, left, end, home):
        browser.press(key)
        steps.append(browser.run("return replay.step"))
    assert steps == [1, 2, 1, cartpole.num_steps, 0]
    browser.press(" ")
    assert browser.run("return replay.playing")
    browser.press(" ")
    assert not browser.run("return replay.playing")
    browser.press("+")
    assert browser.run("return document.getElementById('speed').value") == "2"
    browser.press("2")
    assert browser.run("return document.querySelectorAll('article h2').length") == 1
    assert browser.run("return document.querySelector('article h2').textContent") == "Episode 2"
    browser.press("0")
    assert browser.run("return document.querySelectorAll('article').length") == 3
    browser.press("?")
    assert browser.run("return document.getElementById('shortcuts').open")


def test_the_scrubber_and_the_plots_are_dragged(page, cartpole):
    browser = page(cartpole)
    last = cartpole.num_steps
    browser.drag("#scrub", 0.0, 0.5)
    assert abs(browser.run("return replay.step") - last / 2) <= 1
    browser.drag(".plot", 0.5, 0.25)
    step = browser.run("return replay.step")
    assert abs(step - last / 4) <= 1
    assert figures(browser) == [str(step), "1", str(step)]
    before = browser.screenshot(".frame")
    browser.run("replay.seek(0)")
    assert (browser.screenshot(".frame") != before).any()


def test_rewards_and_returns_are_those_of_the_replay(page, every_shape):
    browser = page(every_shape)
    shown = []
    for step in range(4):
        browser.run("replay.seek(arguments[0])", step)
        shown.append(figures(browser))
    assert shown == [["0", "–", "0"], ["1", "1", "1"], ["2", "−0.500", "0.500"], ["3", "0.250", "0.750"]]
    assert browser.run("return document.querySelector('h1').textContent") == "Every <shape>"


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone_in_either_theme(page, cartpole, dark):
    browser = page(cartpole, width=390, height=844, ratio=3, mobile=True, dark=dark)
    assert browser.run("return document.documentElement.scrollWidth") == 390
    assert browser.run("return document.querySelector('article').clientWidth") == 390 - 2 * 12
    small = browser.run(
        "return [...document.querySelectorAll('footer button, footer select')].filter(x => x.offsetParent)"
        ".filter(x => x.offsetWidth < 40 || x.offsetHeight < 40).length"
    )
    assert small == 0
    page_color = browser.screenshot()[2, 2].mean()
    assert page_color < 60 if dark else page_color > 200


def test_everything_that_can_be_pressed_has_a_name(page, cartpole):
    browser = page(cartpole)
    unnamed = browser.run(
        "return [...document.querySelectorAll('button, input, select, canvas[role]')].filter(x => "
        "!x.getAttribute('aria-label') && !x.textContent.trim() && !x.closest('label')?.textContent.trim()).length"
    )
    assert unnamed == 0


def test_in_a_notebook_it_is_as_high_as_its_content(browser, tmp_path, cartpole):
    browser.look(width=900)
    (tmp_path / "notebook.html").write_text(f"<!doctype html><p>before</p>{cartpole._repr_html_()}<p>after</p>")
    browser.open(tmp_path / "notebook.html")
    frame = "document.querySelector('iframe')"
    browser.run(f"return new Promise(done => {{ const look = () => {frame}.contentWindow.replay ? setTimeout(done, 50)"
                f" : setTimeout(look, 5); look() }})")  # fmt: skip
    outside = browser.run(f"return {frame}.clientHeight")
    inside = browser.run(f"return {frame}.contentDocument.documentElement.scrollHeight")
    assert abs(outside - inside) <= 2 and outside < 1000
    assert browser.run(f"return {frame}.contentDocument.querySelectorAll('article').length") == 3
    assert browser.errors() == []


def test_it_asks_nothing_of_the_network(page, cartpole):
    browser = page(cartpole)
    assert browser.run("return performance.getEntriesByType('resource').map(x => x.name)") == []


def test_several_environments_side_by_side(page, cartpole, every_shape, drawn):
    browser = page(Replay.together(cartpole.clip(stop=5), every_shape))
    titles = browser.run("return [...document.querySelectorAll('h2')].map(x => x.textContent)")
    assert titles[:4] == [*(f"CartPole-v1, Episode {i}" for i in (1, 2, 3)), "Every <shape>"]
    assert_same_image(drawn(3, 2, 260, 400), reference(every_shape, 0, 2, 260, 400))


def test_actions_have_names_and_a_time_limit_is_one(page):
    env = funcenv.make("MountainCar-v0", max_episode_steps=3)
    replay = record(env, lambda observation, key: np.int32(2), funcenv.key(0))
    browser = page(replay)
    browser.run("replay.seek(3)")
    text = "return [...document.querySelectorAll(arguments[0])].map(x => x.textContent)"
    assert browser.run(text, ".lanes .axis span") == ["push right", "no push", "push left"]
    assert browser.run(text, ".lanes .values span") == ["push right"]
    assert browser.run(text, ".badge") == ["time limit"]


def test_no_label_is_cut_off_and_zero_has_no_sign(page):
    scenes = [take_steps(record(funcenv.make("Pendulum-v1"), funcenv.random_policy(funcenv.make("Pendulum-v1")),
                                funcenv.key(0), max_steps=1).episodes[0].scenes, 0)] * 4  # fmt: skip
    browser = page(Replay.from_scenes(scenes, [-0.0001, -1234.5, 0.99951]))
    browser.run("replay.seek(1)")
    assert figures(browser) == ["1", "0", "0"]
    clipped = "return [...document.querySelectorAll('.axis')].filter(x => x.scrollWidth > x.clientWidth).length"
    assert browser.run(clipped) == 0


@pytest.mark.parametrize(("env_id", "is_drawing"), [("CartPole-v1", True), ("Taxi-v4", False)])
def test_dark_mode_inverts_drawings_on_paper_only(page, env_id, is_drawing):
    env = funcenv.make(env_id)
    replay = record(env, funcenv.random_policy(env), funcenv.key(0), max_steps=3)
    levels = [page(replay, dark=dark).screenshot(".frame canvas")[20:60, 20:60].mean() for dark in (False, True)]
    assert levels[0] > 100 and (levels[1] < 60) == is_drawing


@pytest.mark.parametrize("shown", [1, 3])
def test_all_of_a_card_is_on_a_desktop_screen(page, cartpole, shown):
    browser = page(Replay(cartpole.episodes[:shown]), width=1280, height=900)
    card, footer = (
        browser.run("return document.querySelector(arguments[0]).getBoundingClientRect()", selector)
        for selector in ("article", "footer")
    )
    assert card["bottom"] <= footer["top"]
    assert card["bottom"] > 0.55 * footer["top"]  # and it does not leave half of it empty


@pytest.mark.parametrize(("width", "names"), [(1280, True), (390, False)])
def test_each_of_many_continuous_actions_has_a_row_of_its_own(page, width, names):
    joints = tuple(f"joint {i}" for i in range(17)) if names else ()
    env = funcenv.make("Pendulum-v1")
    replay = record(env, funcenv.random_policy(env), funcenv.key(0), max_steps=5)
    actions = -np.linspace(0.1, 1.0, 5 * 17, dtype=np.float32).reshape(5, 17)
    (episode,) = replay.episodes
    space = funcenv.spaces.Box(-1.0, 1.0, (17,))
    episode = dataclasses.replace(episode, action=actions, action_space=space, action_names=joints)
    browser = page(dataclasses.replace(replay, episodes=(episode,)), width=width, height=900, mobile=width < 500)
    browser.run("replay.seek(3)")
    rows = browser.run(
        "return [...document.querySelectorAll('.trace.row')].map(row => [...row.querySelectorAll('.name, .values')]"
        ".map(part => [part.textContent, part.scrollWidth <= part.clientWidth, part.getBoundingClientRect().top]))"
    )
    shown = [f"\N{MINUS SIGN}{-value:.3f}" for value in actions[2]]
    assert [name for (name, _, _), _ in rows] == (list(joints) or list(map(str, range(17))))
    assert [value for _, (value, _, _) in rows] == shown
    assert all(is_whole for row in rows for _, is_whole, _ in row)
    tops = [top for _, (_, _, top) in rows]
    assert min(np.diff(tops)) >= 18
    heading = browser.run("return document.querySelector('.trace.row').dataset.heading")
    assert heading == "Action, \N{MINUS SIGN}1 to 1"
