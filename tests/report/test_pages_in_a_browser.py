"""The site as a person meets it: Chromium opens the files and uses them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import selenium_axe_python
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

AXE = Path(selenium_axe_python.__file__).parent / "axe-core" / "axe.min.js"
WIDE, PHONE = 1280, 390


def pages(site: Path) -> list[Path]:
    """The leaderboard, and a run's page of each kind."""
    runs = sorted((site / "runs").glob("*.html"))
    kinds = ("hepbench-scientist_hep", "mockllm-model-a_hep_1", "model-a_planning_1", "majority", "img-src")
    return [site / "index.html", *(next(run for run in runs if kind in run.name) for kind in kinds)]


@pytest.fixture
def scientist(site: Path) -> Path:
    return pages(site)[1]


def look(browser: Chrome, page: Path, *, width: int = WIDE, dark: bool = False, anchor: str = "") -> None:
    """Open a page in a window of that width and wait until its figures are drawn."""
    wishes = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
    features = [{"name": name, "value": value} for name, value in wishes.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(page.as_uri() + (f"#{anchor}" if anchor else ""))
    undrawn = (
        "return [...document.querySelectorAll('[data-figure]')].filter(f => !f.querySelector('svg')).length"
    )
    WebDriverWait(browser, 20).until(lambda b: b.execute_script(undrawn) == 0)


def requests(browser: Chrome) -> Iterator[str]:
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            yield message["params"]["request"]["url"]


def save(browser: Chrome, path: Path, width: int) -> None:
    high = browser.execute_script("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": width, "height": min(high, 12_000), "scale": 1}
    shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    path.write_bytes(base64.b64decode(shot["data"]))


def test_no_error_no_request_and_nothing_of_a_model_runs(browser: Chrome, site: Path) -> None:
    for page in pages(site):
        look(browser, page)
        assert browser.get_log("browser") == [], page.name
        assert {url.split(":")[0] for url in requests(browser)} <= {"file", "data"}, page.name
        assert browser.execute_script("return window.pwned === undefined"), page.name
        assert browser.execute_script("return document.images.length") == 0


@pytest.mark.parametrize(("width", "dark"), [(WIDE, False), (WIDE, True), (PHONE, False)])
def test_layout_and_accessibility(
    browser: Chrome, site: Path, screenshots: Path, width: int, dark: bool
) -> None:
    checked = pages(site)[:3] if width == WIDE else pages(site)[1:2]  # axe takes seconds for a page
    for page in pages(site):
        look(browser, page, width=width, dark=dark)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, page.name
        save(browser, screenshots / f"{page.stem[:40]}-{width}-{'dark' if dark else 'light'}.png", width)
        if page in checked[:: 2 if dark else 1]:
            assert serious(browser) == [], page.name


def serious(browser: Chrome) -> list[str]:
    """Serious and critical findings of axe-core, tables and details opened."""
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    browser.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
    browser.set_script_timeout(120)
    run = """
        const done = arguments[0];
        const failed = (e) => done([{id: String(e)}]);
        axe.run(document, {resultTypes: ["violations"]}).then((found) => done(found.violations), failed);
    """
    found: list[dict[str, Any]] = browser.execute_async_script(run)
    return [
        f"{v['id']}: {v.get('help')}: {v['nodes'][0]['html'][:200] if v.get('nodes') else ''}"
        for v in found
        if v.get("impact", "critical") in ("serious", "critical")
    ]


def test_dark_mode_follows_the_system_and_the_button(browser: Chrome, site: Path) -> None:
    def brightness() -> int:
        colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour.strip("rgba()").split(",")[:3])

    look(browser, site / "index.html", dark=True)
    assert brightness() < 150
    browser.find_element(By.CSS_SELECTOR, "button.theme").click()
    assert brightness() > 600
    look(browser, site / "index.html", dark=True)
    assert brightness() > 600, "the choice is remembered"
    browser.find_element(By.CSS_SELECTOR, "button.theme").click()
    browser.execute_script("localStorage.clear()")


