"use strict";
/* The figures of a run's page. */
(() => {
  const { draw, short, tip, style, colour, series, light } = Figures;
  const STATES = ["supported", "refuted", "dormant", "under_test", "proposed"];
  const MECHANISMS = ["de_novo", "inspired_by", "refine", "merge"];
  const named = (names) => ({ domain: names, range: names.map(colour) });

  draw("tree", (d, width) => Plot.plot({
    width, height: Math.max(110, 56 * d.rows + 30), style,
    marginLeft: width < 500 ? 30 : 46, marginRight: width < 500 ? 30 : 46, marginTop: 28, marginBottom: 16,
    x: { axis: null, domain: [0, Math.max(1, d.columns - 1)] }, y: { axis: null, domain: [d.rows - 0.5, -0.5] },
    color: named(MECHANISMS),
    marks: [
      Plot.text(d3.range(d.columns), { x: (i) => i, frameAnchor: "top", dy: -18, text: (i) => (width < 500 ? `${i}` : `generation ${i}`), fill: "var(--soft)" }),
      Plot.link(d.links, { x1: "x1", y1: "y1", x2: "x2", y2: "y2", stroke: "mechanism", strokeWidth: 2, curve: "bump-x" }),
      Plot.dot(d.nodes, { x: "x", y: "y", r: 17, fill: (n) => colour(n.state), stroke: "var(--card)", strokeWidth: 2, href: (n) => `#${encodeURIComponent(n.id)}` }),
      Plot.text(d.nodes, { x: "x", y: "y", text: "id", fill: "var(--card)", fontWeight: 700, pointerEvents: "none" }),
      Plot.text(d.nodes, { x: "x", y: "y", text: (n) => n.belief.toFixed(2), dy: 27, fill: "var(--soft)", fontSize: 11 }),
      Plot.tip(d.nodes, Plot.pointer({ x: "x", y: "y", title: (n) => `${n.id} · ${n.state.replace("_", " ")} · P(H) = ${n.belief.toFixed(2)}\n${n.mechanism.replace("_", " ")}${n.parents.length ? " of " + n.parents.join(", ") : ""}\n\n${short(n.statement, 260)}`, ...tip() })),
    ],
  }));

  draw("beliefs", (d, width) => {
    const ends = d.lines.map((l) => ({ ...l, y: l.belief })).sort((a, b) => b.belief - a.belief);
    const step = 13 / 300;
    ends.forEach((e, i) => { if (i && ends[i - 1].y - e.y < step) e.y = ends[i - 1].y - step; });
    const limits = [[d.support, "supported from here"], [d.refute, "refuted from here"]];
    return Plot.plot({
      width, height: 360, style, marginLeft: 44, marginRight: 38, marginBottom: 40, marginTop: 30,
      x: { label: "event", domain: [0, d.last], ticks: Math.max(3, Math.floor(width / 110)) },
      y: { label: "P(H)", domain: [0, 1], grid: true, ticks: 6 },
      symbol: { domain: ["prior", "supports", "contradicts", "inconclusive"], range: ["circle", "triangle", "times", "square"] },
      marks: [
        Plot.ruleY(limits, { y: (l) => l[0], stroke: (l, i) => colour(i ? "refuted" : "supported"), strokeDasharray: "5 4" }),
        Plot.text(limits, { y: (l) => l[0], text: (l) => l[1], frameAnchor: "left", dx: 5, dy: -4, lineAnchor: "bottom", fill: (l, i) => colour(i ? "refuted" : "supported"), fontSize: 11 }),
        Plot.line(d.points.concat(d.lines.map((l) => ({ id: l.id, seq: d.last, belief: l.belief, state: l.state }))),
          { x: "seq", y: "belief", z: "id", stroke: (p) => colour(p.state), strokeWidth: 2, strokeOpacity: 0.85, curve: "step-after" }),
        Plot.dot(d.points, { x: "seq", y: "belief", symbol: "stance", r: 4.5, fill: (p) => (p.trusted ? colour(p.state) : "var(--card)"), stroke: (p) => colour(p.state), strokeWidth: 1.6, href: (p) => `#${encodeURIComponent(p.evidence || p.id)}` }),
        Plot.text(ends, { x: d.last, y: "y", text: "id", dx: 7, textAnchor: "start", fill: (e) => colour(e.state), fontWeight: 600, clip: false }),
        Plot.tip(d.points, Plot.pointer({ x: "seq", y: "belief", maxRadius: 50, title: (p) => `${p.id} · P(H) = ${p.belief.toFixed(2)}\n${p.evidence ? `${p.evidence} ${p.stance}${p.trusted ? "" : ", not trusted"}` : "first belief"}\n\n${short(p.text, 220)}`, ...tip() })),
      ],
    });
  });

  draw("mix", (d, width) => Plot.plot({
    width, height: 50 * d.rows.length + 48, style, marginLeft: 18, marginRight: 20, marginTop: 24, marginBottom: 34,
    x: { label: null, domain: [0, 1], tickFormat: "%", ticks: 5 }, y: { axis: null, domain: d.rows.map((r) => r.name), padding: 0.5 },
    color: series(d.categories),
    marks: [
      Plot.barX(d.shares, { x: "share", y: "name", fill: "category", insetLeft: 0.5, insetRight: 0.5, tip: tip(), channels: { step: "category" }, title: (s) => `${s.name}\n${s.category}: ${(100 * s.share).toFixed(0)} %` }),
      Plot.text(d.rows, { y: "name", x: 0, text: (r) => short(r.name, Math.floor(width / 7.5)), textAnchor: "start", dy: -20, fill: "var(--soft)" }),
    ],
  }));

  const matrix = (d, width) => {
    const cell = Math.min(46, (width - 116) / d.categories.length);
    const most = d3.max(d.cells, (c) => c.count) || 1;
    return Plot.plot({
      width, height: cell * d.categories.length + 84, style, marginLeft: 80, marginTop: 76, marginBottom: 6,
      marginRight: width - 80 - cell * d.categories.length,
      x: { axis: "top", domain: d.categories, label: null, tickRotate: -55, tickSize: 0, padding: 0.04 },
      y: { domain: d.categories, label: null, tickSize: 0, padding: 0.04 },
      marks: [
        Plot.cell(d.cells, { x: "to", y: "from", rx: 3, fill: (c) => `color-mix(in oklab, var(--accent) ${Math.round(85 * Math.sqrt(c.count / most))}%, var(--wash))`, tip: tip(), title: (c) => `${c.from} → ${c.to}: ${c.count}` }),
        Plot.text(d.cells.filter((c) => c.count), { x: "to", y: "from", text: "count", fontSize: 11, fill: (c) => (c.count / most > 0.3 ? "var(--card)" : "var(--ink)") }),
      ],
    });
  };
  draw("flow", matrix);
  draw("flow_beside", matrix);

  const mapTip = (cells) => Plot.tip(cells, Plot.pointer({ x: "x", y: "y", title: (c) => `${c.compound} (${c.part})\ntruth: ${c.labels.join(" or ")}` + (c.part === "exploration" ? "" : `\npredicted: ${c.predicted || "nothing"}${c.confidence === null ? "" : `, confidence ${c.confidence}`}\n${c.right ? "right" : "wrong"}${c.regret ? `, ${c.regret.toFixed(1)} meV/atom above the lowest` : ""}`), ...tip() }));
  const onColour = (d) => { /* black or white, whichever can be read on the cell's colour */
    const shades = new Map(d.labels.map((label, i) => [label, light(`--c${i % 14}`)]));
    return (c) => (c.part === "exploration" ? "var(--ink)" : shades.get(c.truth) ? "#10141a" : "#ffffff");
  };

  /* Families with their compounds in as many lines as the width asks for. */
  function listed(d, width) {
    const wide = Math.max(58, 28 + 8 * d3.max(d.cells, (c) => c.text.length)), columns = Math.max(1, Math.floor(width / wide));
    const lines = [], titles = [], cells = [];
    for (const family of d.rows) {
      const own = d.cells.filter((c) => c.y === family);
      titles.push({ y: lines.push(`${family}: title`) && lines.at(-1), text: family === "exploration" ? "open to exploration" : family });
      own.forEach((c, i) => {
        if (i % columns === 0) lines.push(`${family}: ${i}`);
        cells.push({ ...c, x: String(i % columns), y: lines.at(-1) });
      });
    }
    const ink = onColour(d);
    return Plot.plot({
      width, height: 30 * lines.length, style, marginLeft: 0, marginTop: 0, marginBottom: 2, marginRight: Math.max(0, width - wide * columns),
      x: { domain: d3.range(columns).map(String), axis: null, padding: 0.03 }, y: { domain: lines, axis: null, padding: 0.06 }, color: series(d.labels),
      marks: [
        Plot.text(titles, { y: "y", frameAnchor: "left", text: "text", fill: "var(--soft)", dy: 5 }),
        Plot.cell(cells, { x: "x", y: "y", rx: 3, fill: "truth", fillOpacity: (c) => (c.part === "exploration" ? 0.28 : 1), inset: 0.8, href: (c) => (c.part === "exploration" ? null : `#${encodeURIComponent(c.compound)}`) }),
        Plot.cell(cells.filter((c) => c.right === false), { x: "x", y: "y", rx: 3, fill: "none", stroke: "var(--ink)", strokeWidth: 2.2, inset: 1.4 }),
        Plot.text(cells, { x: "x", y: "y", text: (c) => (c.right === null ? c.text : `${c.text} ${c.right ? "✓" : "✗"}`), fontSize: 11.5, fontWeight: 600, fill: ink, pointerEvents: "none" }),
        mapTip(cells),
      ],
    });
  }

  draw("map", (given, width) => {
    if (given.kind === "chemical families") return listed(given, width);
    const lying = given.kind === "matrix of elements" && width > 700 && given.rows.length > given.columns.length;
    const narrow = given.kind === "periodic table" && width < 620; // there, only the columns between the outermost that are used
    const used = narrow ? d3.extent(given.cells, (c) => +c.x) : [];
    const d = narrow ? { ...given, columns: given.columns.filter((c) => +c >= used[0] && +c <= used[1]) } : lying ? { ...given, columns: given.rows, rows: given.columns, cells: given.cells.map((c) => ({ ...c, x: c.y, y: c.x })) } : given;
    const side = Math.min(52, (width - d.left) / d.columns.length);
    const small = side < 34;
    const ink = onColour(given);
    const marks = [
      Plot.cell(d.cells, { x: "x", y: "y", rx: 3, fill: "truth", fillOpacity: (c) => (c.part === "exploration" ? 0.28 : 1), inset: 0.8, href: (c) => (c.part === "exploration" ? null : `#${encodeURIComponent(c.compound)}`) }),
      Plot.cell(d.cells.filter((c) => c.right === false), { x: "x", y: "y", rx: 3, fill: "none", stroke: "var(--ink)", strokeWidth: 2.2, inset: 1.4 }),
      Plot.text(d.cells, { x: "x", y: "y", text: "text", fontSize: small ? 9 : 12.5, fontWeight: 600, dy: small ? 0 : -5, fill: ink, pointerEvents: "none" }),
      mapTip(d.cells),
    ];
    if (!small) marks.push(Plot.text(d.cells.filter((c) => c.right !== null), { x: "x", y: "y", text: (c) => (c.right ? "✓" : "✗"), dy: 11, fontSize: 12, fill: ink, pointerEvents: "none" }));
    return Plot.plot({
      width, height: side * d.rows.length + d.top, style, marginLeft: d.left, marginTop: d.top, marginBottom: 2,
      marginRight: Math.max(0, width - d.left - side * d.columns.length),
      x: { domain: d.columns, axis: d.xlabels ? "top" : null, label: null, tickSize: 0, ...(small ? { ticks: d.columns.filter((_, i) => i % 3 === 0) } : {}) },
      y: { domain: d.rows, axis: d.ylabels ? "left" : null, label: null, tickSize: 0 },
      color: series(d.labels), marks,
    });
  });

  draw("energies", (d, width) => {
    const longest = d3.max(d.labels, (l) => l.length); // its name is turned: up and to the right
    const top = 26 + Math.ceil(5.6 * longest), right = Math.max(44, Math.ceil(4 * longest) - 4);
    const left = 20 + 7.8 * d3.max(d.compounds, (c) => c.length), cell = Math.max(14, Math.min(64, (width - left - right) / d.labels.length)), high = 22, wide = cell > 34;
    const shade = (v) => `color-mix(in oklab, var(--hot) ${Math.round(78 * Math.min(1, Math.sqrt(v / d.scale)))}%, var(--cold))`;
    return Plot.plot({
      width, height: high * d.compounds.length + top + 4, style, marginLeft: left, marginTop: top, marginBottom: 4,
      marginRight: Math.max(0, width - left - cell * d.labels.length),
      x: { axis: "top", domain: d.labels, label: null, tickRotate: -55, tickSize: 0, padding: 0.03 },
      y: { domain: d.compounds, label: null, tickSize: 0, padding: 0.06 },
      marks: [
        Plot.cell(d.cells, { x: "label", y: "compound", rx: 2, fill: (c) => shade(c.energy), tip: tip(), title: (c) => `${c.compound}, ${c.label}\n${c.energy.toFixed(1)} meV/atom above the lowest${c.truth ? "\ntrue" : ""}${c.predicted ? "\npredicted" : ""}` }),
        Plot.text(wide ? d.cells : [], { x: "label", y: "compound", text: (c) => (c.energy >= 100 ? c.energy.toFixed(0) : c.energy.toFixed(1)), fontSize: 11, fill: "var(--heat-ink)", pointerEvents: "none" }),
        Plot.cell(d.cells.filter((c) => c.predicted), { x: "label", y: "compound", rx: 2, fill: "none", stroke: "var(--card)", strokeWidth: 6, pointerEvents: "none" }),
        Plot.cell(d.cells.filter((c) => c.predicted), { x: "label", y: "compound", rx: 2, fill: "none", stroke: (c) => (c.truth ? colour("supported") : colour("refuted")), strokeWidth: 2.5, pointerEvents: "none" }),
        Plot.dot(d.cells.filter((c) => c.truth), { x: "label", y: "compound", r: 2.6, dx: wide ? -cell / 2 + 8 : 0, fill: "var(--ink)", pointerEvents: "none" }),
      ],
    });
  });
})();
