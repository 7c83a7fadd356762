r"""Formulas become MathML while the manual is built: no script and no network is needed to read them.

docutils brings a converter from TeX to MathML. It knows a little less TeX than GitHub, which shows the same pages, so
``plain`` rewrites the rest first: ``\frac12`` has its braces left out, ``\Big(`` asks for a size where ``\left(``
measures it, and ``\lt`` and ``\dots`` go by other names. A formula that cannot be converted is a
warning, hence an error of the build. Two habits of the converter are undone in ``_settle``: it sets the index of
``\bar c_t`` below the letter instead of beside it, and lets ``\Vert`` grow with whatever stands on its line.
"""

from __future__ import annotations

import html
import re
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

OTHER_NAMES = {r"\lt": "<", r"\gt": ">", r"\dots": r"\ldots"}
ACCENTS, FENCES = "ˉˆ˜^~¯", "‖{}∣"
RELATIONS = ("=", "≤", "≥", "<", ">", "≡", "→", "↦", ",", ":", "+", "−", "-")
SHORT = 4  # parts that stay together
TOKEN = r"(?:\\[A-Za-z]+|[^\s{}\\])"
ElementTree.register_namespace("", "http://www.w3.org/1998/Math/MathML")
log = logging.getLogger(__name__)


def plain(tex: str) -> str:
    """The same formula in the TeX that docutils knows."""
    for name, other in OTHER_NAMES.items():
        tex = re.sub(rf"{re.escape(name)}(?![A-Za-z])", lambda _, other=other: f"{other} ", tex)
    tex = re.sub(r"\\[bB]ig\s*([(\[])", r"\\left\1", tex)
    tex = re.sub(r"\\[bB]ig\s*([)\]])", r"\\right\1", tex)
    tex = re.sub(r"([_^])(\d)(?=\d)", r"\1{\2}", tex)
    return _fractions(tex)


def _fractions(tex: str) -> str:
    r"""Give both arguments of every ``\frac`` their braces."""
    done = ""
    while found := re.search(r"\\[td]?frac(?![A-Za-z])", tex):
        numerator, rest = _argument(tex[found.end() :])
        denominator, rest = _argument(rest)
        done += f"{tex[: found.end()]}{{{_fractions(numerator)}}}{{{_fractions(denominator)}}}"
        tex = rest
    return done + tex


def _argument(tex: str) -> tuple[str, str]:
    """The first argument in ``tex``, a group or a token, and what follows it."""
    tex = tex.lstrip()
    if not tex.startswith("{"):
        token = re.match(TOKEN, tex)
        return (token.group(), tex[token.end() :]) if token else ("", tex)
    depth = 0
    for k, letter in enumerate(tex):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if not depth:
            return tex[1:k], tex[k + 1 :]
    return tex[1:], ""


def converted(tex: str, *, block: bool) -> str:
    """MathML for a formula."""
    made = tex2mathml(plain(tex), as_block=block)
    named = re.sub(r"&(?!lt;|gt;|amp;)\w+;", lambda entity: html.unescape(entity.group()), made)
    formula = ElementTree.fromstring(named)
    _settle(formula)
    pieces = [formula] if block else _pieces(formula)
    return "<wbr>".join(ElementTree.tostring(piece, encoding="unicode", short_empty_elements=False) for piece in pieces)


def _pieces(formula: ElementTree.Element) -> list[ElementTree.Element]:
    """A formula within a line, cut after its relations, where the line may end; browsers do not cut formulas."""
    pieces = [ElementTree.Element(formula.tag)]
    for part in formula:
        pieces[-1].append(part)
        if part.tag.endswith("mo") and part.text in RELATIONS and len(pieces[-1]) >= SHORT:
            pieces.append(ElementTree.Element(formula.tag))
    return [piece for piece in pieces if len(piece)]


def _settle(formula: ElementTree.Element) -> None:
    for element in formula.iter():
        if element.tag.endswith("munderover") and element[2].text in ACCENTS:
            letter, index, accent = element
            over = ElementTree.Element(f"{element.tag.removesuffix('munderover')}mover", accent="true")
            over.extend([letter, accent])
            element.tag, element[:] = element.tag.replace("munderover", "msub"), [over, index]
        for place, part in enumerate(element):
            ends = element.tag.endswith("mrow") and place in (0, len(element) - 1)
            if part.text and part.text in FENCES and not ends:
                part.set("stretchy", "false")


def _append(writer: Any, node: nodes.Element, *, block: bool) -> None:
    try:
        formula = converted(node.astext(), block=block)
    except (MathError, SyntaxError) as wrong:
        log.warning("this formula cannot be shown: %s: %s", wrong, node.astext(), location=node)
        return
    writer.body.append(f'<div class="math">{formula}</div>' if block else formula)


def _inline(writer: Any, node: nodes.Element) -> None:
    _append(writer, node, block=False)
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.Element) -> None:
    _append(writer, node, block=True)
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
