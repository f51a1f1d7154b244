"use strict";
/* What all figures share: where their data lie, how they are drawn anew, colours and tips. */
const Figures = (() => {
  const source = document.getElementById("figure-data");
  const data = source ? JSON.parse(source.textContent) : {};
  const waiting = new Set();

  /* A figure is a group with a name; its links have names, its marks need none. */
  function named(plot, label) {
    plot.removeAttribute("class");
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", label);
    for (const mark of plot.querySelectorAll("g[aria-label], g[aria-description]")) {
      mark.removeAttribute("aria-label");
      mark.removeAttribute("aria-description");
    }
    for (const link of plot.querySelectorAll("a")) {
      link.setAttribute("aria-label", decodeURIComponent(link.href.baseVal.slice(1)));
    }
    return plot;
  }

  function draw(name, make) {
    const place = document.querySelector(`[data-figure="${name}"]`);
    if (!place || !data[name]) return () => {};
    let width = 0;
    const render = () => {
      place.replaceChildren(named(make(data[name], Math.max(280, Math.floor(width))), place.dataset.label));
      if (waiting.delete(name) && waiting.size === 0) document.dispatchEvent(new Event("figuresdrawn"));
    };
    waiting.add(name);
    new ResizeObserver(() => {
      if (place.clientWidth && Math.abs(place.clientWidth - width) > 1) { width = place.clientWidth; render(); }
    }).observe(place);
    return render;
  }

  const short = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);
  const percent = (x) => `${Math.round(100 * x)} %`;
  const tip = (options = {}) => ({
    fill: "var(--card)", stroke: "var(--line)", textPadding: 9, lineWidth: 26, fontSize: 12.5, ...options,
  });
  const style = { fontSize: "12.5px", background: "transparent", overflow: "visible" };
  const colour = (name) => `var(--${name})`;
  const series = (names) => ({ domain: names, range: names.map((_, i) => `var(--c${i % 14})`) });
  /* Whether a colour of the sheet is light, so that dark text is read better on it (WCAG's relative luminance). */
  const light = (name) => {
    const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim().slice(1);
    const [r, g, b] = [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179;
  };
  return { data, light, draw, short, percent, tip, style, colour, series };
})();
