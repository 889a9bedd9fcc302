"""Numbers and words of the vendors' again, typed by hand from their manuals: limits, sizes, defaults, states.

What is our own choice stands in the tables alone; tests of what it does are elsewhere.
"""

from __future__ import annotations

import pytest

from tdqsim.facts import table

VALUES = {
    "bms": """
        longest 256 suffix_COLOR C suffix_PS P suffix_HILIGHT H suffix_VALIDN V suffix_OUTLINE U suffix_SOSI M suffix_TRANSP T
    """,
    "cobol": "no_area FF000000",
    "files": """
        NOTAPPLIC 1 VSAM 3 ESDS 5 KSDS 6 RRDS 7 FIXED 12 VARIABLE 13 OPEN 18 CLOSED 19 ENABLED 23 DISABLED 24 RECOVERABLE 29
        NOTRECOVABLE 30 UNENABLED 33 READABLE 35 NOTREADABLE 36 UPDATABLE 37 NOTUPDATABLE 38 BROWSABLE 39 NOTBROWSABLE 40
        ADDABLE 41 NOTADDABLE 42 DELETABLE 43 NOTDELETABLE 44
    """,
    "kernel": "last_task_number 99999 conditions_per_handle 16 spool_line 132",
    "programs": "longest_commarea 32763 longest_operator_text 690 highest_trace_number 199",
    "ts": "items 32767 longest 32763",
    "region_defaults": "default_user CICSUSER td_buffers 3 td_strings 3 tdintra NOEMPTY mirror_transaction CSMI",
    "datasets": """
        record_descriptor 4 block_descriptor 4 block_maximum 32760 extended_block_maximum 262144 fixed_record_maximum 32760
        variable_record_maximum 32756 spanned_record_maximum 32756 lrecl_x 32768 lrecl_x_record_maximum 16777215
        rdw_record_maximum 65535 cics_length_maximum 32767 half_track_block 27998 buffers_default 5 buffers_maximum 255
        dsname_maximum 44 dsname_qualifier_maximum 8 gdg_base_maximum 35 gdg_limit_maximum 255 generation_maximum 9999
        extents_maximum 16 tracks_per_cylinder 15 track_cells 1729 track_gap_cells 10 track_data_cells 9 track_cell_bytes 34
    """,
    "limits": """
        queue_name_length 4 group_name_length 8 length_option_maximum 32767 ci_size_minimum 512 ci_size_maximum 32768
        ci_overhead 32 rdw_length 4 bdw_length 4 supplied_extra_recordsize 132 supplied_extra_blocksize 136
        dtaq_maxlen_maximum 64512 dtaq_keylen_maximum 256 dtaq_initial_entries 16 dtaq_text_length 50 object_name_length 10
    """,
    "ibmi_limits": """
        receiver_minimum 8 text_bytes_maximum 65536 key_bytes_maximum 256 key_length_minimum 1 sender_id_length 36
        sender_information_length 44 wait_maximum 99999 sql_milliseconds_up_to 100 error_code_0100_minimum 8
        error_code_0200_minimum 12 error_code_maximum 32783 reclaim_key 100 enforce_key 200 max16mb_bytes 16777216
        max2gb_bytes 2147483648 max16mb_specified -1 max2gb_specified -2 name_length 10 run_priority_minimum 1
        run_priority_maximum 99 dts_earliest 19280825 dts_latest 20710509 dts_bits 12 dts_of_2000 9223372036854775808
        alcobj_maximum 50 no_conversion_ccsid 65535 supplemental_groups_maximum 15 library_list_maximum 250 length_digits 5
        job_name_key 1009
    """,
}
"""Names and values in turn, by table."""


@pytest.mark.parametrize("name", VALUES)
def test_the_values_are_those_of_the_manuals(name):
    words = VALUES[name].split()
    found: dict[str, list[str]] = {}
    for row in table(name):
        found.setdefault(row["name"], []).append(row["value"])
    assert {key: found.get(key) for key in words[::2]} == {
        key: [value] for key, value in zip(words[::2], words[1::2], strict=True)
    }


def test_defaults_of_options_and_of_a_terminal():
    assert {(row["command"], row["option"]): row["value"] for row in table("exec_defaults")} == {
        ("FORMATTIME", "DATESEP"): "/", ("FORMATTIME", "TIMESEP"): ":", ("SEND MAP", "CURSOR"): "-1",
    }  # fmt: skip
    assert {(row["kind"], row["name"]): row["value"] for row in table("terminal")} == {
        ("assign", f"{which}SCRN{side}"): size
        for which in ("", "DEF", "ALT")
        for side, size in (("HT", "24"), ("WD", "80"))
    }
    assert [row["value"] for row in table("ts") if row["name"] == "reserved_prefix"] == ["**", "$$", "CEBR", "DF"]
