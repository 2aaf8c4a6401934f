// The page: one clock, and one card per episode.

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 8];
const MAX_CARDS_WITH_TRACES = 6; // with more cards, only frames and numbers are shown
const END_PAUSE_SECONDS = 0.9; // before the page plays from the start again
const ENDS = { terminated: "terminated", truncated: "time limit", stopped: "stopped" };
const [MIN_PLOT, MAX_PLOT] = [46, 190]; // heights of a plot in pixels, as in player.css

const data = JSON.parse(document.getElementById("data").textContent);
const episodes = decode(data);
const byId = (id) => document.getElementById(id);
const main = document.querySelector("main");
const choice = document.querySelector(".choice");
const [scrub, clock, playButton, speedMenu, loopButton] = ["scrub", "clock", "play", "speed", "loop"].map(byId);

const state = { step: 0, playing: false, speed: 1, shown: null, rest: 0, fraction: 0, loop: true };

class Card {
  constructor(episode) {
    this.episode = episode;
    this.element = byId("card").content.firstElementChild.cloneNode(true);
    const find = (selector) => this.element.querySelector(selector);
    this.element.style.setProperty("--aspect", episode.drawing.aspect.toFixed(5));
    this.canvas = find("canvas");
    this.canvas.classList.add(isOnPaper(episode.drawing) ? "paper" : "picture");
    this.badge = find(".badge");
    this.badge.textContent = ENDS[episode.end];
    [this.step, this.reward, this.sum] = [".step", ".reward", ".return"].map(find);
    find("h2").textContent = episodes.length > 1 ? episode.title : "";
    this.traces = episode.steps ? makeTraces(episode) : [];
    this.plotHeight = this.traces.reduce((sum, trace) => sum + trace.leastHeight, 0);
    find(".traces").append(...this.traces.map((trace) => trace.element));
    this.element.querySelector(".frame").addEventListener("click", toggle);
    for (const plot of this.element.querySelectorAll(".plot")) scrubOn(plot);
    observeSize(this.canvas, () => this.draw());
    for (const trace of this.traces) observeSize(trace.canvas, () => trace.draw(maxSteps()));
  }

  draw() {
    const { episode } = this;
    const step = Math.min(state.step, episode.steps);
    episode.drawing.draw(this.canvas, step);
    const reward = step > 0 ? formatNumber(rounded(episode.reward.at(step - 1)[0])) : "–";
    const sum = formatNumber(step === episode.steps ? episode.return : rounded(episode.sums[step]));
    this.step.textContent = step;
    this.reward.textContent = reward;
    this.sum.textContent = sum;
    this.badge.hidden = step < episode.steps;
    this.element.style.setProperty("--at", `${(100 * step) / Math.max(1, maxSteps())}%`);
    this.canvas.setAttribute("aria-label", `${data.title}, ${episode.title}: step ${step}, return ${sum}`);
    for (const trace of this.traces) trace.show(step);
  }
}

// Whether a good part of the first frame is a light background. In a dark theme such a drawing is inverted; a picture
// would look wrong, and is only dimmed.
function isOnPaper(drawing) {
  const canvas = blankCanvas(48, 48);
  drawing.draw(canvas, 0);
  const { data } = canvas.getContext("2d").getImageData(0, 0, 48, 48);
  const paper = drawing.background(0).map((part) => part * 255);
  if (Math.min(...paper) < 200) return false;
  let same = 0;
  for (let i = 0; i < data.length; i += 4) same += paper.every((part, k) => Math.abs(part - data[i + k]) < 3);
  return same > 0.3 * 48 * 48;
}

const cards = episodes.map((episode) => new Card(episode));
const shownCards = () => (state.shown === null ? cards : [cards[state.shown]]);
const maxSteps = () => Math.max(...shownCards().map((card) => card.episode.steps));

// Gives a canvas as many pixels as the screen has in its place.
function observeSize(canvas, draw) {
  const resize = (width, height) => {
    if (canvas.width === width && canvas.height === height && canvas.sized) return;
    Object.assign(canvas, { width, height, sized: true });
    draw();
  };
  const observer = new ResizeObserver(([entry]) => {
    const exact = entry.devicePixelContentBoxSize?.[0];
    const [width, height] = [entry.contentRect.width, entry.contentRect.height].map((size) => size * devicePixelRatio);
    const isExact = exact && Math.abs(exact.inlineSize - width) <= 1; // an emulated screen reports another size
    resize(isExact ? exact.inlineSize : Math.round(width), isExact ? exact.blockSize : Math.round(height));
  });
  try {
    observer.observe(canvas, { box: "device-pixel-content-box" });
  } catch {
    observer.observe(canvas);
  }
}

