// Draws the shapes of funcenv/scene on a canvas, with the same geometry, camera and order of painting.

const css = (color) =>
  `rgba(${Math.round(color[0] * 255)},${Math.round(color[1] * 255)},${Math.round(color[2] * 255)},${+color[3].toFixed(5)})`;

// Each function takes the canvas context, the view (world to pixels) and the fields of the shape.
const SHAPES = {
  Circle(context, view, field) {
    const [x, y] = field("center");
    context.beginPath();
    context.arc(view.x(x), view.y(y), Math.max(0, field("radius")[0] * view.scale), 0, 2 * Math.PI);
    fillAndOutline(context, view, field);
  },

  Rectangle(context, view, field) {
    const [x, y] = field("center");
    const [width, height] = Array.from(field("size"), (size) => Math.max(0, size * view.scale));
    const corner = (field("corner_radius")?.[0] ?? 0) * view.scale;
    context.save();
    context.translate(view.x(x), view.y(y));
    context.rotate(-(field("angle")?.[0] ?? 0));
    context.beginPath();
    if (corner > 0 && context.roundRect) {
      context.roundRect(-width / 2, -height / 2, width, height, Math.min(corner, width / 2, height / 2));
    } else {
      context.rect(-width / 2, -height / 2, width, height);
    }
    fillAndOutline(context, view, field);
    context.restore();
  },

  Line(context, view, field, node) {
    const [x1, y1] = field("start");
    const [x2, y2] = field("end");
    const width = field("width")[0] * view.scale;
    if (!(width > 0)) return;
    const round = node.cap === "round";
    if (x1 === x2 && y1 === y2) {
      if (round) dot(context, view.x(x1), view.y(y1), width, field("color"));
      return;
    }
    context.beginPath();
    context.moveTo(view.x(x1), view.y(y1));
    context.lineTo(view.x(x2), view.y(y2));
    stroke(context, width, field("color"), node.cap);
  },

  Arc(context, view, field) {
    const [x, y] = field("center");
    const [radius, start, sweep, width] = ["radius", "start", "sweep", "width"].map((name) => field(name)[0]);
    if (!(width > 0)) return;
    const size = Math.max(0, radius * view.scale);
    if (Math.abs(sweep) * size < 1e-3) {
      const [endX, endY] = [x + radius * Math.cos(start), y + radius * Math.sin(start)];
      dot(context, view.x(endX), view.y(endY), width * view.scale, field("color"));
      return;
    }
    context.beginPath();
    if (Math.abs(sweep) >= 2 * Math.PI) {
      context.arc(view.x(x), view.y(y), size, 0, 2 * Math.PI);
      context.closePath();
    } else {
      context.arc(view.x(x), view.y(y), size, -start, -(start + sweep), sweep > 0);
    }
    stroke(context, width * view.scale, field("color"), "round");
  },

  Polygon(context, view, field) {
    const points = field("points");
    context.beginPath();
    for (let i = 0; i < points.length; i += 2) context.lineTo(view.x(points[i]), view.y(points[i + 1]));
    context.closePath();
    fillAndOutline(context, view, field);
  },

  Terrain(context, view, field) {
    const heights = field("heights");
    const [left, right] = [field("left")[0], field("right")[0]];
    const surface = (context) => {
      context.moveTo(Math.min(0, view.x(left)) - view.width, view.y(heights[0]));
      heights.forEach((height, i) =>
        context.lineTo(view.x(left + ((right - left) * i) / (heights.length - 1)), view.y(height)),
      );
      context.lineTo(Math.max(view.width, view.x(right)) + view.width, view.y(heights[heights.length - 1]));
    };
    context.beginPath();
    surface(context);
    const bottom = Math.max(view.height, ...Array.from(heights, (height) => view.y(height))) + view.height;
    context.lineTo(Math.max(view.width, view.x(right)) + view.width, bottom);
    context.lineTo(Math.min(0, view.x(left)) - view.width, bottom);
    context.closePath();
    context.fillStyle = css(field("color"));
    context.fill();
    if (field("outline")) {
      context.beginPath();
      surface(context);
      outline(context, view, field);
    }
  },

  Sprite(context, view, field, node, slot) {
    const [x, y] = field("center");
    const [width, height] = Array.from(field("size"), (size) => size * view.scale);
    const box = { left: view.x(x) - width / 2, top: view.y(y) - height / 2, width, height };
    drawTexels(context, view, field("image"), node.rows, node.columns, box, field("alpha")[0], slot);
  },

  Text(context, view, field, node) {
    drawText(context, view, field, node.anchor);
  },
};

