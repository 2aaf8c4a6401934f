// Rewards and actions as small plots below a frame. Step i lies between the frames i - 1 and i.

const MAX_LANES = 10;
const MAX_LINES = 3; // more columns have a row each

function formatNumber(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  if (Number.isInteger(value)) return String(value).replace("-", "−");
  const digits = Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
  const text = value.toFixed(digits);
  return (Number(text) === 0 ? "0" : text).replace("-", "−");
}

// Formats a number without trailing zeros.
function shortNumber(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  const text = Number(value.toPrecision(4)).toString();
  return (text.length > 7 ? value.toPrecision(2) : text).replaceAll("-", "−").replace("e+", "e");
}

// One plot: its name, the values at the current step, and all values, drawn once per size and theme.
class Trace {
  constructor(name, kind, columns, [low, high], numSteps, names = []) {
    this.kind = kind; // "area", "lines", "lanes" or "row"
    this.columns = columns;
    this.numSteps = numSteps;
    this.names = names; // of the lanes, or of the columns
    [this.low, this.high] = low === high ? [low - (low === 0 ? 0 : 1), high + 1] : [low, high];
    this.element = document.getElementById("trace").content.firstElementChild.cloneNode(true);
    const find = (part) => this.element.querySelector(`.${part}`);
    find("name").textContent = name;
    this.values = columns.map((_, i) => {
      const value = document.createElement("span");
      if (columns.length > 1) value.style.color = `var(--series-${i})`;
      find("values").append(value);
      return value;
    });
    this.canvas = find("plot").querySelector("canvas");
    if (kind === "lanes") {
      this.element.classList.add("lanes");
      this.element.style.setProperty("--lanes", high - low + 1);
      for (let lane = high; lane >= low; lane--) find("axis").append(labelled(this.format(lane)));
    } else if (kind === "row") {
      this.element.classList.add("row");
      find("name").title = name;
    } else {
      find("axis").append(labelled(shortNumber(this.high)), labelled(shortNumber(this.low)));
    }
  }

  // The height of the plot in pixels where there is little room, as in player.css.
  get leastHeight() {
    if (this.kind === "row") return 24;
    return this.kind === "lanes" ? 14 * Math.max(2, this.high - this.low + 1) : 46;
  }

  show(step) {
    this.values.forEach((value, i) => {
      const shown = step > 0 ? this.format(rounded(this.columns[i][Math.min(step, this.numSteps) - 1])) : "–";
      value.textContent = this.kind === "lines" && this.names[i] ? `${this.names[i]} ${shown}` : shown;
    });
  }

  format(value) {
    return (this.kind === "lanes" && this.names[value - this.low]) || formatNumber(value);
  }

  draw(maxSteps) {
    const { canvas } = this;
    const { width, height } = canvas;
    if (!width || !height || !maxSteps) return;
    const context = canvas.getContext("2d");
    const style = getComputedStyle(canvas);
    const ratio = width / canvas.clientWidth;
    context.clearRect(0, 0, width, height);
    const place = { x: (step) => (step / maxSteps) * width, width, height, ratio };
    if (this.kind === "lanes") this.drawLanes(context, place, style);
    else this.drawLines(context, place, style);
  }

  drawLanes(context, { x, width, height, ratio }, style) {
    const lanes = this.high - this.low + 1;
    const gap = lanes > 1 ? ratio : 0;
    const size = (height - gap * (lanes - 1)) / lanes;
    const top = (value) => (this.high - value) * (size + gap);
    context.fillStyle = style.getPropertyValue("--lane");
    for (let lane = this.low; lane <= this.high; lane++) context.fillRect(0, top(lane), width, size);
    context.fillStyle = style.getPropertyValue("--series-0");
    const values = this.columns[0];
    for (let i = 0; i < this.numSteps; i++) {
      const start = i;
      while (i + 1 < this.numSteps && values[i + 1] === values[start]) i++;
      context.fillRect(x(start), top(values[start]), x(i + 1) - x(start), size);
    }
  }

  drawLines(context, { x, width, height, ratio }, style) {
    const margin = 2 * ratio;
    const y = (value) => margin + ((this.high - value) / (this.high - this.low)) * (height - 2 * margin);
    context.fillStyle = style.getPropertyValue("--line");
    if (this.low <= 0 && this.high >= 0) context.fillRect(0, y(0) - ratio / 2, width, ratio);
    this.columns.forEach((values, column) => {
      const color = style.getPropertyValue(`--series-${column}`);
      context.beginPath();
      for (let i = 0; i < this.numSteps; i++) {
        context.lineTo(x(i), y(values[i]));
        context.lineTo(x(i + 1), y(values[i]));
      }
      context.lineWidth = 1.5 * ratio;
      context.lineJoin = "round";
      context.strokeStyle = color;
      context.stroke();
      if (this.kind !== "area") return;
      context.lineTo(x(this.numSteps), y(0));
      context.lineTo(0, y(0));
      context.globalAlpha = 0.18;
      context.fillStyle = color;
      context.fill();
      context.globalAlpha = 1;
    });
  }
}

function labelled(text) {
  const label = document.createElement("span");
  label.textContent = text;
  return label;
}

// Rounds a float32 number to its shortest form.
const rounded = (value) => (value === null ? null : Number(value.toPrecision(6)));

function makeTraces(episode) {
  const column = (series, index) => Array.from({ length: episode.steps }, (_, i) => series.at(i)[index]);
  const rewards = column(episode.reward, 0);
  const finite = rewards.filter(Number.isFinite);
  const rewardRange = [rounded(finite.reduce((a, b) => Math.min(a, b), 0)), rounded(finite.reduce((a, b) => Math.max(a, b), 0))];
  const traces = [new Trace("Reward", "area", [rewards], rewardRange, episode.steps)];
  const { actions } = episode;
  if (actions) {
    const columns = Array.from({ length: actions.width }, (_, i) => column(actions.values, i));
    const lanes = actions.kind === "discrete" && actions.width === 1 && actions.high - actions.low < MAX_LANES;
    const name = actions.hidden ? `Action (${actions.width} of ${actions.width + actions.hidden})` : "Action";
    const range = [actions.low, actions.high];
    if (columns.length > MAX_LINES) {
      const rows = columns.map((one, i) => new Trace(actions.names[i] || String(i), "row", [one], range, episode.steps));
      rows[0].element.dataset.heading = `${name}, ${shortNumber(actions.low)} to ${shortNumber(actions.high)}`;
      traces.push(...rows);
    } else {
      traces.push(new Trace(name, lanes ? "lanes" : "lines", columns, range, episode.steps, actions.names));
    }
  }
  return traces;
}
