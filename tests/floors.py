"""The lowest versions that pyproject.toml allows, as constraints for pip: ``make lowest`` installs exactly these.

    python tests/floors.py > floors.txt      numpy>=1.26 becomes numpy==1.26, dask[distributed]>=2024.5 dask==2024.5

The standard library is all it needs, since it runs before anything is installed.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
EXTRAS = ("report", "graph", "dask")  # what users may add; the developers' tools and those of the manual are the newest


def floors(project: dict) -> dict[str, str]:
    """package -> the lowest version that a ``[project]`` table allows, of what every user and every extra needs."""
    wanted = [*project["dependencies"]]
    for extra in EXTRAS:
        wanted += project["optional-dependencies"][extra]
    return dict(floor(requirement) for requirement in wanted)


def floor(requirement: str) -> tuple[str, str]:
    """The name and the lowest version of one requirement, which has to be of the form name>=version."""
    found = re.fullmatch(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\d.]+)", requirement)
    if not found:
        raise SystemExit(f'pyproject.toml requires "{requirement}". Write name>=version, so that it has a floor.')
    return found[1], found[2]


if __name__ == "__main__":
    for name, version in floors(tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]).items():
        print(f"{name}=={version}")
