"use strict";
(() => {
  const element = (name, text, kind) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };

  // Tables: a header cell sorts by its column; rows keep their open explanation below them.
  const details = new Map();
  const key = (row, place, words) => {
    const value = row.cells[place].dataset.v;
    if (words) return value;
    return value === "" ? -Infinity : Number(value);
  };
  const compare = (a, b) =>
    typeof a === "string"
      ? a.localeCompare(b, undefined, { numeric: true })
      : a < b ? -1 : a > b ? 1 : 0;
  const sort = (table, head) => {
    const words = "words" in head.dataset;
    const first = words ? "ascending" : "descending";
    const second = words ? "descending" : "ascending";
    const way = head.getAttribute("aria-sort") === first ? second : first;
    for (const other of head.parentNode.cells) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", way);
    const sign = way === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const rows = [...body.rows].filter((row) => !row.classList.contains("detail"));
    const keyed = rows.map((row) => [key(row, head.cellIndex, words), row]);
    keyed.sort((a, b) => sign * compare(a[0], b[0]));
    for (const [, row] of keyed) {
      body.append(row);
      if (details.has(row)) body.append(details.get(row));
    }
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    for (const head of table.tHead.rows[0].cells) {
      head.firstElementChild.addEventListener("click", () => sort(table, head));
    }
  }

  // Boxes that filter: rows of their section in which all words stand, and groups with any.
  for (const box of document.querySelectorAll("input[data-filter]")) {
    const home = document.getElementById(box.dataset.filter);
    const groups = [...home.querySelectorAll(".group")];
    const every = [...home.querySelectorAll("tbody tr")];
    const told = box.closest(".controls").querySelector("output");
    const narrow = () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      let left = 0;
      for (const row of every) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        left += row.hidden ? 0 : 1;
      }
      for (const group of groups) {
        group.hidden = !group.querySelector("tbody tr:not([hidden])");
      }
      told.textContent = `${left} of ${every.length}`;
    };
    box.addEventListener("input", narrow);
    narrow();
  }

  // A net: the chosen node between its causes and effects, each a button that chooses it.
  const net = document.getElementById("net-data");
  if (net) {
    const { names, parents } = JSON.parse(net.textContent);
    const children = names.map((_, k) => names.map((_, j) => j).filter((j) => parents[j].includes(k)));
    const around = document.getElementById("net-around");
    const choice = document.getElementById("net-node");
    const column = (title, nodes) => {
      const part = element("div");
      part.append(element("h4", `${title}: ${nodes.length}`));
      for (const node of nodes) {
        const button = element("button", names[node]);
        button.type = "button";
        button.addEventListener("click", () => choose(node));
        part.append(button);
      }
      return part;
    };
    const choose = (node) => {
      choice.value = String(node);
      const self = element("div", undefined, "chosen");
      self.append(element("h4", "chosen"), element("strong", names[node]));
      around.replaceChildren(column("depends on", parents[node]), self, column("decides", children[node]));
      const near = parents[node].length + children[node].length;
      document.getElementById("net-count").textContent = `${near} of ${names.length - 1} other nodes`;
    };
    choice.addEventListener("change", () => choose(Number(choice.value)));
    if (names.length) choose(Number(around.dataset.first));
  }

  // Atoms: explanations open below their row, the search hides what does not match.
  const store = document.getElementById("atom-data");
  if (!store) return;
  const { rules, atoms } = JSON.parse(store.textContent);
  const table = document.getElementById("atom-table");
  const rows = [...table.tBodies[0].rows];

  const explained = ({ said, parts }) => {
    const box = element("div", undefined, "why");
    box.append(element("p", said));
    // A waterfall: each bar begins where the one before it ended; even odds are the line at 0.
    let sum = 0;
    const ends = parts.map((part) => (sum += part[2] ?? 0));
    const low = Math.min(0, ...ends);
    const room = Math.max(0, ...ends) - low || 1;
    const list = element("ul", undefined, "parts");
    list.style.setProperty("--zero", `${(100 * -low) / room}%`);
    for (const [place, [rule, count, value, shown]] of parts.entries()) {
      const item = element("li");
      const bar = element("span", undefined, "bar fall");
      const ink = element("i", undefined, shown.startsWith("−") ? "down" : "up");
      const start = place ? ends[place - 1] : 0;
      const from = value === null ? low : Math.min(start, ends[place]);
      ink.style.left = `${(100 * (from - low)) / room}%`;
      ink.style.width = `${value === null ? 100 : Math.max((100 * Math.abs(value)) / room, 0.5)}%`;
      bar.append(ink);
      const times = count === null || Math.abs(count) === 1 ? "" : ` × ${count.toLocaleString("en")}`;
      item.append(element("b", shown), bar, element("code", rules[rule]));
      if (times) item.lastChild.append(element("small", times));
      list.append(item);
    }
    box.append(parts.length ? list : element("p", "No rule says anything about it."));
    return box;
  };

  const toggle = (row, button) => {
    const open = details.get(row);
    if (open) {
      open.remove();
      details.delete(row);
    } else {
      const below = element("tr", undefined, "detail");
      const cell = element("td");
      cell.colSpan = row.cells.length;
      cell.append(explained(atoms[Number(button.dataset.atom)]));
      below.append(cell);
      row.after(below);
      details.set(row, below);
    }
    button.setAttribute("aria-expanded", String(!open));
  };
  for (const row of rows) {
    const button = row.querySelector("button.atom");
    button.addEventListener("click", () => toggle(row, button));
  }

  const search = document.getElementById("atom-search");
  const truth = document.getElementById("atom-truth");
  const count = document.getElementById("atom-count");
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = `${row.cells[0].dataset.v} ${row.cells[3]?.dataset.v ?? ""}`.toLowerCase();
      const fits =
        words.every((word) => text.includes(word)) &&
        (!truth.value || row.cells[2].dataset.v === truth.value);
      row.hidden = !fits;
      if (details.has(row)) details.get(row).hidden = !fits;
      shown += fits ? 1 : 0;
    }
    count.textContent = `${shown} of ${rows.length} ${table.tHead.rows[0].cells[0].textContent}s`;
  };
  search.addEventListener("input", filter);
  truth.addEventListener("change", filter);
  filter();
})();