def test_tables_are_sorted_by_a_click_and_by_the_keyboard(browser: Chrome, site: Path) -> None:
    look(browser, site / "index.html")
    table = browser.find_element(By.CSS_SELECTOR, "#ranking table.sortable")
    head = table.find_elements(By.CSS_SELECTOR, "thead th")
    accuracy = next(i for i, th in enumerate(head) if th.text.startswith("accuracy"))

    def column() -> list[float]:
        cells = table.find_elements(By.CSS_SELECTOR, f"tbody td:nth-child({accuracy + 1})")
        return [float(cell.get_attribute("data-value") or "nan") for cell in cells]

    head[accuracy].find_element(By.TAG_NAME, "button").click()
    assert head[accuracy].get_attribute("aria-sort") == "descending"
    assert column() == sorted(column(), reverse=True)
    head[accuracy].find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    assert head[accuracy].get_attribute("aria-sort") == "ascending"
    assert column() == sorted(column())


def test_hovering_a_belief_shows_its_evidence(browser: Chrome, scientist: Path) -> None:
    look(browser, scientist)
    plot = browser.find_element(By.CSS_SELECTOR, "[data-figure=beliefs]")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    mark = plot.find_element(By.CSS_SELECTOR, "a[href='#E1'] path, a[*|href='#E1'] path")
    ActionChains(browser).move_to_element(mark).perform()
    WebDriverWait(browser, 10).until(lambda b: "E1 supports" in plot.text)
    assert "P(H) = 0.60" in plot.text


def test_anchors_lead_to_hypotheses_evidence_results_and_events(browser: Chrome, scientist: Path) -> None:
    for anchor in ("H2", "E3", "R4", "event-9"):
        look(browser, scientist, anchor=anchor)
        top = f"return document.getElementById('{anchor}').getBoundingClientRect().top"
        WebDriverWait(browser, 10).until(lambda b, top=top: 0 <= b.execute_script(top) < 880)
    look(browser, scientist)
    node = browser.find_element(By.CSS_SELECTOR, "[data-figure=tree] a")
    target = browser.execute_script("return arguments[0].href.baseVal", node)
    browser.execute_script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", node)
    WebDriverWait(browser, 10).until(lambda b: b.current_url.endswith(target))


def test_the_event_log_can_be_filtered(browser: Chrome, scientist: Path) -> None:
    look(browser, scientist)
    shown = "return [...document.querySelectorAll('#event-log tbody tr')].filter(r => !r.hidden).length"
    every = browser.execute_script(shown)
    choice = Select(browser.find_element(By.ID, "event-filter"))
    choice.select_by_value("BeliefUpdated")
    few = browser.execute_script(shown)
    assert 0 < few < every
    assert f"({few})" in choice.first_selected_option.text


def test_structures_turn_by_keyboard(browser: Chrome, scientist: Path) -> None:
    look(browser, scientist)
    canvas = browser.find_element(By.CSS_SELECTOR, "canvas.crystal")
    picture = "return arguments[0].toDataURL()"
    before = browser.execute_script(picture, canvas)
    canvas.send_keys(Keys.ARROW_RIGHT)
    assert browser.execute_script(picture, canvas) != before
    browser.find_element(By.ID, "phase-reset").click()
    assert browser.execute_script(picture, canvas) == before
    Select(browser.find_element(By.ID, "phase")).select_by_index(1)
    assert browser.execute_script(picture, canvas) != before
    assert "space group" in browser.find_element(By.ID, "phase-caption").text


def test_the_first_tab_stop_skips_to_the_content(browser: Chrome, site: Path) -> None:
    look(browser, site / "index.html")
    ActionChains(browser).send_keys(Keys.TAB).perform()
    focused = browser.switch_to.active_element
    assert focused.text == "Skip to the content"
    assert focused.rect["x"] >= 0


def test_pages_can_be_printed(browser: Chrome, scientist: Path, screenshots: Path) -> None:
    look(browser, scientist)
    pdf = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert pdf.startswith(b"%PDF")
    (screenshots / "run.pdf").write_bytes(pdf)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        shown = "return [...document.querySelectorAll('.top, .filters')].filter(e => e.offsetParent).length"
        assert browser.execute_script(shown) == 0  # nothing that only a screen can use
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert browser.execute_script(shown) > 0


def test_long_statements_stay_inside_the_page(browser: Chrome, site: Path) -> None:
    """Ten thousand characters without a space, opened, on a phone."""
    look(browser, pages(site)[-1], width=PHONE)
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= PHONE
    assert "W" * 5_000 in browser.page_source
