# SPDX-License-Identifier: MIT
"""What the package repeats of holdfast.h is what stands there."""
import ctypes
import re
import shutil
import subprocess

import pytest
from conftest import SOURCE

from holdfast import _native, errors, locks, looking

HEADER = (SOURCE / "include/holdfast.h").read_text()
ENUMS = {
    "HF_": looking.Kind,
    "HF_STATE_": looking.State,
    "HF_EVENT_": looking.EventKind,
    "HF_LOG_": looking.LogLevel,
    "HF_CAN_": looking.Ability,
}
MORE = {
    **{f"HF_{name}": getattr(_native, name) for name in (
        "OK", "BUSY", "FOREVER", "OWNER_HANDLE", "POST_RELEASE", "NO_REENTRY",
        "WRITERS_FIRST", "NO_COHORT", "DEADLOCK")},
    "HF_MAJORITY": locks.MAJORITY, "HF_ALL": locks.ALL,
    **{f"HF_{t.name}": t for t in looking.SampleType},
    **{f"HF_{v.name}": v for v in looking.Verdict},
    **{f"HF_E{e.NAME}": e.CODE for e in errors.CODES.values() if e.CODE < 0},
    **{prefix + member.name: member for prefix, enum in ENUMS.items()
       for member in enum},
    "HF_KINDS": len(looking.Kind),
}


@pytest.fixture(scope="module")
def in_c(tmp_path_factory):
    """Names, and the numbers that a C compiler has for them."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("header")
    lines = [f'printf("{name} %lld\\n", (long long)({name}));'
             for name in MORE]
    for name, struct in _native.STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        for field, *_ in struct._fields_:
            lines.append(f'printf("{name}.{field} %zu\\n", '
                         f"offsetof({name}, {field}));")
            lines.append(f'printf("{name}:{field} %zu\\n", '
                         f"sizeof((({name} *)0)->{field}));")
    (folder / "x.c").write_text(
        "#include <holdfast.h>\n#include <stdio.h>\nint main(void) {\n"
        + "\n".join(lines) + "\n}\n")
    subprocess.run([compiler, "-I", SOURCE / "include", "-o", folder / "x",
                    folder / "x.c"], check=True)
    out = subprocess.run([folder / "x"], check=True, capture_output=True,
                         text=True).stdout
    return {name: int(n) for name, n in map(str.split, out.splitlines())}


def test_numbers(in_c):
    assert {name: in_c[name] for name in MORE} == {
        name: int(n) for name, n in MORE.items()}


@pytest.mark.parametrize("name", _native.STRUCTS)
def test_structs(in_c, name):
    struct = _native.STRUCTS[name]
    assert ctypes.sizeof(struct) == in_c[name]
    for field, *_ in struct._fields_:
        assert getattr(struct, field).offset == in_c[f"{name}.{field}"], field
        assert getattr(struct, field).size == in_c[f"{name}:{field}"], field


def test_no_field_is_missing():
    for name, struct in _native.STRUCTS.items():
        body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (name, name),
                         HEADER, re.S).group(1)
        body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        body = re.sub(r"\[\w+\]", "", body)
        fields = re.findall(r"(\w+)\s*(?=[,;])", body)
        assert fields == [field for field, *_ in struct._fields_]


def test_every_enumerator_is_known():
    for prefix, enum in {"hf_state": looking.State,
                         "hf_event_kind": looking.EventKind,
                         "hf_log_level": looking.LogLevel,
                         "hf_sample_type": looking.SampleType,
                         "hf_verdict_level": looking.Verdict}.items():
        body = re.search(r"enum %s \{(.*?)\}" % prefix, HEADER, re.S).group(1)
        body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        assert len(re.findall(r"HF_\w+", body)) == len(enum), prefix


def test_errors_have_the_name_and_the_class_of_the_header():
    rows = re.findall(r'X\((\d+), (\w+), (\w+), "', HEADER)
    assert len(rows) > 20
    sure = {"NOT_DONE": errors.NotDone, "DOUBT": errors.Doubt,
            "NOT_HELD": errors.NotHeld, "MISUSE": errors.Misuse}
    for number, name, class_ in rows:
        error = errors.CODES[-int(number)]
        assert error.NAME == name
        assert issubclass(error, sure[class_])
        assert _native.library.hf_error_name(-int(number)) == name.encode()
    assert len(rows) + 1 == len(errors.CODES)


def test_an_error_of_a_newer_library_keeps_its_class():
    error = errors.from_code(-999, "something new")
    assert error.code == -999 and error.text == "something new"
    assert isinstance(error, errors.Error)


def shape(declaration):
    """What ctypes must have for an argument or a result in C."""
    plain = {"int": ctypes.c_int, "int64_t": ctypes.c_int64,
             "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t,
             "bool": ctypes.c_bool, "unsigned": ctypes.c_uint, "void": None,
             "hf_class": ctypes.c_int, "hf_kind": ctypes.c_int}
    if "char *" in declaration:
        return ctypes.c_char_p
    if "*" in declaration:
        return "pointer"
    words = [w for w in declaration.split() if w != "const"]
    return plain[words[0]]


def given(type_):
    if type_ is None or type_ in (
            ctypes.c_int, ctypes.c_int64, ctypes.c_uint64, ctypes.c_size_t,
            ctypes.c_bool, ctypes.c_uint, ctypes.c_char_p):
        return type_
    return "pointer"


def test_every_struct_and_function_is_known():
    """Whoever adds one adds it here, or says why not."""
    beside = {"hf_allocator"}  # C's memory is no matter of Python
    structs = set(re.findall(r"typedef struct (hf_\w+) \{", HEADER))
    assert structs - set(_native.STRUCTS) == beside
    functions = set(re.findall(r"HF_API\s+[\w\s]+?[\s*]+(hf_\w+)\(", HEADER))
    assert functions - set(_native.FUNCTIONS) == {
        "hf_set_allocator",
        "hf_call_async",       # asyncio.to_thread
        "hf_lock_try",         # hf_lock_acquire with 0
        "hf_lock_name", "hf_semaphore_name", "hf_latch_name",  # as given
    }


def test_functions():
    text = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S)
    found = {}
    for result, name, args in re.findall(
            r"HF_API\s+([\w\s]+?[\s*]+)(hf_\w+)\((.*?)\);", text, re.S):
        args = " ".join(args.split())
        found[name] = (shape(result.strip() + " "),
                       [] if args == "void"
                       else [shape(arg.strip()) for arg in args.split(",")])
    assert len(found) > 80
    for name, (restype, argtypes) in _native.FUNCTIONS.items():
        assert found[name] == (given(restype), [given(t) for t in argtypes]), \
            name
