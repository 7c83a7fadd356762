"""docs/note: its numbers are those of its script, the library finds them too, and the PDF is made of what is there."""

from __future__ import annotations

import ast
import importlib.util
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import lsmdp
from lsmdp.theory.rivals import CostsAgain, how_rivals_fare

HERE = Path(__file__).parent.parent / "docs" / "note"
SOURCE = (HERE / "note.typ").read_text(encoding="utf-8")
TEXT = SOURCE[SOURCE.index("= Setting") : SOURCE.index("[References]")]
LINES = 60
PRINTED = 1e-8  # the script prints nine decimals, and sums of 300,000 terms near 10^5 are good to about as many
CLOSE = 1e-7  # nine decimals of the sums are kept, and 5,000 leaders are certified to 1e-12 each
GIVEN = {".9999", ".0001", ".001"}  # the data of examples, not results

Floats = npt.NDArray[np.float64]


def kl(Q: Floats, P: Floats) -> Floats:
    return (Q * np.log(np.where(Q > 0.0, Q, 1.0) / P)).sum(axis=1)


def kept() -> dict[str, Any]:
    return dict(json.loads((HERE / "numbers.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def printed() -> dict[str, Any]:
    """What the script prints, by name."""
    command = [sys.executable, str(HERE / "reproduce.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return dict(json.loads(done.stdout))


def test_the_numbers_are_those_of_the_script(printed: dict[str, Any]) -> None:
    assert list(kept()) == list(printed), "write them again with: make note"
    for name, value in kept().items():
        np.testing.assert_allclose(value, printed[name], rtol=PRINTED, atol=PRINTED, err_msg=name)


def test_the_script_is_short_and_stands_alone() -> None:
    text = (HERE / "reproduce.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert sorted(name.name for node in imports for name in node.names) == ["json", "numpy"]
    assert f"in {LINES} lines of numpy" in re.sub(r"\s+", " ", TEXT)


def test_the_note_has_every_number_and_types_none() -> None:
    """A number that was computed is read from numbers.json; what stands in the text is the data of an example."""
    used = set(re.findall(r'#?(?:n|size)\("([^"]+)"', TEXT))
    used |= set(re.findall(r'"(0\.\d+)"', TEXT))  # the rows of a table, by the gap of the chain
    assert {name for name in kept() if not name.startswith("curve")} == used
    typed = set(re.findall(r"(?<![\w.])\d*\.\d{3,}", TEXT)) - {f"{g}" for g in used}
    assert typed == GIVEN


def test_the_curves_have_the_rounds_that_the_plot_says() -> None:
    """The note repeats the formula of the script for the rounds that are drawn."""
    assert "calc.pow(10.0, 1 + 4 * k / 98)" in SOURCE
    rounds = np.geomspace(10, 1e5, 99).astype(int)
    again = [math.floor(10.0 ** (1 + 4 * k / 98) + 1e-6) for k in range(99)]
    assert again == rounds.tolist()
    for name, curve in kept().items():
        if name.startswith("curve"):
            assert len(curve) == len(rounds)


# The library, which shares no code with the script, finds the same numbers.


def leaving(a: float, b: float) -> Floats:
    """Two states: the first is left with chance a, the second with chance b."""
    return np.array([[1.0 - a, a], [b, 1.0 - b]])


def test_the_swap_game_in_the_library() -> None:
    lazy = {"1e-3": 1e-3, "1e-4": 1e-4, "1e-6": 1e-6, "swap": 0.0}
    rivals = {name: leaving(1.0 - s, 1.0 - s) for name, s in lazy.items()}
    costs = np.tile([[0.0, 1.0], [1.0, 0.0]], (2_500, 1))
    lmdp, mean, found = lsmdp.LMDP(leaving(0.7, 0.7)), costs.mean(axis=0), kept()
    ftl = lsmdp.play(lmdp, lsmdp.FollowTheLeader(tolerance=1e-12), costs, start=0).learners["ftl"].loss
    assert found["ftl"] == pytest.approx(ftl, abs=CLOSE)
    again = CostsAgain(costs, len(costs), 1.0)
    met = how_rivals_fare(lmdp, again, np.array([1.0, 0.0]), rivals, lsmdp.solve(lmdp, mean).v, mean, search=False)
    assert [rival.name for rival in met] == list(lazy)
    for rival in met:
        expected = (rival.loss, ftl - rival.loss, rival.mixing)
        assert found[rival.name] == pytest.approx(expected, abs=CLOSE), rival.name
    assert round(found["1e-6"][1]) == 702
    assert round(found["1e-6"][2]) < 2_500


def test_proposition_1() -> None:
    """Its constants: L = 5/3, and the line that the regret stays above."""
    L = 1.0 / (1.0 - 0.4)
    assert L**3 + 2 * L < 8
    assert 0.5 + 2 * L < 4
    assert 0.5 + math.log(0.7) > 0.14
    assert kept()["swap"][1] >= (0.5 + math.log(0.7)) * 5_000 - 8 * (1 + math.log(5_000)) - 4


@pytest.mark.parametrize("g", [0.2, 0.1, 0.05, 0.025])
def test_proposition_2(g: float) -> None:
    """The slope that was measured from T = 30,000 on is kappa, up to what is left of the transient there.

    The sums of cos(w t)/t that converge are off by 1/(w T), and v is linear in the mean cost up to (1/(2 w g T))^2.
    """
    slope, kappa, excess, bound, old = kept()[f"{g}"]
    w, T = 0.2 * g, 30_000
    assert abs(slope - kappa) <= 1 / (w * T) + (1 / (2 * w * g * T)) ** 2
    assert kappa == pytest.approx((1 - g**2 / 4) / 4, rel=0.05)  # it tends to that as w -> 0
    assert excess <= bound <= old
    assert kappa < 2 + 3 * g


def forecast(T: int, steps: int) -> tuple[float, Floats, float]:
    """The learner of Theorem 4 in the swap game, with the policies whose entries are multiples of 1/steps.

    H = 1, so after a new draw it moves at once to a state drawn from the law of the new policy. Returns its expected
    loss, exactly, what each policy pays, and the bound on the difference.
    """
    P, D = leaving(0.7, 0.7), 1.0 - math.log(0.3)
    entries = np.arange(steps + 1) / steps
    policies = np.array([leaving(a, b) for a in entries for b in entries])
    divergence = np.array([kl(Q, P) for Q in policies])
    eta = math.sqrt(math.log(len(policies)) / T)
    laws = np.tile([1.0, 0.0], (len(policies), 1))
    weights, same = np.ones(len(policies)), np.full(len(policies), 1.0 / len(policies))
    left, drawn = np.zeros(2), np.zeros(len(policies))  # where a new draw finds the state; what is drawn
    loss, paid = 0.0, np.zeros(len(policies))
    for t in range(T):
        c = np.array([0.0, 1.0] if t % 2 == 0 else [1.0, 0.0])
        own = (laws * (c + divergence)).sum(axis=1)
        laws = np.einsum("nx,nxy->ny", laws, policies)
        loss += float(same @ own + left @ (c[:, None] - np.log(P)) @ (drawn @ laws))
        assert same.sum() + left.sum() == pytest.approx(1.0)
        lighter, law = weights * np.exp(-eta * own / D), weights / weights.sum()
        same = law * lighter / weights
        np.testing.assert_allclose(same + (1 - same.sum()) * lighter / lighter.sum(), lighter / lighter.sum())
        left, drawn, weights, paid = (law - same) @ laws, lighter / lighter.sum(), lighter, paid + own
    return loss, paid, D * (math.log(len(policies)) / eta + eta * T / 8 + eta * T)


def test_theorem_4() -> None:
    """Its learner is within the bound, grows like sqrt(T) against swap, and is soon ahead of follow the leader."""
    regret = {}
    for T in (500, 2_000, 8_000):
        loss, paid, bound = forecast(T, 10)
        swap = -T * math.log(0.7)
        assert paid.min() == pytest.approx(swap)
        assert loss <= paid.min() + bound
        regret[T] = loss - swap
    assert regret[2_000] <= 2.2 * regret[500]  # four times the rounds
    assert regret[8_000] <= 2.2 * regret[2_000]
    assert regret[8_000] < 0.5 * (0.5 + math.log(0.7)) * 8_000


# The PDF.


def builder() -> Any:
    spec = importlib.util.spec_from_file_location("note_build", HERE / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pages(pdf: bytes) -> int:
    return int(re.findall(rb"<xmpTPg:NPages>(\d+)<", pdf)[0])


def test_the_pdf_is_made_of_what_is_there() -> None:
    pdf = (HERE / "note.pdf").read_bytes()
    assert f"/Keywords({builder().fingerprint()})".encode() in pdf, "build it again with: make note"
    assert 4 <= pages(pdf) <= 6
    assert len(pdf) < 400_000


def test_the_note_builds() -> None:
    pytest.importorskip("typst", reason="Typst is not installed here; make test installs it with the developers' tools")
    pdf = builder().build()
    assert pdf.startswith(b"%PDF")
    assert pages(pdf) == pages((HERE / "note.pdf").read_bytes())
