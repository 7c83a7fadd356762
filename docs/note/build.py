"""The note as a PDF, with the numbers of reproduce.py: ``make note``.

The PDF carries a fingerprint of its sources, so that a test can tell when it is out of date.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NOTE, NUMBERS, PDF = HERE / "note.typ", HERE / "numbers.json", HERE / "note.pdf"


def fingerprint() -> str:
    """Of what the PDF is made from."""
    return hashlib.sha256(NOTE.read_bytes() + NUMBERS.read_bytes()).hexdigest()[:16]


def build() -> bytes:
    """The PDF, for the numbers that are there."""
    import typst

    return typst.compile(NOTE, root=HERE, ignore_system_fonts=True, sys_inputs={"source": fingerprint()})


if __name__ == "__main__":
    done = subprocess.run([sys.executable, HERE / "reproduce.py"], check=True, capture_output=True)
    NUMBERS.write_bytes(done.stdout)
    PDF.write_bytes(build())
    print(f"The note is in {PDF.relative_to(Path.cwd()) if PDF.is_relative_to(Path.cwd()) else PDF}")
