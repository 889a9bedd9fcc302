"""Random copybooks, for this room's tests and those that must agree with it."""

from __future__ import annotations

from hypothesis import strategies as st

EDITED = ["ZZ9", "Z(3)", "ZZ9.99", "Z(4).ZZ", "+9(4)", "-ZZ9.9", "9(5)-", "9(3),99", "S9(3).99", "Z(12)9.99", "$$9.99"]

digits = st.integers(1, 18)


@st.composite
def pictures(draw):
    """The clauses of a numeric or text item."""
    kind = draw(
        st.sampled_from(
            ["X", "zoned", "binary", "packed", "comp6", "comp5", "float", "N", "G", "pointer", "P", "edited"]
        )
    )
    count, scale, sign = draw(digits), draw(st.integers(0, 4)), draw(st.sampled_from(["", "S"]))
    number = f"PIC {sign}9({count})" + (f"V9({scale})" if scale and count + scale <= 18 else "")
    separate = (
        draw(st.sampled_from(["", " SIGN LEADING", " SIGN LEADING SEPARATE", " SIGN TRAILING SEPARATE"]))
        if sign
        else ""
    )
    return {
        "X": f"PIC X({count})",
        "zoned": number + separate,
        "binary": number + " COMP" + draw(st.sampled_from(["", " SYNC"])),
        "packed": f"PIC {sign}9({count + draw(st.integers(0, 20))}) COMP-3",
        "comp6": f"PIC 9({count}) COMP-6",
        "comp5": number + " COMP-5",
        "float": draw(st.sampled_from(["COMP-1", "COMP-2"])),
        "N": f"PIC N({count})",
        "G": f"PIC G({count})",
        "pointer": "POINTER",
        "edited": f"PIC {draw(st.sampled_from(EDITED))}",
        "P": f"PIC {sign}9(3)P({scale + 1})" + draw(st.sampled_from(["", " COMP-3"])),
    }[kind]


@st.composite
def copybooks(draw, *, depending=True):
    lines = ["01 R.", "05 N PIC 9."]
    for index in range(draw(st.integers(1, 6))):
        shape = draw(st.sampled_from(["plain", "plain", "table", "group", "odo", "redefines", "filler"]))
        clauses = draw(pictures())
        if shape == "table":
            lines.append(f"05 F{index} {clauses} OCCURS 3.")
        elif shape == "group":
            lines.append(f"05 F{index} OCCURS 2. 10 A {clauses}. 10 B PIC X OCCURS 2.")
        elif shape == "odo" and depending:
            lines.append(f"05 F{index} OCCURS 0 TO 3 DEPENDING ON N. 10 A {clauses}.")
        elif shape == "redefines":
            lines.append(
                f"05 F{index} PIC X(6). 05 G{index} REDEFINES F{index} {draw(pictures()).replace(' SYNC', '')}."
            )
        elif shape == "filler":
            lines.append(f"05 FILLER {clauses}.")
        else:
            lines.append(f"05 F{index} {clauses}.")
    return " ".join(lines)
