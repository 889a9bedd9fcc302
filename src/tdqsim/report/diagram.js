"use strict";
// Diagrams: zoom, and a search that fades everything but the boxes with a name and their neighbours. Events of the
// whole document are handled, so that a diagram that is added or replaced later needs no set-up.
(() => {
  const STEP = 1.25;

  function zoom(figure, how) {
    const svg = figure.querySelector(".sheet svg");
    if (!svg) return;
    if (how === "fit") {
      for (const each of ["width", "max-width", "min-width"]) svg.style.removeProperty(each);
      delete figure.dataset.scale;
      return;
    }
    const [, , width] = svg.getAttribute("viewBox").split(" ").map(Number);
    const now = svg.getBoundingClientRect().width / width || 1;
    scaled(figure, svg, Math.min(4, Math.max(0.2, how === "in" ? now * STEP : now / STEP)));
  }

  function scaled(figure, svg, scale) {
    const [, , width] = svg.getAttribute("viewBox").split(" ").map(Number);
    svg.style.setProperty("width", `${width * scale}px`);
    svg.style.setProperty("max-width", "none");
    svg.style.setProperty("min-width", "0");
    figure.dataset.scale = scale;
  }

  function find(figure) {
    const words = figure.querySelector("[data-find]").value.trim().toUpperCase();
    const boxes = [...figure.querySelectorAll(".box")];
    const found = boxes.filter((box) => words && box.dataset.names.includes(words));
    const numbers = new Set(found.map((box) => box.dataset.n));
    const near = new Set(numbers);
    for (const way of figure.querySelectorAll(".sheet [data-ends]")) {
      const ends = way.dataset.ends.split(" ");
      const on = ends.some((end) => numbers.has(end));
      if (on) ends.forEach((end) => near.add(end));
      way.classList.toggle("faded", Boolean(words) && !on);
    }
    for (const box of boxes) {
      box.classList.toggle("found", numbers.has(box.dataset.n));
      box.classList.toggle("faded", Boolean(words) && !near.has(box.dataset.n));
    }
    const output = figure.querySelector("output");
    output.textContent = words ? (found.length === 1 ? "1 box found" : `${found.length} boxes found`) : "";
    if (found.length) found[0].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest(".tdq-diagram [data-zoom]");
    if (button) zoom(button.closest(".tdq-diagram"), button.dataset.zoom);
  });
  document.addEventListener("input", (event) => {
    if (event.target.matches(".tdq-diagram [data-find]")) find(event.target.closest(".tdq-diagram"));
  });

  // For pages that replace a diagram: keep its scale and the search.
  window.tdqDiagram = {
    again(figure) {
      const svg = figure.querySelector(".sheet svg");
      if (svg && figure.dataset.scale) scaled(figure, svg, Number(figure.dataset.scale));
      if (figure.querySelector("[data-find]")?.value) find(figure);
    },
  };
})();
