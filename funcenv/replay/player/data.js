// Decodes the JSON that funcenv/replay/html.py writes.

const ARRAYS = { f: Float32Array, i: Int32Array, u: Uint16Array, b: Uint8Array };

// Numbers for each step: the base, with some columns replaced by the row of the step.
class Series {
  constructor(encoded, numbers) {
    this.base = numbers(encoded.base);
    this.size = this.base.length;
    this.rows = encoded.rows ? numbers(encoded.rows) : null;
    this.which = encoded.at ? numbers(encoded.at) : null;
    this.moving = encoded.moving ?? null;
    this.width = this.moving ? this.moving.length : this.size;
    this.scratch = this.moving ? Float32Array.from(this.base) : null;
  }

  get constant() {
    return this.rows === null;
  }

  // The index of the row of a step. Steps with the same row have the same numbers.
  row(step) {
    if (this.rows === null) return 0;
    return this.which ? this.which[step] : Math.min(step, this.rows.length / this.width - 1);
  }

  at(step) {
    if (this.rows === null) return this.base;
    const start = this.row(step) * this.width;
    if (!this.moving) return this.rows.subarray(start, start + this.width);
    for (let i = 0; i < this.width; i++) this.scratch[this.moving[i]] = this.rows[start + i];
    return this.scratch;
  }
}

function decode(data) {
  const blobs = [];
  const numbers = (written) => {
    if (typeof written[0] !== "string") return Float32Array.from(written);
    const [kind, number] = written;
    if (!blobs[number]) {
      const bytes = Uint8Array.from(atob(data.blobs[number]), (character) => character.charCodeAt(0));
      blobs[number] = new ARRAYS[kind](bytes.buffer);
    }
    return blobs[number];
  };
  const font = Uint8Array.from(data.font.match(/../g), (pair) => parseInt(pair, 16));
  return data.episodes.map((episode) => {
    const series = (encoded) => new Series(encoded, numbers);
    const reward = series(episode.reward);
    const sums = new Float64Array(episode.steps + 1);
    for (let i = 0; i < episode.steps; i++) sums[i + 1] = sums[i] + reward.at(i)[0];
    return {
      ...episode,
      reward,
      sums,
      actions: episode.actions && { ...episode.actions, values: series(episode.actions.values) },
      drawing: new Drawing(data.scenes[episode.scene], episode.leaves.map(series), font),
    };
  });
}
