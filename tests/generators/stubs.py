"""Write the stubs that the package needs for editors and type checkers, which do not run the code.

``python -m tests.generators.stubs`` does it in a clone; the build does it for a wheel and for an editable install. They
are not kept in git. A test says when one is no longer what it would be now.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import tdqsim
from tests.generators.attributes import attributes_source
from tests.generators.codes import codes_source
from tests.generators.inquiries import inquiries_source

PACKAGE: Final = Path(tdqsim.__file__).parent


def stubs() -> dict[Path, str]:
    """The text of each stub by its file."""
    made = {
        PACKAGE / "definitions" / "attributes.pyi": attributes_source(),
        PACKAGE / "facts" / "_codes.pyi": codes_source(),
        PACKAGE / "facts" / "inquiries.pyi": inquiries_source(),
    }
    answers = PACKAGE / "server" / "answers"
    if answers.is_dir():  # the core lives without its extensions
        from tests.generators.answers import answers_source  # it imports the server

        made[answers / "tables.pyi"] = answers_source()
    return made


def write_stubs() -> None:
    """Write the stubs that have changed."""
    for path, text in stubs().items():
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


if __name__ == "__main__":
    write_stubs()