function scrubOn(plot) {
  const follow = (event) => {
    const { left, width } = plot.getBoundingClientRect();
    pause();
    seek(Math.round(((event.clientX - left) / width) * maxSteps()));
  };
  plot.addEventListener("pointerdown", (event) => {
    plot.setPointerCapture(event.pointerId);
    follow(event);
  });
  plot.addEventListener("pointermove", (event) => {
    if (plot.hasPointerCapture(event.pointerId)) follow(event);
  });
}

function show() {
  const last = maxSteps();
  scrub.value = state.step;
  scrub.style.setProperty("--played", `calc(9px + (100% - 18px) * ${state.step / Math.max(1, last)})`);
  scrub.setAttribute("aria-valuetext", `step ${state.step} of ${last}`);
  clock.innerHTML = `<b>${state.step}</b> / ${last}`;
  for (const card of shownCards()) card.draw();
}

function seek(step) {
  Object.assign(state, { step: Math.min(Math.max(0, step), maxSteps()), rest: 0, fraction: 0 });
  show();
}

function play() {
  if (state.playing || !maxSteps()) return;
  if (state.step >= maxSteps()) seek(0);
  state.playing = true;
  showPlaying();
  let before = null;
  const tick = (now) => {
    if (!state.playing) return;
    advance(before === null ? 0 : Math.min(0.25, (now - before) / 1000));
    before = now;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

function advance(seconds) {
  if (state.step >= maxSteps()) {
    state.rest += seconds;
    if (!state.loop) pause();
    else if (state.rest >= END_PAUSE_SECONDS) seek(0);
    return;
  }
  state.fraction += seconds * data.fps * state.speed;
  const steps = Math.floor(state.fraction);
  if (!steps) return;
  state.fraction -= steps;
  state.step = Math.min(state.step + steps, maxSteps());
  show();
}

function pause() {
  if (!state.playing) return;
  state.playing = false;
  showPlaying();
}

function toggle() {
  if (state.playing) pause();
  else play();
}

function showPlaying() {
  const name = state.playing ? "Pause" : "Play";
  playButton.setAttribute("aria-label", name);
  playButton.title = `${name} (space)`;
  playButton.querySelector("use").setAttribute("href", state.playing ? "#icon-pause" : "#icon-play");
}

function setSpeed(speed) {
  state.speed = speed;
  speedMenu.value = speed;
}

function setLoop(loop) {
  state.loop = loop;
  loopButton.setAttribute("aria-pressed", loop);
}

function choose(shown) {
  state.shown = shown;
  main.replaceChildren(...shownCards().map((card) => card.element));
  const count = shownCards().length;
  main.dataset.shown = count;
  main.classList.toggle("dense", count > MAX_CARDS_WITH_TRACES);
  arrange();
  [...choice.children].forEach((button, i) => button.setAttribute("aria-pressed", i === (shown === null ? 0 : shown + 1)));
  const last = maxSteps();
  scrub.max = last;
  const ends = shownCards().map((card) => card.episode.steps);
  document.querySelector(".ends").replaceChildren(
    ...[...new Set(ends)].filter((end) => end < last).map((end) => {
      const mark = document.createElement("i");
      mark.style.left = `${(100 * end) / last}%`;
      return mark;
    }),
  );
  seek(state.step);
  for (const card of shownCards()) for (const trace of card.traces) trace.draw(last);
}

// Uses the smallest number of columns with which all cards fit on the screen. Where the frames leave room, the plots
// grow; where they do not fit in one row, the frames shrink.
function arrange() {
  const shown = shownCards();
  const [width, height] = [Math.min(innerWidth, 1440) - 40, innerHeight - 190];
  const [tallest] = shown.map((card) => card.episode.drawing.aspect).sort((a, b) => a - b);
  const dense = shown.length > MAX_CARDS_WITH_TRACES;
  const below = dense ? 86 : 133 + Math.max(0, ...shown.map((card) => card.plotHeight));
  const most = Math.max(1, Math.min(shown.length, Math.floor(width / 270)));
  const rows = (columns) => Math.ceil(shown.length / columns);
  const used = (columns) => rows(columns) * ((width / columns - 16) / tallest + below);
  let columns = 1;
  while (columns < most && used(columns) > height) columns++;
  const inNotebook = window !== window.parent; // there the page sets the height of its window
  const spare = inNotebook || dense ? 0 : (height - used(columns)) / rows(columns);
  const fitting = Math.min((height / rows(columns) - below) * tallest, 960);
  main.style.setProperty("--columns", columns);
  main.style.setProperty("--plot", `${Math.min(MIN_PLOT + Math.max(0, spare / 2), MAX_PLOT)}px`);
  main.style.setProperty("--fit", inNotebook || dense ? "100%" : `${Math.max(340, fitting)}px`);
}

function summarise() {
  document.querySelector("h1").textContent = data.title;
  const returns = episodes.map((episode) => episode.return);
  const mean = returns.reduce((sum, value) => sum + value, 0) / returns.length;
  document.querySelector(".summary").textContent =
    episodes.length > 1
      ? `${episodes.length} episodes, mean return ${shortNumber(mean)}`
      : `Return ${shortNumber(returns[0])} in ${episodes[0].steps} steps`;
  if (episodes.length === 1) return;
  choice.hidden = false;
  ["All", ...episodes.map((_, i) => i + 1)].forEach((label, i) => {
    const button = document.createElement("button");
    button.textContent = label;
    if (i) button.title = episodes[i - 1].title;
    button.addEventListener("click", () => choose(i ? i - 1 : null));
    choice.append(button);
  });
}

const KEYS = {
  " ": toggle,
  k: toggle,
  ArrowLeft: (event) => move(event.shiftKey ? -10 : -1),
  ArrowRight: (event) => move(event.shiftKey ? 10 : 1),
  Home: () => seek(0),
  End: () => seek(maxSteps()),
  "+": () => faster(1),
  "=": () => faster(1),
  "-": () => faster(-1),
  l: () => setLoop(!state.loop),
  "?": () => byId("shortcuts").showModal(),
  0: () => choose(null),
};

function move(steps) {
  pause();
  seek(state.step + steps);
}

function faster(by) {
  setSpeed(SPEEDS[Math.min(Math.max(0, SPEEDS.indexOf(state.speed) + by), SPEEDS.length - 1)]);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("shortcuts").open) return;
  const number = Number(event.key);
  const action = number >= 1 && number <= episodes.length ? () => choose(number - 1) : KEYS[event.key] ?? KEYS[event.key.toLowerCase()];
  if (!action || (event.target === speedMenu && event.key.startsWith("Arrow"))) return;
  if (event.key === " " && event.target instanceof HTMLButtonElement && event.target !== playButton) return;
  event.preventDefault();
  action(event);
});

