#!/usr/bin/env python3
"""The HTML page of real runs in a real browser (headless Chromium): at the width of a desk and of a phone, light, dark and printed. Nothing
is fetched, nothing is complained about, nothing scrolls sideways; legends, tables and values work with mouse and keyboard; axe-core finds
nothing serious; and a record full of hostile names is only text."""
import base64
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

from namespaces import SKIPPED, Mesh, require_lab
from ports import free_port

BUILD = os.environ["TEST_BUILD"]
PROGRAM = os.path.join(BUILD, "plumbline")
SCENARIOS = pathlib.Path(__file__).resolve().parents[2] / "scenarios"
MOST_BYTES = 2_000_000
WIDTHS = (1280, 390)
# The checker of accessibility takes seconds for a page, and many more where other tests crowd the machine: it sees each width and each
# scheme once.
AXE_LOOKS = {(1280, "light"), (390, "dark")}
AXE_TIMEOUT_S = 100
# The checker of accessibility is fetched by npm once, into the build folder, and used only when it is this very file.
AXE = "axe-core@4.10.2"
AXE_SHA512 = "RE3mdQ7P3FRSe7eqCWoeQ/Z9QXrtniSjp1wUjt5nRC3WIpz5rSCve6o3fsZ2aCpJtrZjSZgjwXAoTO5k4tEI0w=="
HOSTILE = "</script></style><img src=x onerror=alert(1)><svg onload=alert(2)>\"'`$(reboot)\u202e{{7*7}}"
MATRIX = [{"kind": "link", "op": "link", "measure": ["latency", "stream", "udp", "all_pairs"], "bytes": 64, "time": "200ms"},
          {"kind": "latency", "op": "allreduce", "bytes": [8, 4096], "stop": {"max_time": "100ms"}}]


def require_browser():
    reason = None
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        reason = "needs chromium and chromedriver (packages chromium and chromium-driver)"
    try:
        import selenium.webdriver  # noqa: F401
    except ImportError:
        reason = "needs Selenium (package python3-selenium)"
    if reason:
        print("Skipped: " + reason)
        sys.exit(SKIPPED)


def plumbline(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=400)
    if done.returncode != 0:
        sys.exit("%s: exit status %d\n%s%s" % (words, done.returncode, done.stdout, done.stderr))
    return done.stdout


def axe_source():
    """The text of axe-core, or nothing and the reason."""
    archive = pathlib.Path(BUILD, "axe-core", AXE.replace("@", "-") + ".tgz")
    if not archive.exists():
        if shutil.which("npm") is None:
            return None, "no npm"
        archive.parent.mkdir(exist_ok=True)
        try:
            done = subprocess.run(["npm", "pack", "--silent", AXE], cwd=archive.parent, capture_output=True, text=True, timeout=180)
        except subprocess.TimeoutExpired as error:
            return None, "npm cannot fetch %s: %s" % (AXE, error)
        if done.returncode != 0 or not archive.exists():
            return None, "npm cannot fetch %s: %s" % (AXE, done.stderr.strip().splitlines()[-1:] or "no message")
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if digest != AXE_SHA512:
        archive.unlink()
        sys.exit("%s is not the file that it should be: sha512 %s" % (AXE, digest))
    with tarfile.open(archive) as tar:
        return tar.extractfile("package/axe.min.js").read().decode(), None


@contextlib.contextmanager
def browser():
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver"), port=int(free_port())), options=options)
    driver.set_script_timeout(AXE_TIMEOUT_S)
    try:
        yield driver
    finally:
        driver.quit()


