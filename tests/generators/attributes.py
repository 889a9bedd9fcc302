"""The stub of ``tdqsim.definitions.attributes``: the attributes of each resource class as TypedDicts.

Type checkers do not run the code of the classes, so their attributes are written out; attributes that several classes
share are in a base.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from datetime import datetime
from textwrap import fill
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin

from tdqsim.definitions._build import RESOURCE_CLASSES, known_attributes
from tdqsim.definitions._resource import Resource
from tdqsim.definitions.tdqueue import TDQUEUE_CLASSES, Tdqueue

_HEAD: Final = '''\
"""The attributes of each kind of definition for type checkers: ``python -m tests.generators.stubs`` writes it."""

from datetime import datetime
from typing import Literal, Required, TypedDict

'''
_WIDER: Final = {
    "purgethresh": 'int | Literal["NO", "no"]',
    "dtimout": 'int | Literal["NO", "no"]',
    "runaway": "int | str",
    "size": 'tuple[int | Literal["*MAX16MB", "*MAX2GB", "MAX16MB", "MAX2GB"], int]',
}
"""The types that callers may pass, where the class converts the value. DTIMOUT is the number mmss, or NO."""
_KEYWORDS: Final = "DtaqKeywords"
_NAME: Final = "    dtaq: "
_LISTED: Final = re.compile(r"^ {4}(\w+(?:, \w+)*): ((?:.*)(?:\n {5,}\S.*)*)", re.MULTILINE)
"""An entry of the section Attributes of a docstring."""
_SEE: Final = re.compile(r"; see :attr:`\w+`")
_NAMES: Final = {"": "RemoteQueue", "INTRA": "IntraQueue", "EXTRA": "ExtraQueue", "INDIRECT": "IndirectQueue"}


def attributes_source() -> str:
    """The source text of the file."""
    classes: list[tuple[str, str, str, type[Resource]]]
    classes = [(f"{_NAMES[kind]}Attributes", "TDQUEUE", kind, each) for kind, each in TDQUEUE_CLASSES.items()]
    classes += [(f"{each.__name__}Attributes", kind, "", each) for kind, each in RESOURCE_CLASSES.items()]
    lines = []
    for base in (_Base.of_queues(), _Base.of_resources()):
        lines += _class(base.name, "TypedDict", base.title, base.attributes)
    for name, kind, queue_type, resource_class in classes:
        title = f"a {kind} of type {queue_type}" if queue_type else f"a {kind}"
        base = _Base.of_queues() if kind == "TDQUEUE" else _Base.of_resources()
        attributes = [each for each in _attributes(kind, queue_type, resource_class) if each not in base.attributes]
        above = base.name
        if kind == "DTAQ":  # CRTDTAQ takes its name apart from the keywords
            keywords = [each for each in attributes if not each.startswith(_NAME)]
            lines += _class(_KEYWORDS, above, f"{title} without its name", keywords)
            above, attributes = _KEYWORDS, [each for each in attributes if each.startswith(_NAME)]
        lines += _class(name, above, title, attributes)
    return _HEAD + "\n".join(lines) + "\n"


class _Base(NamedTuple):
    """The attributes that several kinds of definitions share."""

    name: str
    title: str
    attributes: list[str]

    @classmethod
    def of_queues(cls) -> _Base:
        return cls("TdqueueAttributes", "a TDQUEUE of any type", list(_fields(Tdqueue)))

    @classmethod
    def of_resources(cls) -> _Base:
        return cls("ResourceAttributes", "a definition of any other kind", list(_fields(Resource)))


def _class(name: str, base: str, title: str, attributes: list[str]) -> list[str]:
    head = ["", "", f"class {name}({base}, total=False):", f'    """Attributes of {title}."""']
    return [*head, "", *attributes] if attributes else head


def _attributes(kind: str, queue_type: str, resource_class: type[Resource]) -> Iterator[str]:
    if queue_type:
        yield f"    type: Required[{_words((queue_type,))}]"
    elif kind == "TDQUEUE":
        yield '    type: Literal["", "REMOTE", "remote"]'
    yield from _fields(resource_class)
    idle = known_attributes(kind, queue_type) - resource_class.model_fields.keys() - {"type"}
    for name in sorted(idle):
        yield f"    {name}: str | int"


def _fields(resource_class: type[Resource]) -> Iterator[str]:
    for name, field in resource_class.model_fields.items():
        if name != "without_effect":
            hint = _WIDER.get(name) or _type(field.annotation)
            about = _about(resource_class, name)
            yield f"    {name}: {f'Required[{hint}]' if field.is_required() else hint}" + (
                f"\n{about}" if about else ""
            )


def _about(resource_class: type[Resource], name: str) -> str:
    """The description of an attribute in the docstring of its class or a base class, as a docstring for editors."""
    for each in resource_class.__mro__:
        _, _, listed = inspect.cleandoc(each.__dict__.get("__doc__") or "").partition("Attributes:\n")
        for names, text in _LISTED.findall(listed):
            if name in names.split(", "):
                sentence = _SEE.sub("", " ".join(text.replace("``", "`").split()))
                sentence = sentence[0].upper() + sentence[1:] if sentence else ""
                return fill(f'"""{sentence}"""', 116, initial_indent="    ", subsequent_indent="    ")
    return ""


def _type(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return _words(get_args(annotation))
    if annotation is int:
        return "int"
    if annotation is str:
        return "str"
    if datetime in (annotation, *get_args(annotation)):
        return "datetime | str | None"
    raise TypeError(annotation)  # a new kind of attribute needs a type here or in _WIDER


def _words(words: tuple[str, ...]) -> str:
    """A Literal of the words of a keyword, in upper and lower case."""
    either = dict.fromkeys(spelt for word in words for spelt in (word, word.lower()))
    listed = ", ".join(f'"{word}"' for word in either)
    if len(listed) < 80:
        return f"Literal[{listed}]"
    return f"Literal[\n{fill(listed, 112, initial_indent=' ' * 8, subsequent_indent=' ' * 8)},\n    ]"
