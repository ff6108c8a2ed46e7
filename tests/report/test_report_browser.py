"""The page in a real browser: no complaints, tables sort, atoms are found and explained."""

import html
import json
import re
import shutil
import subprocess
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.data.synthetic import university
from mlnlearn.evaluate.effects import NumberEffect
from mlnlearn.evaluate.row_reasons import RowReasons
from mlnlearn.logic.schema import Schema
from mlnlearn.model.explanation import Contribution
from mlnlearn.model.shown import ShownRule
from mlnlearn.report import report
from mlnlearn.report.net import net_parts
from mlnlearn.report.page import whole_page
from mlnlearn.report.rows import rows_report
from mlnlearn.report.sections import section
from mlnlearn.structure.boosting import BoostedMLN

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--virtual-time-budget=5000",
]

# What a visitor does; the answers are left where --dump-dom shows them.
VISIT = """
const found = {};
const table = document.querySelector("#rules table");
const weights = () => [...table.tBodies[0].rows].map((row) => Number(row.cells[0].dataset.v));
const head = table.tHead.rows[0].cells[0];
head.firstElementChild.click();
found.down = weights(); found.downSort = head.getAttribute("aria-sort");
head.firstElementChild.click();
found.up = weights(); found.upSort = head.getAttribute("aria-sort");
const second = table.tHead.rows[0].cells[1];
second.firstElementChild.click();
const rules = [...table.tBodies[0].rows].map((row) => row.cells[1].dataset.v);
found.inOrder = rules.every((rule, k) => !k || rules[k - 1].localeCompare(rule) <= 0);
found.onlyOne = [...table.tHead.rows[0].cells].map((cell) => cell.getAttribute("aria-sort"));

const atoms = document.getElementById("atom-table");
const shown = () => [...atoms.tBodies[0].rows].filter((row) => !row.hidden);
const first = atoms.querySelector("button.atom");
found.before = atoms.querySelectorAll(".why").length;
first.click();
found.expanded = first.getAttribute("aria-expanded");
found.why = atoms.querySelector(".why p").textContent;
found.probability = Number(first.closest("tr").cells[1].dataset.v);
found.parts = [...atoms.querySelectorAll(".why li b")].map((b) => b.textContent);
found.bars = [...atoms.querySelectorAll(".why .bar i")].map((i) => {
  const [left, width] = [parseFloat(i.style.left), parseFloat(i.style.width)];
  return i.className === "down" ? [left + width, left] : [left, left + width];
});
atoms.tHead.rows[0].cells[1].firstElementChild.click();
atoms.tHead.rows[0].cells[1].firstElementChild.click();
found.follows = first.closest("tr").nextElementSibling.className;
first.click();
found.after = atoms.querySelectorAll(".why").length;

const search = document.getElementById("atom-search");
found.all = shown().length;
search.value = first.textContent.toUpperCase();
search.dispatchEvent(new Event("input"));
found.matches = shown().map((row) => row.cells[0].dataset.v);
found.count = document.getElementById("atom-count").textContent;
search.value = "";
const truth = document.getElementById("atom-truth");
truth.value = "true";
truth.dispatchEvent(new Event("change"));
found.truths = [...new Set(shown().map((row) => row.cells[2].dataset.v))];
const box = document.querySelector("input[data-filter=rules]");
const left = () => [...table.tBodies[0].rows].filter((row) => !row.hidden);
box.value = "publication"; box.dispatchEvent(new Event("input"));
found.filtered = left().map((row) => row.textContent);
found.told = box.closest(".controls").querySelector("output").textContent;
box.value = "no such word"; box.dispatchEvent(new Event("input"));
found.emptyGroups = [...document.querySelectorAll(".group")].map((group) => group.hidden);
box.value = ""; box.dispatchEvent(new Event("input"));
found.unfiltered = left().length;
found.wide = document.documentElement.scrollWidth <= document.documentElement.clientWidth;
document.documentElement.dataset.found = JSON.stringify(found);
"""


