// Draws shapes made of texels, as funcenv/scene/sprites.py does: every pixel is the mean of the texels under it.

const [GLYPH_ROWS, GLYPH_COLUMNS, ADVANCE, CAPITAL_ROWS] = [9, 5, 6, 7];

// Divides an interval into `count` equal parts and returns, for each pixel that it reaches, which parts overlap the
// pixel and how much of the pixel each part covers.
function overlaps(start, length, count, limit) {
  const first = Math.max(0, Math.floor(start));
  const last = Math.min(limit, Math.ceil(start + length));
  const pixels = [];
  for (let pixel = first; pixel < last; pixel++) {
    const from = Math.max(0, Math.floor(((pixel - start) / length) * count));
    const to = Math.min(count - 1, Math.floor(((pixel + 1 - start) / length) * count));
    const weights = [];
    for (let part = from; part <= to; part++) {
      const begin = Math.max(pixel, start + (length * part) / count);
      const end = Math.min(pixel + 1, start + (length * (part + 1)) / count);
      weights.push(Math.max(0, end - begin));
    }
    pixels.push({ from, weights });
  }
  return { first, pixels };
}

function drawTexels(context, view, image, rows, columns, box, alpha, slot) {
  if (!(alpha > 0) || !(box.width > 0) || !(box.height > 0)) return;
  const key = [box.left, box.top, box.width, box.height, view.width, view.height].map((x) => x.toFixed(3)).join();
  if (slot.key !== key || slot.drawnRow !== slot.row) {
    slot.key = key;
    slot.drawnRow = slot.row;
    slot.drawn = resample(image, rows, columns, box, view);
  }
  if (!slot.drawn) return;
  context.globalAlpha = Math.min(1, alpha);
  context.drawImage(slot.drawn.canvas, slot.drawn.left, slot.drawn.top);
  context.globalAlpha = 1;
}

// Resamples columns, then rows. Colours are weighted by opacity, so transparent texels contribute none.
function resample(image, rows, columns, box, view) {
  const across = overlaps(box.left, box.width, columns, view.width);
  const down = overlaps(box.top, box.height, rows, view.height);
  const [width, height] = [across.pixels.length, down.pixels.length];
  if (!width || !height) return null;
  const narrow = new Float32Array(rows * width * 4);
  for (let row = 0; row < rows; row++) {
    for (let x = 0; x < width; x++) {
      const { from, weights } = across.pixels[x];
      const target = (row * width + x) * 4;
      for (let i = 0; i < weights.length; i++) {
        const source = (row * columns + from + i) * 4;
        const weight = weights[i] * image[source + 3];
        narrow[target] += weight * image[source];
        narrow[target + 1] += weight * image[source + 1];
        narrow[target + 2] += weight * image[source + 2];
        narrow[target + 3] += weight;
      }
    }
  }
  const canvas = blankCanvas(width, height);
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(width, height);
  for (let y = 0; y < height; y++) {
    const { from, weights } = down.pixels[y];
    for (let x = 0; x < width; x++) {
      const sums = [0, 0, 0, 0];
      for (let i = 0; i < weights.length; i++) {
        const source = ((from + i) * width + x) * 4;
        for (let channel = 0; channel < 4; channel++) sums[channel] += weights[i] * narrow[source + channel];
      }
      const target = (y * width + x) * 4;
      const covered = sums[3];
      for (let channel = 0; channel < 3; channel++) {
        pixels.data[target + channel] = covered > 0 ? Math.round(sums[channel] / covered) : 0;
      }
      pixels.data[target + 3] = Math.round(covered);
    }
  }
  context.putImageData(pixels, 0, 0);
  return { canvas, left: across.first, top: down.first };
}

// Draws all characters as one path, so that there is no seam between neighbouring texels.
function drawText(context, view, field, anchor) {
  const codes = field("codes");
  const [x, y] = field("position");
  const texel = (field("height")[0] * view.scale) / CAPITAL_ROWS;
  if (!(texel > 0)) return;
  const inked = codes.length * ADVANCE - 1;
  const left = view.x(x) - { left: 0, center: inked / 2, right: inked }[anchor] * texel;
  const top = view.y(y) - (CAPITAL_ROWS / 2) * texel;
  context.beginPath();
  codes.forEach((code, character) => {
    const glyph = Math.min(Math.max(code - 32, 0), 94);
    for (let row = 0; row < GLYPH_ROWS; row++) {
      const bits = view.font[glyph * GLYPH_ROWS + row];
      for (let column = 0; column < GLYPH_COLUMNS; column++) {
        const start = column;
        while (column < GLYPH_COLUMNS && bits & (16 >> column)) column++;
        if (column === start) continue;
        context.rect(
          left + (character * ADVANCE + start) * texel,
          top + row * texel,
          (column - start) * texel,
          texel,
        );
      }
    }
  });
  context.fillStyle = css(field("color"));
  context.fill();
}
