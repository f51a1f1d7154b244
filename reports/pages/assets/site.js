"use strict";
/* Theme, sortable tables, the event filter. Pages read well without it. */
(() => {
  const root = document.documentElement;
  const remembered = { get: () => { try { return localStorage.getItem("theme"); } catch { return null; } },
                       set: (v) => { try { localStorage.setItem("theme", v); } catch { /* private window */ } } };
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark"
                                        : matchMedia("(prefers-color-scheme: dark)").matches;
  const saved = remembered.get();
  if (saved === "dark" || saved === "light") root.dataset.theme = saved;

  const toggle = document.querySelector("button.theme");
  if (toggle) {
    const label = () => { toggle.textContent = dark() ? "Light" : "Dark"; };
    toggle.hidden = false;
    toggle.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      remembered.set(root.dataset.theme);
      label();
      document.dispatchEvent(new Event("themechange"));
    });
    label();
  }

  const value = (row, column) => {
    const cell = row.cells[column];
    const number = Number(cell.dataset.value);
    return cell.dataset.value !== undefined && !Number.isNaN(number) ? number : cell.textContent.trim();
  };
  const order = (a, b) => {
    if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1;
    return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  };
  function sort(table, head, column) {
    const down = head.getAttribute("aria-sort") === "ascending"
      || (head.getAttribute("aria-sort") === "none" && head.classList.contains("number") && !head.classList.contains("low"));
    for (const other of table.tHead.rows[0].cells) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => ({ row, key: value(row, column) }));
    rows.sort((a, b) => {
      if (a.key === "–" || b.key === "–") return (a.key === "–") - (b.key === "–");
      return down ? order(b.key, a.key) : order(a.key, b.key);
    });
    body.append(...rows.map((r) => r.row));
  }
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", head.dataset.sorted ?? "none");
      button.addEventListener("click", () => sort(table, head, column));
    });
  }

  const filter = document.querySelector("#event-filter");
  if (filter) {
    filter.closest(".filters").hidden = false;
    filter.addEventListener("change", () => {
      for (const row of document.querySelectorAll("#event-log tbody tr"))
        row.hidden = filter.value !== "" && row.dataset.type !== filter.value;
    });
  }
  const openTarget = () => {
    const found = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!found) return;
    for (let e = found; e; e = e.parentElement) if (e instanceof HTMLDetailsElement) e.open = true;
    if (found.hidden) found.hidden = false;
    found.scrollIntoView({ behavior: "instant" });
  };
  addEventListener("hashchange", openTarget);
  document.addEventListener("figuresdrawn", openTarget); // figures push the page's parts down
  openTarget();
})();
