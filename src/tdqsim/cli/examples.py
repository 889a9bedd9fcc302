"""The examples of the package: region directories and programs that you can run by name, and copy.

An installed package contains them in its folder ``examples``; in a clone they are in the top-level folder.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

_REGION_FILE: Final = "region.yaml"
_PACKAGE: Final = Path(__file__).resolve().parents[1]


@cache
def examples_folder() -> Path:
    """The folder of the examples."""
    inside = _PACKAGE / "examples"
    return inside if inside.is_dir() else _PACKAGE.parents[1] / "examples"


def examples() -> list[str]:
    """The names of the examples that are region directories."""
    return sorted(path.parent.name for path in examples_folder().glob(f"*/{_REGION_FILE}"))


def copyable() -> dict[str, Path]:
    """Every example by its name, region directories first: directories, and programs of one file without ``.py``."""
    paths = sorted(examples_folder().iterdir(), key=lambda path: (not (path / _REGION_FILE).is_file(), path.name))
    examples_by_name = {path.stem: path for path in paths if path.suffix == ".py" or path.is_dir()}
    return {name: path for name, path in examples_by_name.items() if not name.startswith(("_", "."))}


def example(path: Path) -> Path | None:
    """The example that a path names: a plain name that does not exist here, or ``examples/NAME``; otherwise None."""
    name = path.name
    if path.exists() or path not in (Path(name), Path("examples") / name) or name not in examples():
        return None
    return examples_folder() / name
