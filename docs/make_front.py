"""Writes the animation of the front page, docs/assets/front.webp: several environments side by side.

    python docs/make_front.py

The tiles are the animations of the gallery (docs/make_gallery.py), which are drawn from the environments' own scenes.
"""

from __future__ import annotations

import pathlib

from PIL import Image, ImageSequence

ASSETS = pathlib.Path(__file__).resolve().parent / "assets"
TILES = (
    *("LunarLander-v3", "BipedalWalker-v3", "Ant-v5", "CarRacing-v3"),
    *("CartPole-v1", "arcade-Pong-v0", "Taxi-v4", "Humanoid-v5"),
)
COLUMNS, TILE, GAP = 4, (168, 132), 4  # size of a tile and space between two [pixels]
NUM_FRAMES, MILLISECONDS = 72, 70  # frames, and the duration of each


def frames_of(name: str) -> list[Image.Image]:
    """Return the frames of an animation, each cut to the shape of a tile."""
    with Image.open(ASSETS / "gallery" / f"{name}.gif") as animation:
        return [cut(frame.convert("RGB")) for frame in ImageSequence.Iterator(animation)]


def cut(image: Image.Image) -> Image.Image:
    """Return the middle of an image, in the shape of a tile."""
    width, height = image.size
    scale = max(TILE[0] / width, TILE[1] / height)
    resized = image.resize((round(width * scale), round(height * scale)), Image.Resampling.LANCZOS)
    left, top = (resized.width - TILE[0]) // 2, (resized.height - TILE[1]) // 2
    return resized.crop((left, top, left + TILE[0], top + TILE[1]))


def main() -> None:
    """Write the animation."""
    tiles = [frames_of(name) for name in TILES]
    rows = -(-len(tiles) // COLUMNS)
    size = COLUMNS * (TILE[0] + GAP) - GAP, rows * (TILE[1] + GAP) - GAP
    frames = []
    for index in range(NUM_FRAMES):
        canvas = Image.new("RGB", size, "#22324a")
        for place, tile in enumerate(tiles):
            row, column = divmod(place, COLUMNS)
            canvas.paste(tile[index % len(tile)], (column * (TILE[0] + GAP), row * (TILE[1] + GAP)))
        frames.append(canvas)
    path = ASSETS / "front.webp"
    settings = {"save_all": True, "append_images": frames[1:], "duration": MILLISECONDS, "loop": 0}
    frames[0].save(path, quality=72, method=6, minimize_size=False, **settings)
    print(f"{path.name}: {size[0]} x {size[1]}, {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
