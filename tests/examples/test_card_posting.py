"""The main job, from the command line: on the real files and on generated input, against a plain loop over the input."""

from __future__ import annotations

import json
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tdqsim.cli import main
from tests.examples.conftest import CARD_POSTING
from tests.examples.posting_model import Outcome, post_all, records, signed

INPUTS = ("DALYTRAN", "CARDXREF", "ACCTDATA")


def run_job(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> dict[str, Any]:
    assert main(["run", str(CARD_POSTING), "--json", *map(str, arguments)]) == code
    captured = capsys.readouterr()
    assert captured.err == ""
    found: dict[str, Any] = json.loads(captured.out.splitlines()[-1])
    return found


def cards(folder: Path) -> list[str]:
    return [word for name in INPUTS for word in ("--dd", f"{name}={folder / name}.PS")]


def expect(found: dict[str, Any], outcome: Outcome) -> None:
    """The figures of a run are those of the model."""
    posted, rejected = outcome.amounts
    assert {name: found[name] for name in ("records_in", "records_posted", "records_rejected")} == {
        "records_in": len(outcome.posted) + len(outcome.rejected),
        "records_posted": len(outcome.posted),
        "records_rejected": len(outcome.rejected),
    }
    assert (found["amount_in"], found["amount_posted"], found["amount_rejected"]) == (
        str(posted + rejected),
        str(posted),
        str(rejected),
    )
    assert found["rejected_by_reason"] == outcome.reasons
    assert all(found["checks"].values())


def compare_data_sets(folder: Path, source: Path, outcome: Outcome) -> None:
    """Every record of the three outputs."""
    posted = records(folder / "POSTED.PS", 350)
    assert sorted(posted) == sorted(outcome.posted)
    in_order: dict[str, list[str]] = defaultdict(list)
    for record in outcome.posted:
        in_order[outcome.account_of[record[:16]]].append(record)
    came_out: dict[str, list[str]] = defaultdict(list)
    for record in posted:
        came_out[outcome.account_of[record[:16]]].append(record)
    assert came_out == in_order

    texts = {
        100: "INVALID CARD NUMBER FOUND",
        101: "ACCOUNT RECORD NOT FOUND",
        102: "OVERLIMIT TRANSACTION",
        103: "TRANSACTION RECEIVED AFTER ACCT EXPIRATION",
    }
    expected = [f"{record}{reason:04}{texts[reason]:76}" for record, reason in outcome.rejected]
    assert sorted(records(folder / "DALYREJS.PS", 430)) == sorted(expected)

    before, after = records(source / "ACCTDATA.PS", 300), records(folder / "ACCTOUT.PS", 300)
    assert [record[:11] for record in after] == [record[:11] for record in before]
    for old, new in zip(before, after, strict=True):
        balance, credit, debit = outcome.balances[old[:11]]
        assert (signed(new[12:24]), signed(new[78:90]), signed(new[90:102])) == (balance, credit, debit)
        kept = [*range(12), *range(24, 78), *range(102, 300)]
        kept += [at for field in ((12, 24), (78, 90), (90, 102)) if signed(old[slice(*field)]) == signed(new[slice(*field)])
                 for at in range(*field)]  # fmt: skip
        assert all(old[at] == new[at] for at in kept)


@pytest.mark.parametrize("seed", [0, 1, 2, 77])
def test_the_real_files_give_the_known_figures_with_every_seed(
    real_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    found = run_job(capsys, *cards(real_data), "--output", tmp_path, "--seed", seed)
    assert {name: found[name] for name in list(found)[:7]} == {
        "records_in": 300,
        "records_posted": 262,
        "records_rejected": 38,
        "amount_in": "104801.54",
        "amount_posted": "77954.70",
        "amount_rejected": "26846.84",
        "rejected_by_reason": {"102": 38},
    }
    compare_data_sets(tmp_path, real_data, post_all(*(real_data / f"{name}.PS" for name in INPUTS)))


@pytest.mark.parametrize(("count", "seed"), [(0, 0), (1, 3), (49, 1), (777, 2), (10_000, 0)])
def test_generated_input_gives_what_the_model_gives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int, seed: int
) -> None:
    found = run_job(capsys, "--records", count, "--seed", seed, "--output", tmp_path)
    outcome = post_all(*(tmp_path / f"{name}.PS" for name in INPUTS))
    assert found["records_in"] == count
    expect(found, outcome)
    compare_data_sets(tmp_path, tmp_path, outcome)


def test_another_order_of_tasks_posts_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_job(capsys, "--records", 3000, "--output", tmp_path / "first")
    outcomes = []
    for seed in (0, 5, 6):
        out = tmp_path / f"seed{seed}"
        found = run_job(capsys, *cards(tmp_path / "first"), "--seed", seed, "--output", out)
        expect(found, post_all(*(tmp_path / "first" / f"{name}.PS" for name in INPUTS)))
        outcomes.append((out / "POSTED.PS").read_bytes())
    assert len(set(outcomes)) > 1  # the seed does change the order in which queues are served
    assert len({(tmp_path / f"seed{seed}" / "ACCTOUT.PS").read_bytes() for seed in (0, 5, 6)}) == 1


def test_the_job_runs_over_queues_with_trigger_levels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_job(capsys, "--records", 2000, "--output", tmp_path, "--store", tmp_path / "store")
    queues = {queue["TDQUEUE"]: queue for queue in found["queues"]}
    for name in ("PST1", "PST2", "PST3", "PST4"):
        assert queues[name]["triggers"] > 1
        assert queues[name]["writes"] == queues[name]["reads"]
        assert 50 <= queues[name]["peak_items"] <= 250
    assert queues["PDON"]["triggers"] == 1
    assert queues["CSSL"]["writes"] == found["records_rejected"] + 3
    log = (tmp_path / "MSGUSR").read_bytes().decode("cp037")
    assert log.count("PPST REJECTED") == found["records_rejected"]
    assert f"PEND POSTED {found['records_posted']} AMOUNT {found['amount_posted']}" in log


def test_every_run_over_a_store_begins_with_empty_queues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, figures = tmp_path / "store", []
    for _ in range(2):
        found = run_job(capsys, "--records", 500, "--output", tmp_path / "out", "--store", store)
        figures.append({name: found[name] for name in list(found)[:7]})
        left = ["PST1", "LEFT BY A RUN THAT DID NOT END", "--region", CARD_POSTING, "--store", store]
        assert main(["write", "--seed", *map(str, left)]) == 0
        assert main(["peek", str(CARD_POSTING), "PST1", "--store", str(store)]) == 0
        assert "LEFT BY" in capsys.readouterr().out
    assert figures[0] == figures[1]


def test_for_people_it_ends_with_tables_and_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(CARD_POSTING), "--records", "300", "--output", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "INQUIRE TDQUEUE in CARDREGN" in out
    assert "Depth and throughput" in out
    assert "records in = posted + rejected            ok  300 = 300" in out
    assert "WRONG" not in out
    assert out.endswith(f"\ndata sets are in {tmp_path}\n")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda folder: (folder / "DALYTRAN.PS").write_bytes(bytes(349)), "DALYTRAN"),
        (
            lambda folder: (folder / "ACCTDATA.PS").write_bytes((folder / "ACCTDATA.PS").read_bytes() * 2),
            "is there twice",
        ),
        (
            lambda folder: (folder / "DALYTRAN.PS").write_bytes(b"\x40" * 350),
            "the amount at offset 132: X'4040404040404040404040' is not a zoned decimal number",
        ),
        (lambda folder: (folder / "CARDXREF.PS").unlink(), "CARDXREF"),
    ],
    ids=["truncated", "account twice", "amount", "missing"],
)
def test_wrong_input_is_told_and_ends_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Any, text: str
) -> None:
    run_job(capsys, "--records", 20, "--output", tmp_path)
    change(tmp_path)
    code = main(["run", str(CARD_POSTING), "--json", *cards(tmp_path), "--output", str(tmp_path / "again")])
    captured = capsys.readouterr()
    assert code in (1, 2)
    assert text in captured.out + captured.err
    assert "Traceback" not in captured.err


def test_inputs_are_given_all_or_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(CARD_POSTING), "--dd", f"DALYTRAN={tmp_path / 'x'}", "--output", str(tmp_path)]) == 2
    assert "also give CARDXREF, ACCTDATA" in capsys.readouterr().err
    assert main(["run", str(CARD_POSTING), "--dd", "NONSENSE", "--output", str(tmp_path)]) == 2
    assert "NAME=FILE" in capsys.readouterr().err
    assert main(["run", str(CARD_POSTING), "--dd", "DALYTRN=x", "--output", str(tmp_path)]) == 2
    assert "no queue has that DD name; the DD names are DALYTRAN, CARDXREF" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.PS"))


@pytest.mark.slow
def test_a_million_records_in_bounded_memory(tmp_path: Path) -> None:
    import resource
    import subprocess
    import sys

    command = [sys.executable, "-c", "from tdqsim.cli import main; raise SystemExit(main())", "run", str(CARD_POSTING)]
    command += ["--records", "1000000", "--json", "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1])["records_in"] == 1_000_000
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 250_000  # kilobytes
    assert Decimal(json.loads(done.stdout)["amount_in"]) > 0
