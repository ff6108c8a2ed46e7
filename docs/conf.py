"""The site: `make docs` builds it, offline, from these pages and the docstrings."""

import inspect
import sys
from importlib.metadata import version as installed
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import mlnlearn

project = "mlnlearn"
author = "the authors of mlnlearn"
version = release = installed("mlnlearn")
html_title = "mlnlearn"

sys.path.append(str(Path(__file__).parent / "_ext"))
extensions = ["gallery", "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["gallery"]  # whose pages are made into _generated

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

# Classes show what they are made with and what they can do; types stand in the signatures.
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
# `name` in a docstring is a word of code: a link where there is such a name, else as it stands.
default_role = "code"
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
}
html_sidebars = {"index": [], "start": []}  # which have no pages below them
copyright = "the authors of mlnlearn, MIT licence"


class PublicNames(SphinxDirective):
    """``public-names ROOM …``: the reference of all public names that live in these packages."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Expand to a directive of autodoc for each name."""
        rooms = self.arguments[0].split()
        lines = [".. currentmodule:: mlnlearn", ""]
        for name in sorted(mlnlearn._HOME_OF, key=str.lower):
            if mlnlearn._HOME_OF[name].split(".")[1] in rooms:
                lines += [*_documented(name), ""]
        found = nodes.section()
        found.document = self.state.document
        self.state.nested_parse(StringList(lines, source=__file__), 0, found)
        return found.children


def _documented(name: str) -> list[str]:
    value = getattr(mlnlearn, name)
    if inspect.ismodule(value):
        return [f".. automodule:: {value.__name__}", "   :imported-members:", "   :no-index:",
                "", ".. currentmodule:: mlnlearn"]  # fmt: skip
    if inspect.isclass(value):
        return [f".. autoclass:: {name}"]
    if callable(value):
        return [f".. autofunction:: {name}"]
    return [f".. autodata:: {name}", "   :no-value:"]


def without_bounds(signature: str) -> str:
    """Return a signature with ``int`` for ``Annotated[int, Bounds(…)]``: texts say what is allowed.

    >>> without_bounds("(steps: Annotated[int, Bounds(low=0)] | None = 5)")
    '(steps: int | None = 5)'
    """
    while (start := signature.find("Annotated[")) >= 0:
        depth, comma, stop = 0, 0, start + len("Annotated[")
        first = stop
        while depth >= 0 and stop < len(signature):
            depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(signature[stop], 0)
            if signature[stop] == "," and depth == 0 and not comma:
                comma = stop
            stop += 1
        signature = signature[:start] + signature[first : comma or stop - 1] + signature[stop:]
    return signature


def _plain_signature(
    _app: Sphinx, _what: str, _name: str, _thing: object, _options: object, *parts: str | None
) -> tuple[str | None, ...]:
    return tuple(part and without_bounds(part) for part in parts)


def setup(app: Sphinx) -> None:
    """Tell Sphinx of the directive, and of what signatures are to look like."""
    app.add_directive("public-names", PublicNames)
    app.connect("autodoc-process-signature", _plain_signature)
