"""A headless Chromium, driven over the WebDriver protocol (W3C)."""

import base64
import io
import json
import shutil
import subprocess
import urllib.error
import urllib.request

import numpy as np
import pytest
from PIL import Image

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
CHROMEDRIVER = shutil.which("chromedriver") or shutil.which("chromium.chromedriver")
WITHOUT_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Browser:
    """One window."""

    def __init__(self, port):
        self.root = f"http://127.0.0.1:{port}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        always = {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"binary": CHROMIUM, "args": arguments},
        }
        session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": always}})
        self.root += f"/session/{session['sessionId']}"

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.root + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with WITHOUT_PROXY.open(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def open(self, path):
        self.errors()  # forget those of the page before
        self._call("POST", "/url", {"url": path.as_uri()})

    def run(self, script, *arguments):
        """Return the value of a script, after waiting for a promise."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def screenshot(self, selector=None):
        """Pixels of the window, or of the part of it that the element of a CSS selector covers."""
        whole = decode_image(self._call("GET", "/screenshot"))
        if selector is None:
            return whole
        box = self.run(
            "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
            "return [box.top, box.bottom, box.left, box.right].map(edge => Math.round(edge * devicePixelRatio))",
            selector,
        )
        return whole[box[0] : box[1], box[2] : box[3]]

    def press(self, key):
        keys = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": keys}]})

    def drag(self, selector, start, end):
        """Press the pointer at a fraction of an element's width, and let go at another."""
        box = self.run("return document.querySelector(arguments[0]).getBoundingClientRect()", selector)
        y = round(box["top"] + box["height"] / 2)
        moves = [
            {"type": "pointerMove", "x": round(box["left"] + at * box["width"]), "y": y, "duration": 0}
            for at in (start, end)
        ]
        actions = [moves[0], {"type": "pointerDown", "button": 0}, moves[1], {"type": "pointerUp", "button": 0}]
        pointer = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}
        self._call("POST", "/actions", {"actions": [pointer]})

    def let_move(self):
        """Take back the wish for less motion, from the next page on."""
        self._devtools("Emulation.setEmulatedMedia", {"features": []})

    def look(self, width=1200, height=900, dark=False, ratio=1, mobile=False):
        """Return the kind of screen and its theme."""
        size = {"width": width, "height": height, "deviceScaleFactor": ratio, "mobile": mobile}
        self._devtools("Emulation.setDeviceMetricsOverride", size)
        theme = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"},  # nothing plays by itself
        ]
        self._devtools("Emulation.setEmulatedMedia", {"features": theme})

    def errors(self):
        """Return what the console was told since the last call."""
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def close(self):
        self._call("DELETE", "")

    def _devtools(self, command, parameters):
        self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})


def decode_image(text):
    """Pixels of an image file in base64."""
    return np.array(Image.open(io.BytesIO(base64.b64decode(text))).convert("RGB"))


@pytest.fixture(scope="session")
def browser():
    """Open a browser window for all tests."""
    if CHROMIUM is None or CHROMEDRIVER is None:
        pytest.skip("NO BROWSER: the pages are not tested; install it: apt-get install chromium chromium-driver")
    driver, port = _start_driver()
    with driver:
        try:
            window = Browser(port)
            yield window
            window.close()
        finally:
            driver.terminate()
            driver.stdout.read()


def _start_driver(attempts=5):
    """Return a process of ChromeDriver and its port.

    It draws a port for IPv4 and needs the same for IPv6, so that it ends where another process has taken that one.
    """
    said = ""
    for _ in range(attempts):
        driver = subprocess.Popen(
            [CHROMEDRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for line in driver.stdout:
            said += line
            if "started successfully on port" in line:
                return driver, int(line.split()[-1].rstrip("."))
        said += f"(exit {driver.wait()})\n"
        driver.stdout.close()
    raise RuntimeError(f"ChromeDriver did not start in {attempts} attempts; it said:\n{said}")
