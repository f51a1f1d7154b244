"use strict";
/* The figures of the leaderboard page. */
(() => {
  const { draw, short, percent, tip, style, series } = Figures;
  const MECHANISMS = ["de novo", "inspired by", "refined", "merged"];
  const KINDS = { model: "circle", "scripted policy": "square", floor: "diamond" };
  const KIND_SYMBOLS = { domain: Object.keys(KINDS), range: Object.values(KINDS) };
  const KIND_COLOURS = { domain: Object.keys(KINDS), range: ["var(--accent)", "var(--c1)", "var(--soft)"] };
  const above = (rows, width, key = "name") => Plot.text(rows, { y: key, frameAnchor: "left", text: (r) => short(r.name, Math.floor(width / 7.4)), dy: -17, fill: "var(--ink)", fontSize: 12.5 });

  draw("accuracy", (rows, width) => Plot.plot({
    width, height: 46 * rows.length + 50, style, marginLeft: 18, marginRight: 20, marginTop: 20, marginBottom: 36,
    x: { label: "held-out accuracy, 95 % interval", domain: [0, 1], tickFormat: "%", grid: true, ticks: width < 500 ? 5 : 10 },
    y: { axis: null, domain: rows.map((r) => r.name), padding: 0.5 }, color: KIND_COLOURS, symbol: KIND_SYMBOLS,
    marks: [
      Plot.link(rows.filter((r) => r.low !== null), { x1: "low", x2: "high", y1: "name", y2: "name", stroke: "kind", strokeWidth: 3, strokeOpacity: 0.45, strokeLinecap: "round" }),
      Plot.dot(rows, { x: "accuracy", y: "name", r: 6, fill: "kind", symbol: "kind", stroke: "var(--card)" }),
      above(rows, width),
      Plot.tip(rows, Plot.pointerY({ x: "accuracy", y: "name", title: (r) => `${r.name}\n${percent(r.accuracy)}${r.low === null ? "" : ` (${percent(r.low)} to ${percent(r.high)})`}\n${r.rank ? `rank ${r.rank}` : "not ranked"}`, ...tip() })),
    ],
  }));

  const axis = document.querySelector("#cost-axis");
  /* Decades of the costs that occur; with a zero among them the axis is linear up to the smallest decade. */
  const costScale = (rows) => {
    const costs = rows.map((r) => r.x).filter((x) => x > 0);
    const decades = d3.range(Math.floor(Math.log10(d3.min(costs))), Math.floor(Math.log10(d3.max(costs))) + 1).map((k) => 10 ** k);
    if (costs.length === rows.length) return { type: "log", nice: true };
    return { type: "symlog", constant: decades[0], domain: [0, 1.3 * d3.max(costs)], ticks: [0, ...decades] };
  };
  /* Names that find room, above their marks or, at the left edge, beside them; the others are in the tip and in the table. */
  const roomFor = (rows, front, x, y) => {
    const kept = [];
    for (const row of [...front, ...rows.filter((r) => !front.includes(r))]) {
      const wide = 3.4 * short(row.name, 26).length, beside = x(row.x) < EDGE + wide;
      const at = beside ? [x(row.x) + 12 + wide, y(row.accuracy)] : [x(row.x), y(row.accuracy) - 13];
      if (kept.every((k) => Math.abs(k.at[0] - at[0]) > k.wide + wide || Math.abs(k.at[1] - at[1]) > 15)) kept.push({ row: { ...row, beside }, at, wide });
    }
    return kept.map((k) => k.row);
  };
  const EDGE = 60;
  const redrawCost = draw("cost", (d, width) => {
    const key = axis?.value ?? d.axes[0].key;
    const rows = d.rows.filter((r) => r[key] !== null).map((r) => ({ ...r, x: r[key] }));
    const front = d3.sort(rows.filter((r) => r.front.includes(key)), (r) => r.x);
    const make = (names) => Plot.plot({
      width, height: 360, style, marginLeft: EDGE, marginRight: 60, marginBottom: 42, marginTop: 28,
      x: { label: d.axes.find((a) => a.key === key).label + " a run", grid: true, tickFormat: (x) => d3.format("~s")(x), ticks: width < 500 ? 4 : 8, ...costScale(rows) },
      y: { label: "held-out accuracy", domain: [0, 1], tickFormat: "%", grid: true }, color: KIND_COLOURS, symbol: KIND_SYMBOLS,
      marks: [
        Plot.line(front, { x: "x", y: "accuracy", curve: "step-after", stroke: "var(--ink)", strokeDasharray: "4 4", strokeOpacity: 0.6 }),
        Plot.dot(rows, { x: "x", y: "accuracy", r: 6.5, fill: "kind", symbol: "kind", stroke: "var(--card)" }),
        Plot.text(names.filter((r) => !r.beside), { x: "x", y: "accuracy", text: (r) => short(r.name, 26), dy: -13, fontSize: 11.5, fill: "var(--soft)" }),
        Plot.text(names.filter((r) => r.beside), { x: "x", y: "accuracy", text: (r) => short(r.name, 26), dx: 12, textAnchor: "start", fontSize: 11.5, fill: "var(--soft)", stroke: "var(--card)", strokeWidth: 4 }),
        Plot.tip(rows, Plot.pointer({ x: "x", y: "accuracy", title: (r) => `${r.name}\n${percent(r.accuracy)} at ${r.x.toLocaleString("en")}`, ...tip() })),
      ],
    });
    const bare = make([]);
    return make(roomFor(rows, front, bare.scale("x").apply, bare.scale("y").apply));
  });
  axis?.addEventListener("change", redrawCost);

  draw("scaling", (d, width) => {
    const columns = width < 620 ? 1 : d.measures.length;
    const facet = columns === 1 ? { fy: "measure" } : { fx: "measure" };
    const gap = { domain: d.measures, label: null, padding: columns === 1 ? 0.25 : 0.16 };
    const rows = d.names.length;
    const high = 46 * rows + 12;
    const scaled = d.values.map((v) => ({ ...v, part: v.value / d.most[v.measure] }));
    return Plot.plot({
      width, height: columns === 1 ? d.measures.length * (high + 40) : high + 34, style,
      marginLeft: 6, marginRight: columns === 1 ? 46 : 30, marginTop: 34, marginBottom: 4,
      fx: columns === 1 ? undefined : { ...gap, axis: "top" }, fy: columns === 1 ? { ...gap, axis: null } : undefined,
      x: { axis: null, domain: [0, columns === 1 ? 1 : 1.2] }, y: { axis: null, domain: d.names, padding: 0.62 },
      marks: [
        columns === 1 ? Plot.text(d.measures, { fy: (m) => m, frameAnchor: "top-left", dy: -26, text: (m) => m, fontWeight: 600 }) : null,
        Plot.barX(scaled, { ...facet, x: "part", y: "name", fill: "var(--accent)", rx: 2 }),
        Plot.text(scaled, { ...facet, x: "part", y: "name", text: (v) => (v.measure === "resolved" ? percent(v.value) : v.value.toFixed(1)), textAnchor: "start", dx: 5 }),
        Plot.text(columns === 1 ? scaled : scaled.filter((v) => v.measure === d.measures[0]), { ...facet, y: "name", frameAnchor: "left", text: (v) => short(v.name, Math.floor((columns === 1 ? width : width / columns) / 7.6)), dy: -17, fill: "var(--soft)", fontSize: 11.5 }),
      ],
    });
  });

  const stacked = (categories) => (d, width) => Plot.plot({
    width, height: 54 * d.rows.length + 52, style, marginLeft: 18, marginRight: 20, marginTop: 28, marginBottom: 32,
    x: { label: null, domain: [0, 1], tickFormat: "%", ticks: 5 }, y: { axis: null, domain: d.rows.map((r) => r.name), padding: 0.58 },
    color: series(categories(d)),
    marks: [
      Plot.barX(d.shares, { x: "share", y: "name", fill: "category", insetLeft: 0.5, insetRight: 0.5, tip: tip(), title: (s) => `${s.name}\n${s.category}: ${(100 * s.share).toFixed(0)} %` }),
      above(d.rows, width),
    ],
  });
  draw("mechanisms", stacked(() => MECHANISMS));
  draw("steps", stacked((d) => d.categories));
})();
