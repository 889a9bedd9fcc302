"""Resource definitions: read from YAML, DFHCSDUP text, listings, DFHDCT macros and CL, checked, and written out again.

The result of reading is always :class:`Definitions`, an immutable value that can be installed into any number of
regions or systems.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdqsim.lazy import lazy_names

if TYPE_CHECKING:
    from tdqsim.definitions._fields import FileFormat as FileFormat
    from tdqsim.definitions._resource import Resource
    from tdqsim.definitions.bms import Mapset as Mapset
    from tdqsim.definitions.bms import parse_bms as parse_bms
    from tdqsim.definitions.cl import parse_cl
    from tdqsim.definitions.connection import Connection
    from tdqsim.definitions.crtdtaq import export_cl
    from tdqsim.definitions.csdexport import export_csd
    from tdqsim.definitions.csdlist import parse_csd_listing
    from tdqsim.definitions.csdup import CsdCommand as CsdCommand
    from tdqsim.definitions.csdup import parse_csd
    from tdqsim.definitions.csdup import read_csd_commands as read_csd_commands
    from tdqsim.definitions.dctexport import export_dct
    from tdqsim.definitions.define import (
        define_connection,
        define_dtaq,
        define_file,
        define_program,
        define_resource,
        define_tdqueue,
        define_terminal,
        define_tranclass,
        define_transaction,
        define_tsmodel,
    )
    from tdqsim.definitions.define import is_group_name as is_group_name
    from tdqsim.definitions.define import is_user_id as is_user_id
    from tdqsim.definitions.define import supplied_definitions as supplied_definitions
    from tdqsim.definitions.dfhdct import parse_dct
    from tdqsim.definitions.dtaq import Dtaq
    from tdqsim.definitions.dump import dump_definitions
    from tdqsim.definitions.file import File
    from tdqsim.definitions.group import (
        Definitions,
        GroupEntry,
        Note,
        load_definitions,
        parse_definitions,
    )
    from tdqsim.definitions.group import defines_nothing as defines_nothing
    from tdqsim.definitions.group import read_text as read_text
    from tdqsim.definitions.imports import Imported, ImportReport
    from tdqsim.definitions.imports import expand as expand
    from tdqsim.definitions.machine import Machine as Machine
    from tdqsim.definitions.modelfile import read_model as read_model
    from tdqsim.definitions.modelfile import read_private as read_private
    from tdqsim.definitions.other import OtherResource
    from tdqsim.definitions.policyfile import PolicyFile as PolicyFile
    from tdqsim.definitions.policyfile import load_policy_file as load_policy_file
    from tdqsim.definitions.program import ProgramDefinition
    from tdqsim.definitions.regionfile import REGION_FILE_NAME as REGION_FILE_NAME
    from tdqsim.definitions.regionfile import RegionFile as RegionFile
    from tdqsim.definitions.regionfile import load_region_file as load_region_file
    from tdqsim.definitions.schema import described_schema as described_schema
    from tdqsim.definitions.schema import (
        json_schema,
        region_json_schema,
    )
    from tdqsim.definitions.schema import pipeline_json_schema as pipeline_json_schema
    from tdqsim.definitions.tdqueue import ExtraQueue, IndirectQueue, IntraQueue, RemoteQueue, Tdqueue
    from tdqsim.definitions.terminal import Terminal
    from tdqsim.definitions.tranclass import Tranclass
    from tdqsim.definitions.transaction import Transaction
    from tdqsim.definitions.tsmodel import Tsmodel
    from tdqsim.definitions.yamltext import ListNode as ListNode
    from tdqsim.definitions.yamltext import MapNode as MapNode
    from tdqsim.definitions.yamltext import ScalarNode as ScalarNode
    from tdqsim.definitions.yamltext import node_at as node_at
    from tdqsim.definitions.yamltext import read_plain as read_plain
    from tdqsim.definitions.yamltext import read_yaml as read_yaml

# Names that are imported as themselves are for other packages of this repository, without a promise.
__all__ = [
    "Connection",
    "Definitions",
    "Dtaq",
    "ExtraQueue",
    "File",
    "GroupEntry",
    "ImportReport",
    "Imported",
    "IndirectQueue",
    "IntraQueue",
    "Note",
    "OtherResource",
    "ProgramDefinition",
    "RemoteQueue",
    "Resource",
    "Tdqueue",
    "Terminal",
    "Tranclass",
    "Transaction",
    "Tsmodel",
    "define_connection",
    "define_dtaq",
    "define_file",
    "define_program",
    "define_resource",
    "define_tdqueue",
    "define_terminal",
    "define_tranclass",
    "define_transaction",
    "define_tsmodel",
    "dump_definitions",
    "export_cl",
    "export_csd",
    "export_dct",
    "json_schema",
    "load_definitions",
    "parse_cl",
    "parse_csd",
    "parse_csd_listing",
    "parse_dct",
    "parse_definitions",
    "region_json_schema",
]

# Most of these modules import pydantic, which is slow. They are loaded on first use, so that commands start quickly and
# a region that needs only the maps (bms) does not import pydantic.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "._fields": ("FileFormat",),
        "._resource": ("Resource",),
        ".cl": ("parse_cl",),
        ".connection": ("Connection",),
        ".crtdtaq": ("export_cl",),
        ".csdexport": ("export_csd",),
        ".csdlist": ("parse_csd_listing",),
        ".csdup": ("CsdCommand", "parse_csd", "read_csd_commands"),
        ".dctexport": ("export_dct",),
        ".define": (
            "define_connection",
            "define_dtaq",
            "define_file",
            "define_program",
            "define_resource",
            "define_tdqueue",
            "define_terminal",
            "define_tranclass",
            "define_transaction",
            "define_tsmodel",
            "is_group_name",
            "is_user_id",
            "supplied_definitions",
        ),
        ".dfhdct": ("parse_dct",),
        ".dtaq": ("Dtaq",),
        ".dump": ("dump_definitions",),
        ".file": ("File",),
        ".group": (
            "Definitions",
            "GroupEntry",
            "Note",
            "defines_nothing",
            "load_definitions",
            "parse_definitions",
            "read_text",
        ),
        ".imports": ("ImportReport", "Imported", "expand"),
        ".other": ("OtherResource",),
        ".policyfile": ("PolicyFile", "load_policy_file"),
        ".program": ("ProgramDefinition",),
        ".regionfile": ("REGION_FILE_NAME", "RegionFile", "load_region_file"),
        ".schema": ("described_schema", "json_schema", "pipeline_json_schema", "region_json_schema"),
        ".tdqueue": ("ExtraQueue", "IndirectQueue", "IntraQueue", "RemoteQueue", "Tdqueue"),
        ".terminal": ("Terminal",),
        ".tranclass": ("Tranclass",),
        ".transaction": ("Transaction",),
        ".tsmodel": ("Tsmodel",),
        ".yamltext": ("ListNode", "MapNode", "ScalarNode", "node_at", "read_plain", "read_yaml"),
        ".bms": ("Mapset", "parse_bms"),
        ".machine": ("Machine",),
        ".modelfile": ("read_model", "read_private"),
    },
)