def open_page(folder, page, width):
    file = folder / "report.html"
    file.write_text(page, encoding="utf-8")
    command = [BROWSER, *FLAGS, f"--user-data-dir={folder / 'profile'}"]
    command += [f"--window-size={width},900", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.fixture(scope="module")
def page():
    areas = university(40, areas=2, rng=0).databases
    return report(BoostedMLN(target="advisedBy", steps=3, max_leaves=3).fit(areas).model, areas)


def test_a_visit(tmp_path, page):
    script = f"<script>{VISIT}</script></body>"
    shown, complaints = open_page(tmp_path, page.replace("</body>", script), 1280)
    assert complaints == []
    found = json.loads(html.unescape(re.search(r'data-found="([^"]*)"', shown)[1]))
    assert found["down"] == sorted(found["down"], reverse=True)
    assert found["up"] == found["down"][::-1] == sorted(found["down"])
    assert len(set(found["down"])) > 3
    assert (found["downSort"], found["upSort"]) == ("descending", "ascending")
    assert found["inOrder"]
    assert found["onlyOne"] == ["none", "ascending", *["none"] * 5]
    assert (found["before"], found["after"], found["expanded"]) == (0, 0, "true")
    assert f"probability {found['probability']:.4f}" in found["why"]
    parts = [float(part.replace("−", "-")) for part in found["parts"]]
    total = float(re.search(r"Log-odds (\S+),", found["why"])[1].replace("−", "-"))
    assert sum(parts) == pytest.approx(total, abs=0.01)
    # a waterfall: every bar begins where the one before it ended
    for (_, end), (start, _) in pairwise(found["bars"]):
        assert start == pytest.approx(end, abs=0.6)
    assert found["follows"] == "detail"
    assert found["all"] == 500
    assert len(found["matches"]) == 1
    assert found["count"] == "1 of 500 atoms"
    assert found["truths"] == ["true"]
    assert 0 < len(found["filtered"]) < found["unfiltered"]
    assert all("publication" in text for text in found["filtered"])
    assert found["told"] == f"{len(found['filtered'])} of {found['unfiltered']}"
    assert found["emptyGroups"] == [True]
    assert found["wide"]


# Walk through a net: choose a node, then go to the first of its causes by a click.
WALK = """
const around = document.getElementById("net-around");
const choice = document.getElementById("net-node");
const columns = () => [...around.children].map((part) =>
  [...part.querySelectorAll("button, strong")].map((node) => node.textContent));
const walk = { first: columns() };
choice.value = "30"; choice.dispatchEvent(new Event("change"));
walk.chosen = columns();
around.querySelector("button").click();
walk.after = columns(); walk.value = choice.value;
walk.wide = document.documentElement.scrollWidth <= document.documentElement.clientWidth;
parent.document.documentElement.dataset.found = JSON.stringify(walk);
"""


@pytest.mark.parametrize("width", [375, 1280])
def test_a_net_of_sixty_nodes_is_walked_node_by_node(tmp_path, width):
    nodes = [f"column{k}(row)" for k in range(60)]
    edges = [(k, j) for j in range(60) for k in (j - 1, j // 2) if 0 <= k < j]
    net = SimpleNamespace(nodes=nodes, edges=sorted(set(edges)), svg=lambda: "<svg></svg>")
    parts = section("rules", "Net", *net_parts(SimpleNamespace(net=net)))
    page = whole_page("Net", "test", [], [("rules", "Net", parts)])
    inner = html.escape(page.replace("</body>", f"<script>{WALK}</script></body>"))
    style = f"width:{width}px;height:800px;border:0"
    frame = f'<!doctype html><iframe style="{style}" srcdoc="{inner}">'
    shown, complaints = open_page(tmp_path, frame, 1400)
    assert complaints == []
    found = json.loads(html.unescape(re.search(r'data-found="([^"]*)"', shown)[1]))
    assert all(len(part) <= 6 for part in found["first"])  # never a tangle
    assert found["chosen"] == [
        [nodes[15], nodes[29]],
        [nodes[30]],
        [nodes[31]],
    ]
    assert found["after"][1] == [nodes[15]]
    assert nodes[30] in found["after"][2]
    assert found["value"] == "15"
    assert found["wide"]


# Find a rule among a thousand, then a row, and see why it has its answer.
READ = """
const box = document.querySelector("input[data-filter=rules]");
box.value = "sent by 777"; box.dispatchEvent(new Event("input"));
const rules = [...document.querySelectorAll("#rules tbody tr")].filter((row) => !row.hidden);
const search = document.getElementById("atom-search");
search.value = "order 41"; search.dispatchEvent(new Event("input"));
const rows = [...document.querySelectorAll("#atom-table tbody tr")].filter((row) => !row.hidden);
rows[0].querySelector("button.atom").click();
const read = {
  rules: rules.map((row) => row.cells[0].textContent),
  rows: rows.map((row) => row.cells[0].dataset.v),
  why: document.querySelector(".why p").textContent,
  parts: [...document.querySelectorAll(".why li b")].map((part) => part.textContent),
  curves: document.querySelectorAll("#effects svg").length,
  boxes: document.querySelectorAll("#data svg rect").length,
  wide: document.documentElement.scrollWidth <= document.documentElement.clientWidth,
};
parent.document.documentElement.dataset.found = JSON.stringify(read);
"""


def page_of_a_column():
    rules = [
        ShownRule(f"by={k}", f"of orders sent by {k} a few are returned", 0.1, 0.2, k, 0.5)
        for k in range(1000)
    ]
    parts = [Contribution(f"number of items is {k}", None, 0.25 - k / 10) for k in range(4)]
    reasons = [
        RowReasons(f"order {k}", "orders.returned", "true", 0.6, "", tuple(parts), "log-odds")
        for k in range(200)
    ]
    effect = NumberEffect("amount", np.arange(9.0), np.linspace(0.2, 0.7, 9), "P(returned)")
    schema = Schema.of("returned(order)", "by(order,person)", "tall(person)")
    data = Database.from_facts(schema, {"by": [("o1", "Ann")]})
    return rows_report(
        "orders.returned",
        rules,
        None,
        reasons=reasons,
        effects=[effect],
        importances={
            "amount": 0.2,
            "a feature with a long name, by the customer of the order": 0.1,
        },
        databases=[data],
    )


@pytest.mark.parametrize("width", [375, 1280])
def test_the_page_of_a_column_with_a_thousand_rules(tmp_path, width):
    page = page_of_a_column()
    assert len(page.encode()) < 2_000_000
    inner = html.escape(page.replace("</body>", f"<script>{READ}</script></body>"))
    style = f"width:{width}px;height:800px;border:0"
    frame = f'<!doctype html><iframe style="{style}" srcdoc="{inner}">'
    shown, complaints = open_page(tmp_path, frame, 1400)
    assert complaints == []
    found = json.loads(html.unescape(re.search(r'data-found="([^"]*)"', shown)[1]))
    assert found["rules"] == ["of orders sent by 777 a few are returned"]
    assert found["rows"] == ["order 41", "order 141"]
    assert found["why"] == "true: together +0.400 (log-odds)."
    assert [float(part.replace("−", "-")) for part in found["parts"]] == [0.25, 0.15, 0.05, -0.05]
    assert (found["curves"], found["boxes"]) == (1, 3)
    assert found["wide"]


def test_errors_would_be_noticed(tmp_path, page):
    broken = page.replace("</body>", "<script>nothing.here()</script></body>")
    _, complaints = open_page(tmp_path, broken, 1280)
    assert len(complaints) == 1


def test_a_phone_shows_everything_without_scrolling_sideways(tmp_path, page):
    """A frame as wide as a phone: nothing may stick out of it but what scrolls by itself."""
    script = "parent.document.documentElement.dataset.wide = document.documentElement.scrollWidth"
    inner = html.escape(page.replace("</body>", f"<script>{script}</script></body>"))
    frame = f'<!doctype html><iframe style="width:375px;height:800px;border:0" srcdoc="{inner}">'
    shown, complaints = open_page(tmp_path, frame, 1280)
    assert complaints == []
    assert 'data-wide="375"' in shown
