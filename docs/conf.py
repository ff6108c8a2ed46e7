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
html_sidebars = {"index": []}
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


def setup(app: Sphinx) -> None:
    """Tell Sphinx of the directive."""
    app.add_directive("public-names", PublicNames)
