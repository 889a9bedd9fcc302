"use strict";
// Charts of a page, drawn as SVG from the figures in it: lines with steps, bars, and bars in lanes. A chart is drawn
// when it comes into sight, the others when nothing else is to do and before the page is printed, and again when its
// width changes. Pointing at a chart shows its values, dragging over it shows a part of it, a double click all of it.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const CHARACTER = 6.6;
  const group = (number) => number.toLocaleString("en-US", { maximumFractionDigits: 6 });

  function add(parent, name, attributes, text) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  function ticks(low, high, room) {
    const span = high - low || 1;
    const rough = span / Math.max(1, Math.floor(room));
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
    const found = [];
    for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(Number(at.toPrecision(12)));
    return found;
  }

  const figureOf = (plot) => (plot.figure ??= JSON.parse(plot.parentNode.querySelector("script").textContent));

  // The positions of a figure in the chosen view, and the ends of its numeric axes.
  function measured(plot) {
    const figure = figureOf(plot);
    const view = figure.views[Number(plot.dataset.view || 0)];
    const data = figure.data.map((trace, at) => {
      const changes = Object.entries(view ? view.data : {}).map(([key, values]) => [key, values[at]]);
      return { ...trace, ...Object.fromEntries(changes) };
    });
    const lying = data.some((trace) => trace.orientation === "h");
    const lines = data[0].type === "scatter";
    const numbers = (trace) => (lying ? trace.x : lines ? trace.x : []);
    const ends = data.flatMap((trace) => numbers(trace).map((value, at) => (trace.base ? trace.base[at] : 0) + value));
    const starts = lying ? data.flatMap((trace) => trace.base || [0]) : ends;
    const along = view ? view.along : figure.layout.xaxis.title.text;
    const least = lines ? Math.min(...ends) : Math.min(0, ...starts);
    return { figure, data, lying, lines, along, low: plot.range?.[0] ?? least, high: plot.range?.[1] ?? Math.max(...ends) };
  }

  function draw(plot) {
    const chart = measured(plot);
    const width = Math.max(plot.clientWidth, 260);
    const height = chart.figure.layout.height;
    plot.textContent = "";
    if (chart.figure.layout.showlegend) legend(plot, chart.data);
    const svg = add(plot, "svg", { width, height: height - 24, viewBox: `0 0 ${width} ${height - 24}`, "aria-hidden": "true" });
    const frame = { svg, left: 56, right: width - 14, top: 10, bottom: height - 66, width };
    if (chart.lying) lanes(plot, chart, frame);
    else if (chart.lines) steps(plot, chart, frame);
    else columns(chart, frame);
    add(svg, "text", { class: "axis", x: (frame.left + frame.right) / 2, y: frame.bottom + 36, "text-anchor": "middle" }, chart.along);
    plot.dataset.drawn = "yes";
  }

  function legend(plot, data) {
    const line = document.createElement("p");
    line.className = "legend";
    for (const trace of data) {
      const key = document.createElement("span");
      key.style.setProperty("--key", trace.line?.color || trace.marker.color);
      key.textContent = trace.name;
      line.append(key);
    }
    plot.append(line);
  }

  function xAxis(frame, low, high) {
    const scale = (value) => frame.left + ((value - low) / (high - low || 1)) * (frame.right - frame.left);
    for (const tick of ticks(low, high, (frame.right - frame.left) / 110)) {
      add(frame.svg, "line", { class: "grid", x1: scale(tick), x2: scale(tick), y1: frame.top, y2: frame.bottom });
      add(frame.svg, "text", { class: "tick", x: scale(tick), y: frame.bottom + 16, "text-anchor": "middle" }, group(tick));
    }
    const clip = `clip${(xAxis.count = (xAxis.count || 0) + 1)}`;
    const path = add(add(frame.svg, "defs", {}), "clipPath", { id: clip });
    add(path, "rect", { x: frame.left, y: 0, width: Math.max(frame.right - frame.left, 0), height: frame.bottom + 1 });
    return [scale, add(frame.svg, "g", { "clip-path": `url(#${clip})` })];
  }

  function yAxis(frame, high, dtick) {
    const scale = (value) => frame.bottom - (value / (high || 1)) * (frame.bottom - frame.top);
    for (const tick of ticks(0, high, dtick ? high / dtick : (frame.bottom - frame.top) / 42)) {
      add(frame.svg, "line", { class: "grid", x1: frame.left, x2: frame.right, y1: scale(tick), y2: scale(tick) });
      add(frame.svg, "text", { class: "tick", x: frame.left - 6, y: scale(tick) + 4, "text-anchor": "end" }, group(tick));
    }
    return scale;
  }

  function steps(plot, chart, frame) {
    const high = Math.max(1, ...chart.data.flatMap((trace) => trace.y));
    frame.left = 20 + group(high).length * CHARACTER;
    const y = yAxis(frame, high, chart.figure.layout.yaxis.dtick);
    const [x, place] = xAxis(frame, chart.low, chart.high);
    for (const trace of chart.data) {
      const path = trace.x.map((value, at) => (at ? `H${x(value).toFixed(1)}V${y(trace.y[at]).toFixed(1)}` : `M${x(value).toFixed(1)} ${y(trace.y[0]).toFixed(1)}`));
      add(place, "path", { class: "step", d: path.join(""), stroke: trace.line.color });
    }
    pointed(plot, chart, frame, x);
  }

  function columns(chart, frame) {
    const [trace] = chart.data;
    const y = yAxis(frame, Math.max(...trace.y, 0));
    const room = (frame.right - frame.left) / (trace.x.length || 1);
    const every = Math.ceil((Math.max(...trace.x.map((name) => name.length), 1) + 1) * CHARACTER / room);
    trace.x.forEach((name, at) => {
      const middle = frame.left + (at + 0.5) * room;
      const bar = add(frame.svg, "rect", { x: middle - room * 0.35, width: room * 0.7, y: y(trace.y[at]), height: frame.bottom - y(trace.y[at]), fill: trace.marker.color });
      add(bar, "title", {}, `${name}: ${group(trace.y[at])}`);
      if (at % every === 0) add(frame.svg, "text", { class: "tick", x: middle, y: frame.bottom + 16, "text-anchor": "middle" }, name);
    });
  }

  function lanes(plot, chart, frame) {
    const names = chart.figure.layout.yaxis.categoryarray || [...new Set(chart.data.flatMap((trace) => trace.y))];
    const most = Math.floor(frame.width / 3 / CHARACTER);
    frame.left = 12 + Math.min(most, Math.max(...names.map((name) => name.length), 1)) * CHARACTER;
    const [x, place] = xAxis(frame, chart.low, chart.high);
    const room = (frame.bottom - frame.top) / (names.length || 1);
    names.forEach((name, at) => {
      const shown = name.length > most ? `${name.slice(0, most - 1)}…` : name;
      const text = add(frame.svg, "text", { class: "tick", x: frame.left - 6, y: frame.top + (at + 0.5) * room + 4, "text-anchor": "end" }, shown);
      add(text, "title", {}, name);
    });
    for (const trace of chart.data) {
      const thick = room * (trace.width || 0.65);
      trace.y.forEach((name, at) => {
        const start = trace.base ? trace.base[at] : 0;
        const left = x(start);
        const bar = add(place, "rect", {
          x: left, width: Math.max(1.5, x(start + trace.x[at]) - left), y: frame.top + (names.indexOf(name) + 0.5) * room - thick / 2,
          height: thick, fill: trace.marker.color,
        });
        add(bar, "title", {}, trace.text ? trace.text[at] : `${name}: ${group(trace.x[at])}`);
      });
    }
    pointed(plot, chart, frame, x);
  }

  // The values below the pointer, and the selection of a part by dragging.
  function pointed(plot, chart, frame, x) {
    const { svg, left, right } = frame;
    const guide = add(svg, "line", { class: "guide", y1: frame.top, y2: frame.bottom, visibility: "hidden" });
    const output = document.createElement("p");
    output.className = "values";
    plot.append(output);
    let from = null;
    const at = (event) => {
      const pixel = Math.min(right, Math.max(left, event.clientX - svg.getBoundingClientRect().left));
      return chart.low + ((pixel - left) / (right - left)) * (chart.high - chart.low);
    };
    svg.onpointermove = (event) => {
      const value = at(event);
      guide.setAttribute("x1", x(value));
      guide.setAttribute("x2", x(value));
      guide.setAttribute("visibility", "visible");
      if (!chart.lines) return;
      const shown = chart.data.map((trace) => {
        const last = trace.x.findLastIndex((each) => each <= value);
        return last < 0 ? "" : `${trace.name} ${group(trace.y[last])}`;
      });
      output.textContent = `${group(Number(value.toPrecision(6)))}: ${shown.filter(Boolean).join(", ")}`;
    };
    svg.onpointerleave = () => guide.setAttribute("visibility", "hidden");
    svg.onpointerdown = (event) => { from = at(event); };
    svg.onpointerup = (event) => {
      const to = at(event);
      if (from !== null && Math.abs(x(to) - x(from)) > 8) {
        plot.range = [Math.min(from, to), Math.max(from, to)];
        draw(plot);
      }
      from = null;
    };
    svg.ondblclick = () => {
      plot.range = null;
      draw(plot);
    };
  }

  function look(plot, chosen) {
    const buttons = plot.parentNode.querySelectorAll(".views button");
    buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(at === chosen)));
    plot.dataset.view = chosen;
    plot.range = null;
    draw(plot);
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

  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    for (const plot of document.querySelectorAll(".plot[data-drawn]")) draw(plot);
  });
})();
