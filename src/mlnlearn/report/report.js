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

  // Atoms: explanations open below their row, the search hides what does not match.
  const store = document.getElementById("atom-data");
  if (!store) return;
  const { rules, atoms } = JSON.parse(store.textContent);
  const table = document.getElementById("atom-table");
  const rows = [...table.tBodies[0].rows];

  const explained = ({ said, parts }) => {
    const box = element("div", undefined, "why");
    box.append(element("p", said));
    const largest = Math.max(...parts.map((part) => Math.abs(part[2] ?? 0)), 1e-9);
    const list = element("ul", undefined, "parts");
    for (const [rule, count, value, shown] of parts) {
      const item = element("li");
      const bar = element("span", undefined, "bar both");
      const ink = element("i", undefined, shown.startsWith("−") ? "down" : "up");
      ink.style.width = `${value === null ? 50 : (50 * Math.abs(value)) / largest}%`;
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
      const text = `${row.cells[0].dataset.v} ${row.cells[3].dataset.v}`.toLowerCase();
      const fits =
        words.every((word) => text.includes(word)) &&
        (!truth.value || row.cells[2].dataset.v === truth.value);
      row.hidden = !fits;
      if (details.has(row)) details.get(row).hidden = !fits;
      shown += fits ? 1 : 0;
    }
    count.textContent = `${shown} of ${rows.length} atoms`;
  };
  search.addEventListener("input", filter);
  truth.addEventListener("change", filter);
  filter();
})();
