# SPDX-License-Identifier: MIT
"""Finding the library, and one of another age."""
import ctypes
import os
import shutil
import subprocess
import sys

import holdfast
import pytest
from conftest import PACKAGE
from holdfast import _native


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE), **environment})


def test_a_missing_library_names_its_package():
    done = run("import holdfast", HOLDFAST_LIBRARY="/nowhere/libholdfast.so.1")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "LibraryMissing" in last and "package libholdfast1" in last
    assert "/nowhere/libholdfast.so.1" in last
    done = run("""
try:
    import holdfast
except ImportError as error:
    print(error)
""", HOLDFAST_LIBRARY="libc.so.6")
    assert "is not holdfast's" in done.stdout


def test_the_loader_finds_it():
    library = os.environ.get("HOLDFAST_LIBRARY")
    if not library:
        pytest.skip("HOLDFAST_LIBRARY is not set: nothing to compare with")
    done = run("import holdfast; print(holdfast.library_version())",
               HOLDFAST_LIBRARY="", LD_LIBRARY_PATH=os.path.dirname(library))
    assert done.stdout.strip() == holdfast.library_version(), done.stderr


def test_an_older_library_serves_until_what_it_lacks_is_called(folder):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("there is no C compiler")
    (folder / "old.c").write_text(
        'const char *hf_version(void) { return "0.9.0"; }\n')
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "old.so",
                    folder / "old.c"], check=True)
    done = run("""
import holdfast
print(holdfast.library_version())
try:
    holdfast.open()
except holdfast.Cannot as error:
    print(error.name, error)
""", HOLDFAST_LIBRARY=str(folder / "old.so"))
    version, said = done.stdout.splitlines()
    assert version == "0.9.0"
    assert said.startswith("CANNOT ") and "has no hf_open" in said
    assert "0.9.0" in said and "libholdfast1" in said


def opened(store, struct, **options):
    """Opens with a struct of another size than this library's."""
    failure, pointer = _native.Failure(), ctypes.c_void_p()
    given = struct(size=ctypes.sizeof(struct), **options)
    open_ = ctypes.CDLL(_native.library._file).hf_open
    rc = open_(ctypes.byref(pointer), store.encode(), ctypes.byref(given),
               ctypes.byref(failure))
    if rc == 0:
        _native.library.hf_close(pointer)
    return rc


def test_options_of_another_age(store):
    """A package older than the library knows fewer options, a newer one more;
    only those that are used must be known to both."""

    class Older(ctypes.Structure):
        _fields_ = _native.Options._fields_[:8]

    class Newer(ctypes.Structure):
        _fields_ = [*_native.Options._fields_, ("more", ctypes.c_int64)]

    assert opened(store, Older, lease_ms=5000) == 0
    assert opened(store, Newer, lease_ms=5000) == 0
    assert opened(store, Newer, more=1) == holdfast.Usage.CODE
