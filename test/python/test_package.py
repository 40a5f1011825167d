# SPDX-License-Identifier: MIT
"""The package as it is installed: its types, its wheel."""
import os
import re
import shutil
import subprocess
import sys
import zipfile

import holdfast
import pytest
from conftest import PACKAGE, SOURCE

USER = """
from datetime import timedelta
from typing import Optional

import holdfast


def work(client: holdfast.Client) -> int:
    with client.lock("x", wait=timedelta(seconds=1)) as lock:
        token: int = lock.token
    place: holdfast.Place = client.list("x")[0]
    left: Optional[float] = place.lease
    return token


async def more(client: holdfast.Client) -> bool:
    async with client.multi("a", "b") as both:
        reveal_type(both.tokens)
    return await client.semaphore("s").try_acquire_async()
"""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    if not shutil.which("mypy"):
        pytest.skip("mypy is not installed")
    cache = tmp_path_factory.mktemp("mypy")

    def run(*args, **options):
        return subprocess.run(["mypy", "--strict", f"--cache-dir={cache}",
                               *args],
                              capture_output=True, text=True, **options)

    return run


def test_the_types_are_complete(mypy):
    done = mypy("holdfast", cwd=PACKAGE)
    assert done.returncode == 0, done.stdout


def test_who_uses_it_is_checked(mypy, folder):
    (folder / "user.py").write_text(USER)
    environment = {**os.environ, "MYPYPATH": str(PACKAGE)}
    done = mypy("user.py", cwd=folder, env=environment)
    assert done.returncode == 0, done.stdout
    assert "Tuple[builtins.int, ...]" in done.stdout.replace("tuple", "Tuple")
    (folder / "user.py").write_text(USER.replace('lock.token', 'lock.tokens'))
    done = mypy("user.py", cwd=folder, env=environment)
    assert '"tokens"' in done.stdout


def test_versions_agree():
    header = (SOURCE / "include/holdfast.h").read_text()
    version = re.search(r'HF_VERSION\s+"(.*?)"', header).group(1)
    project = (PACKAGE / "pyproject.toml").read_text()
    assert f'\nversion = "{version}"\n' in project
    assert holdfast.__version__ == version


def test_the_wheel_is_pure_and_works(folder, store):
    for module in ("pip", "venv", "ensurepip", "setuptools", "wheel"):
        if subprocess.run([sys.executable, "-c", f"import {module}"],
                          capture_output=True).returncode:
            pytest.skip(f"{sys.executable} has no {module}")
    source = folder / "source"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns(
        "__pycache__", "build", "*.egg-info"))
    environment = {**os.environ, "PIP_NO_INPUT": "1", "PYTHONPATH": ""}

    def run(*command):
        done = subprocess.run(command, capture_output=True, text=True,
                              env=environment, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    quiet = ("--no-index", "--no-deps", "--disable-pip-version-check", "-q")
    run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", *quiet,
        "-w", str(folder), str(source))
    (wheel,) = folder.glob("*.whl")
    assert wheel.name == "holdfast-1.0.0-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    for file in (PACKAGE / "holdfast").iterdir():
        if file.suffix in (".py", ".typed"):
            assert f"holdfast/{file.name}" in names
    run(sys.executable, "-m", "venv", "--without-pip", str(folder / "venv"))
    python = str(folder / "venv/bin/python")
    run(sys.executable, "-m", "pip", f"--python={python}", "install", *quiet,
        str(wheel))
    out = run(python, "-c", "import holdfast\n"
              "with holdfast.lock('x') as lock: print(lock.held)\n"
              "print(holdfast.__file__)")
    held, where = out.split()
    assert held == "True" and where.startswith(str(folder / "venv"))