playButton.addEventListener("click", toggle);
byId("back").addEventListener("click", () => move(-1));
byId("forward").addEventListener("click", () => move(1));
byId("help").addEventListener("click", () => byId("shortcuts").showModal());
loopButton.addEventListener("click", () => setLoop(!state.loop));
scrub.addEventListener("input", () => {
  pause();
  seek(Number(scrub.value));
});
speedMenu.append(...SPEEDS.map((speed) => new Option(`${speed}×`, speed)));
speedMenu.addEventListener("change", () => setSpeed(Number(speedMenu.value)));
window.addEventListener("resize", arrange);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => choose(state.shown));

summarise();
setSpeed(1);
choose(null);

// In a notebook the page is in an iframe, and sets the height of that iframe to its own.
try {
  const frame = window.frameElement;
  if (frame) {
    document.documentElement.classList.add("framed");
    new ResizeObserver(() => (frame.style.height = `${document.body.offsetHeight}px`)).observe(document.body);
  }
} catch {
  // the notebook has another origin: the iframe keeps its height
}

// The interface for pages that embed this one.
window.replay = {
  play,
  pause,
  seek,
  get step() {
    return state.step;
  },
  get playing() {
    return state.playing;
  },
  draw(canvas, episode, step) {
    episodes[episode].drawing.draw(canvas, step);
  },
};

if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play();