function fillAndOutline(context, view, field) {
  context.fillStyle = css(field("color"));
  context.fill();
  if (field("outline")) outline(context, view, field);
}

function outline(context, view, field) {
  const width = (field("outline_width")?.[0] ?? 0) * view.scale;
  if (width > 0) stroke(context, width, field("outline"), "butt");
}

function stroke(context, width, color, cap) {
  context.lineWidth = width;
  context.lineCap = cap;
  context.lineJoin = "round";
  context.strokeStyle = css(color);
  context.stroke();
}

function dot(context, x, y, width, color) {
  context.beginPath();
  context.arc(x, y, width / 2, 0, 2 * Math.PI);
  context.fillStyle = css(color);
  context.fill();
}

// Draws the frames of one episode. The shapes before the first one that moves are painted once per size.
class Drawing {
  constructor(structure, series, font) {
    this.structure = structure;
    this.series = series;
    this.font = font;
    this.slots = new Map(); // the latest resampled image of each sprite
    const { camera, background, shapes } = structure;
    const worldIsStill = [...Object.values(camera), background].every((leaf) => series[leaf].constant);
    const moves = shapes.findIndex((node) => !isStill(node, series));
    this.still = !worldIsStill ? 0 : moves < 0 ? shapes.length : moves; // number of shapes in the backdrop
    this.backdrop = null;
  }

  get aspect() {
    const { width, height } = this.structure.camera;
    return this.series[width].at(0)[0] / this.series[height].at(0)[0];
  }

  background(step) {
    return Array.from(this.series[this.structure.background].at(step).slice(0, 3));
  }

  draw(canvas, step) {
    const { width, height } = canvas;
    if (!width || !height) return;
    const context = canvas.getContext("2d", { alpha: false });
    const view = this.view(step, width, height);
    let first = 0;
    if (this.still > 0) {
      if (this.backdrop?.width !== width || this.backdrop?.height !== height) {
        this.backdrop = blankCanvas(width, height);
        this.paint(this.backdrop.getContext("2d", { alpha: false }), view, step, 0, this.still);
      }
      context.drawImage(this.backdrop, 0, 0);
      first = this.still;
    }
    this.paint(context, view, step, first, this.structure.shapes.length);
  }

  // Pixels are square: a canvas of other proportions than the camera shows more of the world around it.
  view(step, width, height) {
    const camera = Object.fromEntries(
      Object.entries(this.structure.camera).map(([name, leaf]) => [name, Array.from(this.series[leaf].at(step))]),
    );
    const scale = 1 / Math.max(camera.width[0] / width, camera.height[0] / height);
    const [centerX, centerY] = camera.center;
    const x = (world) => (world - centerX) * scale + width / 2;
    const y = (world) => height / 2 - (world - centerY) * scale;
    return { x, y, scale, width, height, font: this.font };
  }

  paint(context, view, step, first, last) {
    if (first === 0) {
      context.fillStyle = css([...this.background(step), 1]);
      context.fillRect(0, 0, view.width, view.height);
    }
    for (let i = first; i < last; i++) this.paintShape(context, view, step, this.structure.shapes[i], 0, 1, `${i}`);
  }

  // Paints shape `index` of `total` shapes whose numbers are stored one after another.
  paintShape(context, view, step, node, index, total, name) {
    if (node.kind === "Repeat") {
      for (let i = 0; i < node.count; i++) {
        const own = index * node.count + i;
        this.paintShape(context, view, step, node.of, own, total * node.count, `${name}.${i}`);
      }
      return;
    }
    const field = (key) => {
      if (node[key] === null || node[key] === undefined) return null;
      const values = this.series[node[key]].at(step);
      const size = values.length / total;
      return total === 1 ? values : values.subarray(index * size, (index + 1) * size);
    };
    if (field("color")?.[3] <= 0 && !field("outline")) return;
    let slot = null;
    if (node.kind === "Sprite") {
      if (!this.slots.has(name)) this.slots.set(name, {});
      slot = this.slots.get(name);
      slot.row = this.series[node.image].row(step);
    }
    SHAPES[node.kind](context, view, field, node, slot);
  }
}

const NO_LEAF = new Set(["kind", "cap", "anchor", "rows", "columns", "count"]);

function isStill(node, series) {
  if (node.kind === "Repeat") return isStill(node.of, series);
  return Object.entries(node).every(([key, leaf]) => NO_LEAF.has(key) || leaf === null || series[leaf].constant);
}

function blankCanvas(width, height) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  return canvas;
}
