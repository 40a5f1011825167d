# SPDX-License-Identifier: MIT
"""The examples on the pages run, as they stand there."""
import re

import pytest
from conftest import DEADLINE, SOURCE

PAGES = ["docs/python.md", "README.md", "python/README.md"]


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page, python, store, folder):
    text = (SOURCE / page).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert blocks, f"{page} has no example"
    done = python("\n".join(blocks), cwd=folder)
    out, _ = done.communicate(timeout=DEADLINE)
    assert done.returncode == 0, out
    if page == "docs/python.md":
        assert "ours, with token" in out and "for us to run" in out
        assert sorted(re.findall(r"task \d", out)) == [
            "task 0", "task 1", "task 2"]
        assert (folder / "report.csv").read_text() == "all of it\n"


def test_every_error_stands_on_the_page():
    import holdfast

    page = (SOURCE / "docs/python.md").read_text()
    for name in holdfast.__all__:
        known = getattr(holdfast, name)
        if isinstance(known, type) and issubclass(known, holdfast.Error):
            assert f"`{name}`" in page or f"`holdfast.{name}`" in page
