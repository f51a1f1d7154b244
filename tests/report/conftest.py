"""A made site, and Debian's Chromium to look at it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import made_folders
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from unaudited import unaudited

from hepbench.benchmark.leaderboard.build import build_leaderboard
from hepbench.benchmark.leaderboard.collect import collect
from hepbench.reports.gather import detailed_runs, find_logs
from hepbench.reports.pages import write_site

SCREENSHOTS = Path(__file__).parents[2] / "build" / "report-screenshots"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
HOW_TO_GET_IT = (
    "no chromium and chromedriver here: apt-get update && apt-get install -y chromium chromium-driver"
)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logs = made_folders.site_logs(tmp_path_factory.getbasetemp())
    runs = [run for where in find_logs([str(logs)]) for run in detailed_runs(where)]
    folder = tmp_path_factory.mktemp("site")
    write_site(folder, build_leaderboard(collect([str(logs)], unaudited)), runs)
    return folder


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(HOW_TO_GET_IT)
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(driver))
    found.set_page_load_timeout(60)
    yield found
    found.quit()


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Where the tests leave what they saw, for a person to look at."""
    shutil.rmtree(SCREENSHOTS, ignore_errors=True)
    SCREENSHOTS.mkdir(parents=True)
    return SCREENSHOTS
