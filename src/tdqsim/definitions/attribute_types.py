"""Writes ``_attributes.py``: what each resource class says of its attributes, for type checkers.

Type checkers read source and do not run it, so the declarations of the classes are written out as TypedDicts:
``python -m tdqsim.definitions.attribute_types``. A test sees that the file is what they say.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

from tdqsim.definitions._build import RESOURCE_CLASSES, known_attributes
from tdqsim.definitions._resource import Resource
from tdqsim.definitions.tdqueue import TDQUEUE_CLASSES

__all__ = ["attribute_types_source"]

_FILE: Final = Path(__file__).with_name("_attributes.py")
_HEAD: Final = '''\
"""The attributes of each kind of definition, for type checkers; :mod:`tdqsim.definitions.attribute_types` writes it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Required, TypedDict

'''
_WIDER: Final = {
    "dtimout": 'int | Literal["NO", "no"]',
    "size": 'tuple[int | Literal["*MAX16MB", "*MAX2GB", "MAX16MB", "MAX2GB"], int]',
}
"""What callers may give where the class has a type of its own. DTIMOUT is mmss as a number: a word is NO."""
_KEYWORDS: Final = "DtaqKeywords"
_NAME: Final = "    dtaq: "
_NAMES: Final = {"": "RemoteQueue", "INTRA": "IntraQueue", "EXTRA": "ExtraQueue", "INDIRECT": "IndirectQueue"}


def attribute_types_source() -> str:
    """The source of the file."""
    classes: list[tuple[str, str, str, type[Resource]]]
    classes = [(f"{_NAMES[kind]}Attributes", "TDQUEUE", kind, each) for kind, each in TDQUEUE_CLASSES.items()]
    classes += [(f"{each.__name__}Attributes", kind, "", each) for kind, each in RESOURCE_CLASSES.items()]
    names = ", ".join(f'"{name}"' for name in sorted([_KEYWORDS, *(name for name, *_ in classes)]))
    lines = [f"__all__ = [{names}]"]
    for name, kind, queue_type, resource_class in classes:
        title = f"{kind} of type {queue_type}" if queue_type else kind
        base, attributes = "TypedDict", list(_attributes(kind, queue_type, resource_class))
        if kind == "DTAQ":  # CRTDTAQ takes its name apart from the keywords
            base, *attributes = _KEYWORDS, *(each for each in attributes if each.startswith(_NAME))
            rest = [each for each in _attributes(kind, queue_type, resource_class) if not each.startswith(_NAME)]
            lines += ["", "", f"class {base}(TypedDict, total=False):"]
            lines += [f'    """Attributes of a {title} without its name."""', "", *rest]
        lines += ["", "", f"class {name}({base}, total=False):"]
        lines += [f'    """Attributes of a {title}."""', "", *attributes]
    return _HEAD + "\n".join(lines) + "\n"


def _attributes(kind: str, queue_type: str, resource_class: type[Resource]) -> Iterator[str]:
    fields = resource_class.model_fields
    if queue_type:
        yield f"    type: Required[{_words((queue_type,))}]"
    elif kind == "TDQUEUE":
        yield '    type: Literal[""]'
    for name, field in fields.items():
        if name != "without_effect":
            said = _WIDER.get(name) or _type(field.annotation)
            yield f"    {name}: {f'Required[{said}]' if field.is_required() else said}"
    idle = known_attributes(kind, queue_type) - fields.keys() - {"type"}
    for name in sorted(idle):
        yield f"    {name}: str | int"


def _type(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return _words(get_args(annotation))
    if annotation is int:
        return "int"
    if annotation is str:
        return "str"
    if datetime in (annotation, *get_args(annotation)):
        return "datetime | str | None"
    raise TypeError(annotation)  # a new kind of attribute: say above how callers may give it


def _words(words: tuple[str, ...]) -> str:
    """The words of a keyword, which may be written in lower case too."""
    either = dict.fromkeys(spelt for word in words for spelt in (word, word.lower()))
    return f"Literal[{', '.join(repr(word).replace(chr(39), chr(34)) for word in either)}]"


if __name__ == "__main__":
    _FILE.write_text(attribute_types_source(), "utf-8")
