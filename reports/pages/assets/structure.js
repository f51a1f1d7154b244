"use strict";
/* A small viewer for crystal structures: drag, arrow keys or buttons turn it. No library, no WebGL. */
(() => {
  const source = document.getElementById("structure-data");
  const canvas = document.querySelector("canvas.crystal");
  if (!source || !canvas) return;
  const phases = JSON.parse(source.textContent);
  const choose = document.querySelector("#phase");
  const caption = document.querySelector("#phase-caption");
  const legend = document.querySelector("#phase-key");
  const pen = canvas.getContext("2d");
  let turn = [0, 0];
  const START = [-0.42, 0.55];
  const rotation = () => {
    const [a, b] = turn, [ca, sa, cb, sb] = [Math.cos(a), Math.sin(a), Math.cos(b), Math.sin(b)];
    return ([x, y, z]) => { const u = cb * x + sb * z, w = cb * z - sb * x; return [u, ca * y - sa * w, sa * y + ca * w]; };
  };
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function corners(cell) {
    const out = [];
    for (let i = 0; i < 8; i++) out.push([0, 1, 2].map((k) => [0, 1, 2].reduce((s, a) => s + ((i >> a) & 1) * cell[a][k], 0)));
    return out;
  }
  function draw() {
    const phase = phases[choose.selectedIndex];
    const scale = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = width * scale;
    canvas.height = height * scale;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    const box = corners(phase.cell);
    const middle = [0, 1, 2].map((k) => box.reduce((s, c) => s + c[k], 0) / 8);
    const rotate = rotation();
    const place = (p) => rotate(p.map((x, k) => x - middle[k]));
    const spots = phase.atoms.map((a) => place(a.at));
    const frame = box.map(place);
    const reach = Math.max(...[...spots, ...frame].map(([x, y, z]) => Math.hypot(x, y, z))) + 1;
    const zoom = Math.min(width, height) / 2 / reach;
    const screen = ([x, y]) => [width / 2 + zoom * x, height / 2 - zoom * y];

    const parts = [];
    for (let i = 0; i < 8; i++) for (const bit of [1, 2, 4]) if (!(i & bit)) parts.push({ z: Math.min(frame[i][2], frame[i | bit][2]) - 50, edge: [frame[i], frame[i | bit]] });
    for (const [a, b] of phase.bonds) parts.push({ z: (spots[a][2] + spots[b][2]) / 2 - 0.2, bond: [a, b] });
    phase.atoms.forEach((atom, i) => parts.push({ z: spots[i][2], atom, spot: spots[i] }));
    parts.sort((p, q) => p.z - q.z);
    const line = (a, b, style, thick) => { pen.strokeStyle = style; pen.lineWidth = thick; pen.beginPath(); pen.moveTo(...a); pen.lineTo(...b); pen.stroke(); };
    for (const part of parts) {
      if (part.edge) line(screen(part.edge[0]), screen(part.edge[1]), css("--line"), 1.2);
      else if (part.bond) {
        const [a, b] = part.bond.map((i) => screen(spots[i]));
        const half = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
        line(a, half, phase.atoms[part.bond[0]].colour, zoom * 0.16);
        line(half, b, phase.atoms[part.bond[1]].colour, zoom * 0.16);
      } else {
        const [x, y] = screen(part.spot), r = zoom * part.atom.radius * 0.42;
        const light = pen.createRadialGradient(x - r * 0.35, y - r * 0.4, r * 0.1, x, y, r);
        light.addColorStop(0, "#ffffff"); light.addColorStop(0.35, part.atom.colour); light.addColorStop(1, part.atom.colour);
        pen.fillStyle = light;
        pen.beginPath(); pen.arc(x, y, r, 0, 2 * Math.PI); pen.fill();
        pen.strokeStyle = "rgb(0 0 0 / 35%)"; pen.lineWidth = 0.8; pen.stroke();
      }
    }
    pen.fillStyle = css("--soft");
    pen.font = "italic 13px Georgia, serif";
    pen.textAlign = "center"; pen.textBaseline = "middle";
    for (const [axis, name] of ["a", "b", "c"].entries()) {
      const [from, to] = [screen(frame[0]), screen(frame[1 << axis])];
      const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
      pen.fillText(name, to[0] + (11 * (to[0] - from[0])) / length, to[1] + (11 * (to[1] - from[1])) / length);
    }
    const colours = new Map(phase.atoms.map((a) => [a.element, a.colour]));
    legend.replaceChildren(...[...colours].map(([element, shade]) => {
      const item = document.createElement("li"), mark = document.createElement("i");
      mark.className = "ball";
      mark.style.setProperty("--mark", shade);
      item.append(mark, element);
      return item;
    }));
    const elements = [...colours.keys()].join(", ");
    caption.textContent = `${phase.label}, shown for ${phase.compound} (space group ${phase.space_group ?? "unknown"}; ${elements}), relaxed by the run's potential.`;
    canvas.setAttribute("aria-label", `Crystal structure of ${phase.label}, ${phase.compound}. Arrow keys turn it.`);
  }
  const reset = () => { turn = [...START]; draw(); };
  choose.addEventListener("change", draw);
  document.querySelector("#phase-reset").addEventListener("click", reset);
  canvas.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [0, -0.15], ArrowRight: [0, 0.15], ArrowUp: [-0.15, 0], ArrowDown: [0.15, 0] }[event.key];
    if (!move) return;
    event.preventDefault();
    turn = turn.map((x, i) => x + move[i]);
    draw();
  });
  let last = null;
  canvas.addEventListener("pointerdown", (event) => { last = [event.clientX, event.clientY]; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => { last = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (!last) return;
    turn = [turn[0] + (event.clientY - last[1]) / 120, turn[1] + (event.clientX - last[0]) / 120];
    last = [event.clientX, event.clientY];
    draw();
  });
  new ResizeObserver(draw).observe(canvas);
  document.addEventListener("themechange", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  reset();
})();
