"""A page in headless Chromium, controlled with the DevTools protocol over two pipes.

Environment: SHOAL_CHROMIUM is the browser's program.
"""

import fcntl
import json
import os
import select
import subprocess
import tempfile
import time
from pathlib import Path

ARGUMENTS = [
    "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
    "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
]  # fmt: skip
TIMEOUT = 60  # seconds


def pipe():
    """Returns [reading end, writing end], both 10 or more: the browser uses descriptors 3 and 4."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return high


class Browser:
    """Starts the browser; close() ends it."""

    def __init__(self):
        self.problems = []  # uncaught errors, console messages, violations of the page's policy
        self.requests = []  # URLs that the page requested, without data URLs
        self._received = b""
        self._answers = {}
        self._loaded = False
        self._last_id = 0
        self._session = None
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self._send = pipe()
        self._receive, answers = pipe()
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash",
             os.environ["SHOAL_CHROMIUM"], *ARGUMENTS, f"--user-data-dir={self._profile.name}",
             "about:blank"],
            pass_fds=[commands, answers], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(commands)
        os.close(answers)
        pages = [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        self._session = self.call(
            "Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True
        )["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(domain + ".enable")

    def close(self):
        self._process.kill()
        self._process.wait()
        os.close(self._send)
        os.close(self._receive)
        self._profile.cleanup()

    def call(self, method, **parameters):
        """Calls a method of the protocol and returns its result."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        number = self._last_id
        self._wait(lambda: number in self._answers, method)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, page):
        """Opens a file or URL and waits until it is loaded."""
        self.problems.clear()
        self.requests.clear()
        self._loaded = False
        url = page.resolve().as_uri() if isinstance(page, Path) else page
        self.call("Page.navigate", url=url)
        self._wait(lambda: self._loaded, "loading " + url)

    def evaluate(self, script):
        """Returns the value of a JavaScript expression, which may be a promise."""
        result = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def until(self, script):
        """Waits until a JavaScript expression is true."""
        end = time.monotonic() + TIMEOUT
        while not self.evaluate(script):
            if time.monotonic() > end:
                raise TimeoutError(script)
            self._pump(0.05)

    def window(self, width, height=900, dark=False):
        """Sets the size of the window in CSS pixels, and the color scheme."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def _wait(self, done, what):
        end = time.monotonic() + TIMEOUT
        while not done():
            if time.monotonic() > end:
                raise TimeoutError(what)
            self._pump(1)

    # Waits up to `seconds` for messages from the browser, and handles them.
    def _pump(self, seconds):
        if not select.select([self._receive], [], [], seconds)[0]:
            return
        part = os.read(self._receive, 1 << 20)
        if not part:
            raise RuntimeError(f"the browser ended with {self._process.wait()}")
        *messages, self._received = (self._received + part).split(b"\0")
        for message in messages:
            self._handle(json.loads(message))

    def _handle(self, message):
        method, values = message.get("method"), message.get("params", {})
        if "id" in message:
            self._answers[message["id"]] = message
        elif method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            details = values["exceptionDetails"]
            self.problems.append(details.get("exception", details).get("description", str(details)))
        elif method == "Runtime.consoleAPICalled":
            texts = [str(a.get("value", a.get("description"))) for a in values["args"]]
            self.problems.append(values["type"] + ": " + " ".join(texts))
        elif method == "Log.entryAdded":
            self.problems.append(values["entry"]["level"] + ": " + values["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            if not values["request"]["url"].startswith("data:"):
                self.requests.append(values["request"]["url"])
