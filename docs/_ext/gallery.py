"""Runs the examples of the gallery, and makes a page with what they printed and drew of each.

An example is a Python file with cells (``# %%``) or a notebook. Pages are written before Sphinx
reads its sources, into a folder that is in no repository; they are made anew where the example, or
the library, has changed since.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from sphinx.application import Sphinx

import mlnlearn

HERE = Path(__file__).resolve().parent.parent
EXAMPLES, MADE = HERE / "gallery", HERE / "_generated" / "gallery"
CODE, TEXT = "code", "markdown"

Cells = list[tuple[str, str]]


def cells_of(path: Path) -> Cells:
    """Return the cells of an example, each with its kind."""
    if path.suffix == ".ipynb":
        found = json.loads(path.read_text("utf-8"))["cells"]
        return [(cell["cell_type"], "".join(cell["source"])) for cell in found]
    cells: Cells = []
    for part in path.read_text("utf-8").split("# %%")[1:]:
        first, _, rest = part.partition("\n")
        if "[markdown]" in first:
            lines = [line.removeprefix("#").removeprefix(" ") for line in rest.strip().splitlines()]
            cells.append((TEXT, "\n".join(lines)))
        else:
            cells.append((CODE, rest.strip()))
    return cells


def page_of(path: Path) -> str:
    """Run an example in a folder of its own; return its page, having saved its pictures."""
    names: dict[str, object] = {"__name__": "__main__"}
    parts, pictures = [], 0
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for kind, text in cells_of(path):
                if kind == TEXT:
                    parts.append(text)
                    continue
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(text, str(path), "exec"), names)
                parts.append(f"```python\n{text}\n```")
                if printed.getvalue():
                    parts.append(f"```text\n{printed.getvalue().rstrip()}\n```")
                for number in plt.get_fignums():
                    pictures += 1
                    name = f"{path.stem}_{pictures}.png"
                    plt.figure(number).savefig(MADE / name, dpi=110)
                    parts.append(f"![{path.stem}, picture {pictures}]({name})")
                plt.close("all")
        finally:
            os.chdir(home)
    parts.append(f"{{download}}`As a notebook <{path.stem}.ipynb>`")
    return "\n\n".join(parts) + "\n"


def notebook_of(path: Path) -> str:
    """Return an example as a notebook that was not run."""
    run = {"execution_count": None, "outputs": []}
    cells = [
        {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)}
        | (run if kind == CODE else {})
        for kind, text in cells_of(path)
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


def make(_: Sphinx) -> None:
    """Make all pages that are missing or old, and the list of them."""
    mpl.use("agg")
    MADE.mkdir(parents=True, exist_ok=True)
    code = max(file.stat().st_mtime for file in Path(mlnlearn.__file__).parent.rglob("*.py"))
    titles, names = [], []
    for path in sorted(EXAMPLES.iterdir()):
        if path.suffix not in (".py", ".ipynb"):
            continue
        page = MADE / f"{path.stem}.md"
        if not page.exists() or page.stat().st_mtime < max(code, path.stat().st_mtime):
            text = page_of(path)
            (MADE / f"{path.stem}.ipynb").write_text(notebook_of(path), "utf-8")
            page.write_text(text, "utf-8")
        heading = page.read_text("utf-8").partition("\n")[0].removeprefix("# ")
        titles.append(
            f"[![{heading}]({path.stem}_1.png)]({path.stem}.md)\n\n[{heading}]({path.stem}.md)"
        )
        names.append(path.stem)
    listed = "\n\n".join(titles)
    tree = "\n".join(["```{toctree}", ":hidden:", "", *names, "```"])
    said = "Examples that were run when this site was made."
    (MADE / "index.md").write_text(f"# Gallery\n\n{said}\n\n{listed}\n\n{tree}\n", "utf-8")


def setup(app: Sphinx) -> None:
    """Make the pages before Sphinx looks for sources."""
    app.connect("builder-inited", make)