class Page:
    def __init__(self, driver, path):
        self.driver, self.path, self.url = driver, path, path.resolve().as_uri()

    def open(self, width, scheme="light", media="screen"):
        self.cdp("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
        self.driver.get_log("browser"), self.driver.get_log("performance")
        self.driver.get(self.url)
        return self

    def cdp(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def js(self, script, *arguments):
        return self.driver.execute_script("return (" + script + ")(...arguments)", *arguments)

    def check_quiet(self):
        """No complaint, and no request but for the page itself."""
        assert self.driver.get_log("browser") == []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                assert url == self.url or url.startswith("data:"), url

    def check_width(self, width):
        wide = self.js("""width => Array.from(document.body.querySelectorAll("*")).filter(e => !e.closest(".scroll, pre, nav ul, .shapes, .skip, svg")
            && e.getBoundingClientRect().right > width + 1).map(e => e.outerHTML.slice(0, 120))""", width)
        assert self.js("() => document.documentElement.scrollWidth") <= width and wide == [], wide[:3]

    def check_axe(self, source):
        self.driver.execute_script(source)
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run({resultTypes: ['violations']}).then(r => done(r.violations), e => done([{impact: 'critical', id: String(e), nodes: []}]))")
        bad = [(each["impact"], each["id"], [node["html"][:160] + str(node["any"])[:300] for node in each["nodes"]][:3])
               for each in found if each["impact"] in ("serious", "critical")]
        assert bad == [], bad
        return [each["id"] for each in found]

    def screenshot(self, name):
        if "TEST_KEEP" in os.environ:
            size = self.cdp("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}
            data = self.cdp("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
            pathlib.Path(os.environ["TEST_KEEP"], name + ".png").write_bytes(base64.b64decode(data))


def check_toggles(page):
    from selenium.webdriver.common.keys import Keys

    button = page.driver.find_element("css selector", "figure .legend button")
    drawn = "b => Array.from(b.closest('figure').querySelectorAll('[data-series=\"' + b.dataset.toggle + '\"]')).map(g => getComputedStyle(g).display !== 'none')"
    assert page.js(drawn, button) and all(page.js(drawn, button)), "the series is not there to begin with"
    page.js("b => b.scrollIntoView({block: 'center'})", button)
    button.click()
    assert not any(page.js(drawn, button)) and button.get_attribute("aria-pressed") == "false"
    button.send_keys(Keys.ENTER)
    assert all(page.js(drawn, button)) and button.get_attribute("aria-pressed") == "true"


def check_sorting(page):
    from selenium.webdriver.common.keys import Keys

    page.js("() => document.querySelectorAll('details').forEach(d => { d.open = true; })")
    tables = [each for each in page.driver.find_elements("css selector", "table.sortable") if each.find_elements("css selector", "thead th.number")]
    table = max(tables, key=lambda each: page.js("t => t.tBodies[0].rows.length", each))
    column = page.js("t => Array.from(t.tHead.rows[0].cells).findIndex(c => c.classList.contains('number'))", table)
    header = table.find_elements("css selector", "thead th")[column]
    cells = "(t, c) => Array.from(t.tBodies[0].rows).map(r => r.cells[c].dataset.value ?? r.cells[c].textContent)"
    number = lambda text: float(text) if text.replace(".", "").replace("-", "", 1).replace("e", "", 1).isdigit() else float("inf")
    button = header.find_element("css selector", "button")
    page.js("b => b.scrollIntoView({block: 'center'})", button)
    button.click()
    up = [number(text) for text in page.js(cells, table, column)]
    assert up == sorted(up) and header.get_attribute("aria-sort") == "ascending", up
    button.send_keys(Keys.SPACE)
    down = [number(text) for text in page.js(cells, table, column)]
    values = [value for value in down if value != float("inf")]
    assert values == sorted(values, reverse=True) and header.get_attribute("aria-sort") == "descending", down
    assert len(up) > 1, "a table with one row proves nothing"


def check_values(page):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    figure = page.driver.find_element("css selector", "figure[data-chart]")
    plot = figure.find_element("css selector", ".plot")
    page.js("p => p.scrollIntoView({block: 'center'})", plot)
    values = page.js("f => JSON.parse(document.getElementById('values').textContent)[f.dataset.chart]", figure)
    # The value nearest to the pointer is shown: that of the first series which lies farthest from any of another.
    others = [point for series in values["series"][1:] for point in series["points"]]
    x, y, words = max(values["series"][0]["points"], key=lambda point: min(
        (abs(point[0] - other[0]) + abs(point[1] - other[1]) for other in others), default=0))
    size = plot.size
    by = size["width"] / values["width"]
    ActionChains(page.driver).move_to_element_with_offset(plot, int(x * by - size["width"] / 2), int(y * by - size["height"] / 2)).perform()
    shown = figure.find_element("css selector", ".value")
    assert shown.is_displayed() and words in shown.text, (words, shown.text)
    # The ring lies on what is drawn: gnuplot's picture and our list of values agree.
    ring = page.js("f => { const r = f.querySelector('.dot').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }", figure)
    marks = page.js("f => Array.from(f.querySelectorAll('[data-series=\"0\"] use')).map(u => { const r = u.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })", figure)
    if marks:
        assert min(abs(ring[0] - mx) + abs(ring[1] - my) for mx, my in marks) < 5, (ring, marks)
    ActionChains(page.driver).move_by_offset(0, 0).perform()
    plot.send_keys(Keys.ARROW_RIGHT)
    first = shown.text
    plot.send_keys(Keys.ARROW_RIGHT)
    assert shown.is_displayed() and shown.text and shown.text != first, (first, shown.text)
    plot.send_keys(Keys.ESCAPE)
    assert not shown.is_displayed()


def check_layout(page):
    """At a desk the ranks' table needs no scrolling, and a plot that is alone in its row takes all of it."""
    boxes = page.js("() => Array.from(document.querySelectorAll('#ranks .scroll')).map(e => [e.scrollWidth, e.clientWidth])")
    assert all(wide <= there for wide, there in boxes), boxes
    lone = page.js("""() => Array.from(document.querySelectorAll('.columns > figure[data-chart]:last-child:nth-child(odd)'))
        .map(f => f.getBoundingClientRect().width / f.parentElement.getBoundingClientRect().width)""")
    assert all(share > 0.99 for share in lone), lone
    return len(lone)


def check_tables(page, width):
    """Of every table of measurements: what one looks for is seen without scrolling, the verdict at a desk and time and bus bandwidth, first, on
    a phone."""
    tables = page.js("""() => {
        document.querySelectorAll('details').forEach(d => { d.open = true; });
        return Array.from(document.querySelectorAll('table.sortable')).filter(t => t.querySelector('td.verdict')).map(t => {
            const box = t.closest('.scroll').getBoundingClientRect();
            return Array.from(t.tHead.rows[0].cells).map(c => [c.innerText.split(/[\\s(]/)[0], c.getBoundingClientRect().right <= box.right + 1]);
        });
    }""")
    assert any(columns[0][0] == "size" for columns in tables), "no table of measurements: the check proves nothing"
    for columns in tables:
        seen = [name for name, visible in columns if visible]
        names = [name for name, _ in columns]
        assert width < 1280 or "verdict" in seen, columns
        if names[0] != "size":
            continue  # rules have a verdict, too
        for wanted in ("time", "busbw"):
            assert wanted not in names or wanted in seen, columns
        if "outstanding" not in names and "busbw" in names:
            assert names[1:3] == ["time", "busbw"], names


def check_hollow(page):
    """As many hollow symbols as noisy points in each plot, and a legend that says so just there. Returns both numbers of the page."""
    drawn = page.js("""() => {
        const values = JSON.parse(document.getElementById('values').textContent);
        return Array.from(document.querySelectorAll('figure[data-chart]')).map(f => {
            const hollow = Array.from(f.querySelectorAll('.plot use')).filter(u => /^#gpPt(3|5|7|9|11|13)$/.test(u.getAttribute('href')));
            const points = values[f.dataset.chart].series.flatMap(s => s.points);
            return [hollow.length, points.filter(p => p[2].endsWith(', noisy')).length, points.length,
                    Array.from(f.querySelectorAll('.legend .key')).some(k => k.textContent === 'hollow: noisy')];
        });
    }""")
    for hollow, noisy, _, told in drawn:
        assert hollow == noisy and told == (noisy > 0), drawn
    return sum(each[1] for each in drawn), sum(each[2] for each in drawn)


def check_noise(driver, records, folder):
    """The same run with every second cell noisy, and with none: hollow symbols and their legend come and go."""
    for name, every in (("noisy", 2), ("clean", 0)):
        run = pathlib.Path(folder, name)
        run.mkdir()
        lines = []
        for index, line in enumerate(records.read_text().splitlines()):
            record = json.loads(line)
            if "cell" not in record:  # the environment of those below
                lines.append(line)
                continue
            record["noise"] = {"verdict": "noisy", "causes": ["load"]} if every and index % every == 0 else {"verdict": "clean", "causes": []}
            lines.append(json.dumps(record))
        (run / "records.jsonl").write_text("\n".join(lines) + "\n")
        plumbline("report", "html", str(run), "-o", str(run / "report.html"))
        page = Page(driver, run / "report.html").open(1280)
        page.screenshot("half_noisy" if every else "no_noise")
        noisy, points = check_hollow(page)
        assert (0 < noisy < points) if every else noisy == 0, (noisy, points)
    text = pathlib.Path(folder, "noisy", "report.html").read_text()
    (run / "report.html").write_text(text.replace("#gpPt5", "#gpPt6"))
    try:
        check_hollow(Page(driver, run / "report.html").open(1280))
    except AssertionError:
        print("ok: noisy points, and only they, are hollow")
        return
    sys.exit("filled points passed for hollow ones")


def check_print(page, name):
    page.open(1280)
    folded = "() => document.querySelectorAll('details:not([open])').length"
    before = page.js(folded)
    page.js("() => { window.openWhilePrinting = -1; window.addEventListener('beforeprint', () => { window.openWhilePrinting = document.querySelectorAll('details:not([open])').length; }); }")
    pdf = base64.b64decode(page.cdp("Page.printToPDF", printBackground=True)["data"])
    assert pdf.startswith(b"%PDF") and len(pdf) > 10_000
    assert page.js("() => window.openWhilePrinting") == 0 and page.js(folded) == before
    page.open(1000, "dark", "print")
    assert page.js("() => getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page.js("() => getComputedStyle(document.body).color") == "rgb(27, 31, 36)", "dark ink would be lost on paper"
    if "TEST_KEEP" in os.environ:
        pathlib.Path(os.environ["TEST_KEEP"], name + ".pdf").write_bytes(pdf)


def check_page(driver, path, axe, name):
    assert 10_000 < path.stat().st_size <= MOST_BYTES, path.stat().st_size
    page = Page(driver, path)
    minor = set()
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            page.open(width, scheme)
            page.screenshot("%s_%d_%s" % (name, width, scheme))
            page.js("() => document.querySelectorAll('details').forEach(d => { d.open = true; })")
            page.check_width(width)
            check_tables(page, width)
            check_hollow(page)
            if axe and (width, scheme) in AXE_LOOKS:
                minor.update(page.check_axe(axe))
            page.check_quiet()
    assert page.js("() => document.querySelectorAll('h1').length") == 1
    page.open(390)
    check_sorting(page)
    page.open(1280)
    check_layout(page)
    check_toggles(page)
    check_values(page)
    check_sorting(page)
    page.check_quiet()
    check_print(page, name)
    print("ok: %s: %d bytes, minor remarks of axe: %s" % (name, path.stat().st_size, sorted(minor) or "none"))


def check_hostile(driver, records, folder):
    """Every text of a record that may be anything becomes hostile; nothing of it runs or becomes an element."""
    def spoil(value, key=""):
        if isinstance(value, dict):
            return {name: spoil(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [spoil(each, key) for each in value]
        kept = ("kind", "outcome", "verdict", "time", "placement", "dtype", "redop", "sync", "cell_id", "measure", "id", "key", "hash", "environment",
                "samples_ns")
        return HOSTILE + key if isinstance(value, str) and key not in kept else value

    run = pathlib.Path(folder, "hostile")
    run.mkdir()
    lines = [json.dumps(spoil(json.loads(line))) for line in records.read_text().splitlines()]
    (run / "records.jsonl").write_text("\n".join(lines) + "\n")
    findings = [{"cause": HOSTILE, "outcome": "warn", "host": HOSTILE, "remedy": HOSTILE + "\n" + HOSTILE, "evidence": [{"text": HOSTILE}]}]
    (run / "doctor.json").write_text(json.dumps({"findings": findings, "checks": [{"key": HOSTILE, "id": HOSTILE, "reason": HOSTILE, "outcome": "fail"}]}))
    (run / "scenario.json").write_text("// " + HOSTILE + "\n{}\n")
    plumbline("report", "html", str(run), "-o", str(run / "report.html"))
    page = Page(driver, run / "report.html").open(390)
    page.check_quiet()
    page.check_width(390)
    assert page.js("() => document.querySelectorAll('img, iframe, object, embed, svg[onload], [onerror]').length") == 0
    assert page.js("() => document.scripts.length") == 2 and page.js("() => document.styleSheets.length") == 1
    assert HOSTILE[:30] in page.js("() => document.body.textContent"), "the names are not on the page at all"
    assert "\u202e" not in page.js("() => document.documentElement.textContent")
    print("ok: hostile names are text, on a page of %d bytes" % (run / "report.html").stat().st_size)


def check_the_checks(driver, path, axe):
    """Every check above finds what it is for: pages that are spoiled on purpose."""
    text = path.read_text()
    end, script = text.rindex("</main>"), text.rindex("<script>")
    wall = text.index("<meta http-equiv")
    open_page = text[:wall] + text[text.index(">", wall) + 1:]  # its content policy would stop the request before it is made

    def refused(spoiled, check):
        copy = path.parent / "spoiled.html"
        copy.write_text(spoiled)
        page = Page(driver, copy).open(1280)
        try:
            check(page)
        except Exception:
            return
        sys.exit("a check found nothing in a page that was spoiled for it")

    silent = text[:script] + text[text.rindex("</script>"):].replace("</script>", "", 1)
    for check in (check_toggles, check_sorting, check_values):
        refused(silent, check)
    refused(text[:end] + "<p>" + "wide" * 500 + "</p>" + text[end:], lambda page: page.js("() => { document.querySelector('main > p').style.overflowWrap = 'normal'; }") or page.check_width(1280))
    inserted = open_page.rindex("</main>")
    refused(open_page[:inserted] + '<img alt="" src="http://127.0.0.1:9/x.png">' + open_page[inserted:], Page.check_quiet)
    assert check_layout(Page(driver, path).open(1280)) > 0, "no plot is alone in its row: the check of it proves nothing"
    refused(open_page.replace("grid-column: 1 / -1;", ""), check_layout)
    for wide in (".sortable tbody th { min-width: 1300px; }", ".scroll { width: 150px; }"):
        refused(open_page.replace("</style>", wide + "</style>", 1), lambda page: check_tables(page, 1280))
    refused(open_page.replace("</style>", "#ranks table { width: 2000px; }</style>", 1), check_layout)
    if axe:
        refused(text[:end] + "<table><tbody><tr><td><button></button></td></tr></tbody></table>" + text[end:], lambda page: page.check_axe(axe))


def main():
    require_lab()
    require_browser()
    axe, reason = axe_source()
    if axe is None:
        print("Skipped: the check with axe-core: " + reason)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        # As shipped, but for two ranks only and fewer operations of each kind.
        plumbline("run", str(SCENARIOS / "quickstart.json"), "--rounds", "110", "--only", "ranks=2", "--out", folder + "/quickstart", "--quiet")
        mesh = Mesh(4)
        hosts = [{"name": "host%d" % index, "netns": mesh.names[index], "data": mesh.addresses[index]} for index in range(4)]
        scenario = pathlib.Path(folder, "links.json")
        scenario.write_text(json.dumps({"plumbline": 1, "question": "Which link is slow?", "hosts": hosts, "matrix": MATRIX,
                                        "probes": ["host", "link", "ip", "tcp.connect"], "report": ["html"]}))
        plumbline("run", str(scenario), "--out", folder + "/links", "--quiet")
        mesh.remove()
        print("measured in %.0f s" % (time.monotonic() - started))
        with browser() as driver:
            for name in ("quickstart", "links"):
                check_page(driver, pathlib.Path(folder, name, "report.html"), axe, name)
            check_the_checks(driver, pathlib.Path(folder, "quickstart", "report.html"), axe)
            check_noise(driver, pathlib.Path(folder, "quickstart", "records.jsonl"), folder)
            check_hostile(driver, pathlib.Path(folder, "quickstart", "records.jsonl"), folder)
    print("ok in %.0f s" % (time.monotonic() - started))


if __name__ == "__main__":
    main()
