"use strict";
(function () {
  function value(row, column) {
    var cell = row.cells[column];
    return cell.hasAttribute("data-v") ? cell.getAttribute("data-v") : null;
  }
  function compare(a, b, numeric) {
    return numeric ? Number(a) - Number(b) : a.localeCompare(b, "en", { numeric: true });
  }
  function sort(table, header) {
    var column = header.cellIndex;
    var numeric = header.classList.contains("n");
    var down = header.getAttribute("aria-sort") === "ascending";
    var body = table.tBodies[0];
    var rows = Array.from(body.rows);
    rows.sort(function (r, s) {
      var a = value(r, column), b = value(s, column);
      var unknownA = a === null || a === "" || a === "\u2013", unknownB = b === null || b === "" || b === "\u2013";
      if (unknownA || unknownB) { return Number(unknownA) - Number(unknownB); }
      return down ? compare(b, a, numeric) : compare(a, b, numeric);
    });
    Array.from(header.parentNode.cells).forEach(function (other) { other.setAttribute("aria-sort", "none"); });
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    rows.forEach(function (row) { body.appendChild(row); });
  }
  document.querySelectorAll("table.sortable thead button").forEach(function (button) {
    button.addEventListener("click", function () { sort(button.closest("table"), button.closest("th")); });
  });
  document.querySelectorAll("figure.gantt").forEach(function (figure) {
    var caption = figure.querySelector(".pick");
    figure.addEventListener("click", function (event) {
      var bar = event.target.closest(".mark-bars > *");
      if (!bar) { return; }
      figure.querySelectorAll(".chosen").forEach(function (other) { other.classList.remove("chosen"); });
      bar.classList.add("chosen");
      caption.textContent = bar.querySelector("title").textContent;
    });
  });
})();
