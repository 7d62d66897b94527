// What moves on the page of a run: tables sort by their headers, legends switch series on and off,
// plots show the value under the pointer or, with the arrow keys, one point after the other. Without
// it everything can still be read.
"use strict";
(() => {
  const all = (where, what) => Array.from(where.querySelectorAll(what));

  // Tables: numbers as numbers, what is no number last.
  const key = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.value ?? cell.textContent.trim();
    const number = Number.parseFloat(text);
    return /^[-+]?[\d.]/.test(text) && !Number.isNaN(number) ? number : text;
  };
  const compare = (a, b) => {
    const numbers = [typeof a === "number", typeof b === "number"];
    if (numbers[0] && numbers[1]) return a - b;
    if (numbers[0] !== numbers[1]) return numbers[0] ? -1 : 1;
    return a < b ? -1 : a > b ? 1 : 0;
  };
  const isNothing = (value) => value === "-" || value === "n/a" || value === "";
  const sort = (table, header, column) => {
    const up = header.getAttribute("aria-sort") !== "ascending";
    for (const other of all(table, "thead th")) other.setAttribute("aria-sort", "none");
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows).map((row, at) => ({row, at, key: key(row, column)}));
    rows.sort((a, b) => {
      const empty = Number(isNothing(a.key)) - Number(isNothing(b.key));
      return empty || (up ? 1 : -1) * compare(a.key, b.key) || a.at - b.at;
    });
    for (const each of rows) body.append(each.row);
  };
  for (const table of all(document, "table.sortable")) {
    all(table, "thead th").forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      header.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => sort(table, header, column));
    });
  }

  // Legends.
  const values = JSON.parse(document.getElementById("values").textContent);
  const show = (figure, series, on) => {
    for (const part of all(figure, `[data-series="${series}"]`)) part.classList.toggle("off", !on);
  };
  for (const figure of all(document, "figure[data-chart]")) {
    const chart = values[figure.dataset.chart];
    const off = new Set();
    for (const button of all(figure, ".legend button")) {
      const series = Number(button.dataset.toggle);
      button.addEventListener("click", () => {
        if (!off.delete(series)) off.add(series);
        button.setAttribute("aria-pressed", String(!off.has(series)));
        show(figure, series, !off.has(series));
      });
    }

    // Values: a ring around the point, its words beside it, and the same words for screen readers.
    const plot = figure.querySelector(".plot");
    if (!chart || !plot) continue;
    const dot = document.createElement("div");
    const words = document.createElement("div");
    dot.className = "dot";
    words.className = "value";
    dot.hidden = words.hidden = true;
    words.setAttribute("role", "status");
    plot.append(dot, words);
    const points = chart.series.flatMap((series, at) =>
      series.points.map(([x, y, text]) => ({at, x, y, text: chart.series.length > 1 ? `${series.name}: ${text}` : text})));
    let current = -1;
    const scale = () => plot.clientWidth / chart.width;
    const visible = () => points.filter((point) => !off.has(point.at));
    const place = (point) => {
      const by = scale();
      dot.hidden = words.hidden = false;
      dot.style.left = `${point.x * by}px`;
      dot.style.top = `${point.y * by}px`;
      words.textContent = point.text;
      const right = point.x * by < plot.clientWidth / 2;
      words.style.left = right ? `${point.x * by + 10}px` : "";
      words.style.right = right ? "" : `${plot.clientWidth - point.x * by + 10}px`;
      const above = point.y * by - words.offsetHeight - 8;
      words.style.top = `${Math.max(0, above)}px`;
    };
    const hide = () => {
      dot.hidden = words.hidden = true;
      current = -1;
    };
    const point_at = (event) => {
      const box = plot.getBoundingClientRect();
      const x = (event.clientX - box.left) / scale();
      const y = (event.clientY - box.top) / scale();
      let best = null;
      let least = 60;
      for (const point of visible()) {
        const distance = Math.hypot(point.x - x, point.y - y);
        if (distance < least) {
          least = distance;
          best = point;
        }
      }
      if (best) place(best);
      else hide();
    };
    plot.addEventListener("pointermove", point_at);
    plot.addEventListener("pointerdown", point_at);
    plot.addEventListener("pointerleave", hide);
    plot.addEventListener("blur", hide);
    plot.addEventListener("keydown", (event) => {
      const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
      if (event.key === "Escape") hide();
      const shown = visible();
      if (!step || shown.length === 0) return;
      event.preventDefault();
      current = current < 0 ? (step > 0 ? 0 : shown.length - 1) : (current + step + shown.length) % shown.length;
      place(shown[current]);
    });
  }

  // Print what is folded away, too.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = all(document, "details:not([open])");
    for (const each of folded) each.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const each of folded) each.open = false;
  });
})();
