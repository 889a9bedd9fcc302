"use strict";
// Pictures are drawn when they come into sight, the others when nothing else is to do and before the page is printed,
// and all again when the reader's system turns light or dark.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 600px)");

  function template() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = { gridcolor: colour("--line"), linecolor: colour("--line"), zerolinecolor: colour("--line"), automargin: true };
    return {
      layout: {
        paper_bgcolor: "rgba(0,0,0,0)",
        plot_bgcolor: "rgba(0,0,0,0)",
        font: { color: colour("--ink"), family: getComputedStyle(document.body).fontFamily, size: narrow.matches ? 11 : 12 },
        hoverlabel: { bgcolor: colour("--soft"), bordercolor: colour("--line"), font: { color: colour("--ink") }, align: "left" },
        xaxis: axis,
        yaxis: axis,
      },
    };
  }

  const figureOf = (plot) => JSON.parse(plot.parentNode.querySelector("script").textContent);

  function draw(plot) {
    const figure = figureOf(plot);
    figure.layout.template = template();
    figure.layout.margin = { l: 8, r: 12, t: 8, b: 8, ...figure.layout.margin };
    Plotly.react(plot, figure.data, figure.layout, { responsive: true, displaylogo: false, displayModeBar: false });
    plot.dataset.drawn = "yes";
    if (plot.dataset.view) look(plot, Number(plot.dataset.view));
  }

  function look(plot, chosen) {
    const view = figureOf(plot).views[chosen];
    const buttons = plot.parentNode.querySelectorAll(".views button");
    buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(at === chosen)));
    plot.dataset.view = chosen;
    Plotly.update(plot, view.data, { "xaxis.title.text": view.along, "xaxis.autorange": true });
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest(".views button");
    if (button) look(button.closest("figure").querySelector(".plot"), [...button.parentNode.children].indexOf(button));
  });

  const sight = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting && !entry.target.dataset.drawn) draw(entry.target);
    }
  }, { rootMargin: "400px" });
  for (const plot of document.querySelectorAll(".plot")) sight.observe(plot);

  // Those in folded parts have no width to be drawn in.
  const waiting = () => [...document.querySelectorAll(".plot:not([data-drawn])")].filter((plot) => plot.offsetWidth);
  const later = window.requestIdleCallback || ((work) => setTimeout(work, 100));
  function rest() {
    const next = waiting()[0];
    if (!next) return;
    draw(next);
    later(rest);
  }
  later(rest);
  addEventListener("beforeprint", () => waiting().forEach(draw));

  function again() {
    for (const plot of document.querySelectorAll(".plot[data-drawn]")) draw(plot);
  }
  dark.addEventListener("change", again);
  narrow.addEventListener("change", again);
})();
