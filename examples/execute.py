"""Execute the notebooks of this folder and keep what they show, without Jupyter.

    python examples/execute.py              all of them: outputs and pictures are written into the files
    python examples/execute.py trips.ipynb  one

A notebook is JSON, and its code cells run here one after the other in one namespace, as in Jupyter: what is printed,
the last expression of a cell (unless a semicolon ends it) and every figure that was drawn become its outputs.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DOTS = 64  # per inch, of the pictures: small files that are sharp enough


def execute(path: Path) -> dict[str, Any]:
    """The notebook in a file with fresh outputs."""
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("agg")
    pyplot.close("all")  # what others have drawn is no part of it
    book: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell["execution_count"] = count
            cell["outputs"] = _run("".join(cell["source"]), names, count, f"{path.name}, cell {count}")
    return book


def _run(source: str, names: dict[str, Any], count: int, where: str) -> list[dict[str, Any]]:
    from matplotlib import pyplot

    tree, printed, value = ast.parse(source, where), io.StringIO(), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, where, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), where, "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None and not source.rstrip().endswith(";"):
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = _lines(value._repr_html_())
        outputs.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    for number in pyplot.get_fignums():
        picture = io.BytesIO()
        pyplot.figure(number).savefig(picture, format="png", dpi=DOTS, metadata={"Software": None})
        png = base64.b64encode(picture.getvalue()).decode("ascii")
        outputs.append({"output_type": "display_data", "metadata": {}, "data": {"image/png": png}})
    pyplot.close("all")
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def written(book: dict[str, Any]) -> str:
    """A notebook as the text of its file."""
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Execute the notebooks that were named, or all."""
    for path in [HERE / name for name in sys.argv[1:]] or sorted(HERE.glob("*.ipynb")):
        path.write_text(written(execute(path)), encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
