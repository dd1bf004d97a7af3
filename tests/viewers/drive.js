// drive.js DIR - opens the reports in DIR in headless Chromium, as a reader
// would, and says what is wrong with them. Made and called by viewers.sh.
//   plain.html hostile.html diff.html jit.html
//                                       ljparse --format=html
//   stacks.html brief.html marks.html kinds.html nearly.html again.html
//                                       the same, recorded by a luajit
//   pruned.html                         stacks.html with paths folded
//   plain.speedscope.json               ljparse --format=speedscope
//   want.json                           what ljparse --format=json says
"use strict";
const fs = require("fs"), path = require("path"), url = require("url");
const { chromium } = require("playwright-core");
const dir = path.resolve(process.argv[2]);
const want = JSON.parse(fs.readFileSync(path.join(dir, "want.json")));
let checks = 0, failures = 0;

function check(ok, what, ...more) {
  checks++;
  if (ok) return;
  failures++;
  console.log("FAIL " + what, ...more);
}
const same = (have, wanted, what) =>
  check(have === wanted, what + ": have", JSON.stringify(have), "want",
        JSON.stringify(wanted));
const near = (have, wanted, what) =>
  check(Math.abs(have - wanted) < 0.006 * Math.abs(wanted) + 1,
        what + ": have", have, "want", wanted);

function amount(text) {
  const m = /([\d,.]+) ?(B|KiB|MiB|GiB)?/.exec(text);
  const unit = { B: 1, KiB: 1024, MiB: 1048576, GiB: 1073741824 };
  return parseFloat(m[1].replace(/,/g, "")) * (unit[m[2]] || 1);
}

async function open(browser, file, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const bad = [];
  await page.addInitScript(() => { /* What the canvas says. */
    window.written = [];
    const write = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...more) {
      window.written.push(text);
      write.call(this, text, ...more);
    };
  });
  page.on("pageerror", e => bad.push("error: " + e.stack));
  page.on("console", m => {
    if (m.type() === "error") bad.push("console: " + m.text());
  });
  page.on("dialog", d => { bad.push("dialog"); d.dismiss(); });
  page.on("request", r => {
    if (r.url() !== page.url() && !r.url().startsWith("file:"))
      bad.push("request: " + r.url());
  });
  await page.goto(url.pathToFileURL(path.join(dir, file)).href);
  return { page, bad, close: () => context.close() };
}

async function tiles(page) {
  for (const [i, k] of ["alloc", "inuse", "peak", "temp"].entries()) {
    await page.keyboard.press(String(i + 1));
    same(await page.getAttribute("#tiles [data-k=" + k + "]",
      "aria-checked"), "true", "key " + (i + 1) + " chooses " + k);
    near(amount(await page.textContent("#tiles [data-k=" + k + "] .tv")),
         want.totals[k + "_size"], "tile " + k);
  }
  await page.keyboard.press("b");
  near(amount(await page.textContent("#tiles [data-k=alloc] .tv")),
       want.totals.alloc_count, "tile of allocations");
  await page.keyboard.press("b");
  await page.keyboard.press("1");
}

async function sites(page) {
  await page.keyboard.press("s");
  const rows = () => page.$$eval("#p-sites tbody tr", r => r.map(x =>
    [...x.cells].map(c => c.textContent)));
  let have = await rows();
  near(amount(have[0][1]), want.top.alloc_size, "largest site");
  check(have[0][0].includes(want.top.label), "name of the largest site",
        have[0][0], want.top.label);
  await page.click("#p-sites thead button:has-text('Average')");
  have = (await rows()).map(r => amount(r[r.length - 1]));
  check(have.every((x, i) => i === 0 || x <= have[i - 1] * 1.006),
        "sorted by average, falling");
  same(await page.getAttribute("#p-sites th[aria-sort]", "aria-sort"),
       "descending", "aria-sort");
  await page.keyboard.press("Enter");
  have = (await rows()).map(r => amount(r[r.length - 1]));
  check(have.every((x, i) => i === 0 || x >= have[i - 1] * 0.994),
        "sorted by average, rising, from the keyboard");
}

async function flame(page) {
  await page.keyboard.press("f");
  await page.keyboard.press("1");
  await page.focus("#cv");
  const crumbs = () => page.$$eval("#crumbs button", b => b.length);
  same(await crumbs(), 1, "not zoomed at first");
  await page.keyboard.press("ArrowDown");
  const name = await page.textContent("#detail h3");
  check(name !== "All" && name.length > 3, "arrow down selects", name);
  await page.keyboard.press("Enter");
  same(await crumbs(), 2, "Enter zooms");
  await page.keyboard.press("Home");
  same(await crumbs(), 1, "Home zooms out");
  const box = await page.locator("#cv").boundingBox();
  await page.mouse.click(box.x + 30, box.y + 30);
  same(await crumbs(), 2, "a click zooms");
  same(await page.textContent("#detail h3"), name, "to the same box");
  await page.click("#crumbs button >> nth=0");
  same(await crumbs(), 1, "the first crumb zooms out");
  await page.keyboard.press("i");
  same(await page.getAttribute("#t-inv", "aria-selected"), "true",
       "inverted view");
  await page.focus("#cv");
  await page.keyboard.press("ArrowDown");
  check((await page.textContent("#detail h3")).includes(want.top.label),
        "inverted view begins with the largest site");
}

/* A box too narrow for its line's name still says which line it is. */
async function labels(page) {
  await page.keyboard.press("f");
  await page.evaluate(() => { window.written = []; });
  await page.keyboard.press("2");
  const all = await page.evaluate(() => window.written);
  const cut = all.filter(t => /\u2026/.test(t));
  check(cut.some(t => /^\w+\u2026:\d+$/.test(t)) &&
        all.some(t => /^:\d+$/.test(t)), "short names keep the line", all);
  same(cut.filter(t => /:|lua/.test(t) && !/:\d+$/.test(t)).join(), "",
       "no name of a line without the line");
  await page.keyboard.press("1");
}

async function find(page) {
  await page.keyboard.press("f");
  await page.keyboard.press("/");
  await page.keyboard.type(want.search);
  near(parseFloat(await page.textContent("#hits")), want.search_share,
       "share of what was searched");
  await page.keyboard.press("Escape");
  same(await page.textContent("#hits"), "", "Escape clears the search");
}

async function colours(page) {
  const paper = () => page.evaluate(() =>
    getComputedStyle(document.body).backgroundColor);
  const before = await paper();
  await page.click("#theme");
  check(before !== await paper(), "the theme button changes the paper");
  await page.keyboard.press("t");
  same(await paper(), before, "t changes it back");
}

async function sealed(page) {
  const left = await page.evaluate(async () => {
    try { await fetch("http://127.0.0.1:9/"); return "went"; }
    catch (e) { return "refused"; }
  });
  same(left, "refused", "the page may not fetch");
  const ran = await page.evaluate(() => {
    const s = document.createElement("script");
    s.textContent = "window.intruder=1";
    document.body.append(s);
    return window.intruder === 1;
  });
  check(!ran, "no other script may run");
}

async function plain(browser) {
  const t = await open(browser, "plain.html",
    { viewport: { width: 1440, height: 1000 }, colorScheme: "light" });
  await tiles(t.page);
  await sites(t.page);
  await flame(t.page);
  await labels(t.page);
  await find(t.page);
  await colours(t.page);
  await t.page.keyboard.press("d");
  check((await t.page.$$("#p-files tbody tr")).length > 0, "files listed");
  await t.page.keyboard.press("a");
  check((await t.page.textContent("#p-about")).includes("Totals"),
        "totals in About");
  same(t.bad.join("; "), "", "plain page is quiet");
  await sealed(t.page);
  await t.close();
}

async function shots(browser) {
  const looks = [["wide-light", 1440, 1000, "light"],
    ["wide-dark", 1440, 1000, "dark"], ["phone", 390, 844, "light"],
    ["large", 2560, 1300, "light"]];
  for (const [name, width, height, colorScheme] of looks) {
    const t = await open(browser, "plain.html",
      { viewport: { width, height }, colorScheme });
    const over = await t.page.evaluate(() =>
      document.documentElement.scrollWidth - innerWidth);
    check(over <= 0, name + " does not scroll sideways", over);
    for (const tab of ["flame", "inv", "sites", "files", "about"]) {
      await t.page.click("#t-" + tab);
      const wide = await t.page.evaluate(() =>
        document.documentElement.scrollWidth - innerWidth);
      check(wide <= 0, name + " " + tab + " does not scroll sideways", wide);
      await t.page.screenshot({
        path: path.join(dir, "shot-" + name + "-" + tab + ".png") });
    }
    same(t.bad.join("; "), "", name + " is quiet");
    await t.close();
  }
}

async function hostile(browser) {
  const t = await open(browser, "hostile.html",
    { viewport: { width: 1200, height: 900 } });
  await t.page.keyboard.press("s");
  const text = await t.page.textContent("#p-sites");
  for (const s of want.hostile)
    check(text.includes(s), "hostile name as text", s);
  same(await t.page.evaluate(() => window.intruder), undefined,
       "nothing in a name ran");
  same(await t.page.$$eval("img, iframe, object, embed, a, link",
    e => e.length), 0, "no element came out of a name");
  same(await t.page.$$eval("script", e => e.length), 2, "scripts");
  same(await t.page.evaluate(() =>
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/
      .test(document.body.innerText)), false, "no control in what is shown");
  same(t.bad.join("; "), "", "hostile page is quiet");
  await t.close();
}

async function diff(browser) {
  const t = await open(browser, "diff.html",
    { viewport: { width: 1440, height: 1000 } });
  await t.page.keyboard.press("1");
  same(await t.page.textContent("#eye"), "LuaJIT memory profile, compared",
       "says that it compares");
  await t.page.keyboard.press("s");
  const head = await t.page.$$eval("#p-sites thead th", h =>
    h.map(x => x.textContent.replace(/ .$/, "")));
  same(head.slice(1).join(), "Change,Old,New", "columns of a comparison");
  const change = amount((await t.page.textContent(
    "#tiles [data-k=alloc] .ts")).replace("\u2212", ""));
  near(change, Math.abs(want.diff_alloc_size), "change of what is allocated");
  same(t.bad.join("; "), "", "compared page is quiet");
  await t.close();
}

/* A recording with call stacks and marks: made only with a luajit. */
async function stacks(browser) {
  if (!fs.existsSync(path.join(dir, "stacks.html"))) return;
  const t = await open(browser, "stacks.html",
    { viewport: { width: 1440, height: 1000 } });
  const p = t.page;
  check(await p.isVisible("#plot"), "timeline is shown");
  check(await p.isVisible("#tcap .k-gc"), "GC total in the timeline");
  check((await p.textContent("#plot")).includes(" ms") ||
        (await p.textContent("#plot")).includes(" s"), "timeline by time");
  check((await p.evaluate(() => window.written)).some(t =>
    /leakhunt\.lua:\d+$/.test(t)), "a wide box has the whole name");
  check(/^peak [\d.]+ [KM]iB$/.test(await p.textContent("#plot .peak")),
        "the peak is marked");
  const ticks = await p.$$eval("#plot .tick", t => t.map(x => x.textContent));
  check(ticks.length >= 3 && new Set(ticks).size === ticks.length &&
        ticks[0] === "0 s", "ticks of the time axis", ticks);
  check((await p.$$("#plot text:not(.tick):not(.peak)")).length >= 3,
        "labels of the byte axis");
  await p.focus("#plot");
  await p.keyboard.press("ArrowRight");
  check((await p.textContent("#tread")).includes("in use"),
        "arrow keys read the timeline");
  await p.focus("#cv");
  for (let i = 0; i < 3; i++) await p.keyboard.press("ArrowDown");
  await p.keyboard.press("Enter");
  const depth = await p.$$eval("#crumbs button", b => b.length);
  same(depth, 4, "three frames deep");
  check((await p.textContent("#detail")).includes("Stack, 3 lines"),
        "the stack is listed");
  await p.keyboard.press("Backspace");
  same(await p.$$eval("#crumbs button", b => b.length), 3, "one frame up");
  await p.keyboard.press("i");
  await p.focus("#cv");
  await p.keyboard.press("ArrowDown");
  check((await p.textContent("#detail h3")).includes("leakhunt.lua:40"),
        "the leak is the largest line",
        await p.textContent("#detail h3"));
  await p.keyboard.press("s");
  check((await p.textContent("#p-sites tbody tr >> nth=0"))
    .includes("leakhunt.lua:40"), "and the first of the table");
  const kept = await p.$$eval("#p-sites thead th", h =>
    h.findIndex(x => x.textContent === "Kept (blocks)"));
  check(kept > 0, "the share kept is a column");
  same(await p.$eval("#p-sites tbody tr", (r, i) => r.cells[i].textContent,
                     kept), "100\u00a0%", "all is kept of the leak");
  await p.keyboard.press("d");
  check((await p.$$("#p-files tbody tr")).length > 1, "folders are open");
  await p.screenshot({ path: path.join(dir, "shot-stacks.png") });
  same(t.bad.join("; "), "", "page with stacks is quiet");
  await t.close();
}

/* Rows of a table as objects: column headings (without the arrow) to texts,
** the name under "name". */
const table = (page, panel) => page.$$eval(panel + " table", ([t]) => {
  const head = [...t.querySelectorAll("thead th")].map((x, i) =>
    i ? x.textContent.replace(/ .$/, "") : "name");
  return [...t.querySelectorAll("tbody tr")].map(r =>
    Object.fromEntries([...r.cells].map((c, i) => [head[i],
                                                   c.textContent])));
});

/* Whatever is chosen and folded, a line has one number of each kind. */
async function oneNumber(browser) {
  await oneNumberIn(browser, "jit.html");
  if (fs.existsSync(path.join(dir, "pruned.html")))
    await oneNumberIn(browser, "pruned.html");
}

async function oneNumberIn(browser, file) {
  const t = await open(browser, file, {});
  const p = t.page;
  same((await p.textContent("#model")).includes("as (pruned) under"),
       file === "pruned.html", file + ": paths were folded");
  for (const m of ["1", "2", "3", "4"]) {
    await p.keyboard.press("s");
    await p.keyboard.press(m);
    const rows = (await table(p, "#p-sites")).slice(0, 5);
    for (const [i, row] of rows.entries()) {
      await p.keyboard.press("s");
      await p.click("#p-sites tbody tr:nth-child(" + (i + 1) + ") button");
      const have = await p.$$eval("#detail .nums tr", r => r.map(x =>
        [...x.cells].map((c, i) =>
          i ? c.textContent.replace(/ [a-z]+$/, "") : c.textContent)));
      for (const [k, size, count] of [
        ["Allocated", "Allocated", "Allocations"],
        ["Still in use", "In use", "Blocks"],
        ["Peak", "Peak", "Peak blocks"],
        ["Temporary", "Temporary", "Temp. count"]])
        same((have.find(x => x[0] === k) || []).slice(1).join(),
             row[size] + "," + row[count],
             file + ", measure " + m + ", panel of " + row.name + ", " + k);
      check(!/\b1 (blocks|allocations|lines)\b/.test(await p.evaluate(() =>
        document.body.innerText)), "one of a thing is not many", row.name);
      await p.keyboard.press(m);
    }
  }
  await t.close();
}

/* A line through which all goes shows that, whatever it allocates itself. */
async function callees(browser) {
  if (!fs.existsSync(path.join(dir, "pruned.html"))) return;
  for (const file of ["pruned.html", "stacks.html"]) {
    const t = await open(browser, file, {});
    const p = t.page;
    await p.keyboard.press("d");
    for (let i = 0; i < 20; i++) {
      const shut = await p.$("#p-files tbody [aria-expanded=false]");
      if (!shut) break;
      await shut.click();
    }
    const rows = await table(p, "#p-files");
    const all = amount(await p.textContent("#tiles [data-k=inuse] .tv"));
    const loop = rows.find(r => /line 80\b/.test(r.name));
    check(loop && amount(loop["with callees"]) > 0.8 * all,
          file + ": the request loop with callees", loop, all);
    check(rows.length > 5 && rows.every(r => amount(r["with callees"]) >=
          amount(r["In use"])), file + ": no less with callees than without");
    check(rows.every(r => !r.name.includes("pruned")),
          file + ": what was folded is no place");
    await t.close();
  }
}

/* Callers of a line; one that calls itself is passed over. */
async function callers(browser) {
  if (!fs.existsSync(path.join(dir, "again.html"))) return;
  const t = await open(browser, "again.html", {});
  const p = t.page;
  await p.keyboard.press("s");
  const [row] = await table(p, "#p-sites");
  same(await p.$$eval("#p-sites tbody tr:first-child button", b => b.length),
       1, "one button in a row");
  await p.click("#p-sites tbody tr:first-child td:nth-child(3)");
  same(await p.textContent("#detail h3"), row.name, "all of a row leads on");
  const rows = await p.$$eval("#detail .by tr", r => r.map(x =>
    [...x.cells].map(c => c.textContent)));
  same(rows.map(r => r.slice(0, 2).join()).join(";"),
       row["In use"] + "," + row.Blocks, "one caller has all");
  check(/:4 \(calls itself in between\)$/.test(rows[0][2]),
        "the caller behind the recursion", rows);
  await p.click("#detail .by button");
  check(/:4$/.test(await p.textContent("#detail h3")), "a caller is shown",
        await p.textContent("#detail h3"));
  check(await p.$$eval("#crumbs button", b => b.length) > 10,
        "behind many levels");
  await p.keyboard.press("d");
  const files = await p.innerText("#p-files");
  check(/C functions in [^/]/.test(files) && !files.includes("//"),
        "libraries are named apart", files);
  await t.close();
}

/* The first screen says which line it is, and what to think of it. */
async function verdict(browser) {
  if (!fs.existsSync(path.join(dir, "nearly.html"))) return;
  for (const [width, height] of [[1400, 1000], [390, 844]]) {
    const t = await open(browser, "nearly.html",
      { viewport: { width, height } });
    const p = t.page;
    const first = p.locator("#verdict li").first();
    const box = await first.boundingBox();
    check(box.y + box.height < height, "the verdict is on the first screen");
    check(/60,000 of its 60,0\d\d allocations still in use \(>99.9/.test(
      await first.innerText()), "its numbers", await first.innerText());
    same(await first.locator(".pill").count(), 1, "a suspect");
    same(await p.locator("#verdict .pill").count(), 1, "and no other");
    check(/--from=\d+ FILE|--from=[\d.]+m?s FILE/.test(
      await p.textContent("#verdict details")), "how to tell growth");
    await first.locator("button").click();
    check((await p.innerText("#detail")).includes("Held at the peak"),
          "held at the peak and at the end");
    await p.keyboard.press("1");
    same(await p.locator("#verdict .pill").count(), 0,
         "what was allocated is no suspect");
    await t.close();
  }
}

/* On a telephone: names stay, the rest scrolls, and how to zoom is said. */
async function phone(browser) {
  if (!fs.existsSync(path.join(dir, "pruned.html"))) return;
  const t = await open(browser, "pruned.html", {
    viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
  const p = t.page;
  check((await p.innerText("#crumbs")).includes("tap it again to zoom"),
        "how to zoom", await p.innerText("#crumbs"));
  await p.locator("#cv").scrollIntoViewIfNeeded();
  const cv = await p.locator("#cv").boundingBox();
  await p.touchscreen.tap(cv.x + 60, cv.y + 30);
  same(await p.$$eval("#crumbs button", b => b.length), 1, "a tap selects");
  await p.click("#detail .do button:has-text('Zoom in')");
  same(await p.$$eval("#crumbs button", b => b.length), 2, "a button zooms");
  await p.click("#detail .do button:has-text('Zoom out')");
  same(await p.$$eval("#crumbs button", b => b.length), 1, "and zooms out");
  for (const tab of ["sites", "files"]) {
    await p.click("#t-" + tab);
    check(await p.isVisible("#p-" + tab + " .side"), tab + " says it goes on");
    const have = await p.$eval("#p-" + tab + " .scroll", s => {
      const cell = s.querySelector("tbody td"), out = s.getBoundingClientRect();
      s.scrollLeft = 300;
      const at = cell.getBoundingClientRect();
      return [s.scrollLeft, at.left - out.left, at.width / out.width];
    });
    check(have[0] === 300 && Math.abs(have[1]) < 2 && have[2] < 0.5,
          tab + ": names stay", have);
  }
  await t.close();
  const wide = await open(browser, "pruned.html",
    { viewport: { width: 1400, height: 1000 } });
  await wide.page.keyboard.press("s");
  check(!await wide.page.isVisible("#p-sites .side"), "no hint without need");
  await wide.close();
}

/* What is not plain is explained where it stands and in the help. */
async function words(browser) {
  const t = await open(browser, "plain.html", {});
  const p = t.page;
  await p.keyboard.press("?");
  const help = await p.innerText("#keys");
  for (const w of ["Temporary", "Kept", "(pruned)", "stacks", "mode",
                   "With callees"])
    check(help.includes(w), "help explains", w);
  await p.keyboard.press("Escape");
  await p.keyboard.press("s");
  const bare = await p.$$eval("#p-sites thead button", b =>
    b.filter(x => !x.title).map(x => x.textContent));
  same(bare.join(), "", "columns that do not say what they are");
  for (const k of ["f", "i", "s", "d", "a"])
    for (const m of ["1", "2", "3", "4"]) {
      await p.keyboard.press(k);
      await p.keyboard.press(m);
      check(!/NaN|undefined|null|Infinity|Infinite/.test(await p.evaluate(
        () => document.body.innerText)), "no number out of nothing", k, m);
    }
  await t.close();
}

/* 100 % is all, 0 % is nothing. */
async function kept(browser) {
  if (!fs.existsSync(path.join(dir, "nearly.html"))) return;
  for (const file of ["nearly.html", "stacks.html", "plain.html"]) {
    const t = await open(browser, file, {});
    await t.page.keyboard.press("s");
    await t.page.keyboard.press("2");
    const rows = await table(t.page, "#p-sites");
    for (const r of rows) {
      const part = amount(r.Blocks), all = amount(r.Allocations);
      same([/^100\D/.test(r["Kept (blocks)"]), /^0[^.]/.test(r["Kept (blocks)"])]
        .join(), [all > 0 && part === all, part === 0].join(),
        file + ": kept of " + r.name + " " + JSON.stringify(r));
    }
    if (file === "nearly.html")
      same(rows[0]["Kept (blocks)"], ">99.9\u00a0%", "all but one is not all");
    await t.close();
  }
}

/* A run too short for marks of time: the timeline counts events. */
async function brief(browser) {
  if (!fs.existsSync(path.join(dir, "brief.html"))) return;
  const t = await open(browser, "brief.html",
    { viewport: { width: 1440, height: 1000 } });
  check(await t.page.isVisible("#plot"), "timeline of a short run");
  check((await t.page.textContent("#tread")).includes(" at event "),
        "its peak by events");
  const ticks = await t.page.$$eval("#plot .tick", e => e.map(x =>
    x.textContent));
  check(ticks.length >= 2 && ticks.every(x => /^[\d,]+( events)?$/.test(x)),
        "its axis by events", ticks);
  const scale = await t.page.$$eval("#plot text:not(.tick):not(.peak)", t =>
    t.map(x => x.textContent));
  check(Math.max(...scale.map(amount)) >=
        amount(await t.page.textContent("#plot .peak")),
        "the byte axis is labelled up to its top", scale);
  same(t.bad.join("; "), "", "page of a short run is quiet");
  await t.close();
}

/* Marks of the program, the last three of them at the right edge. */
async function marks(browser) {
  if (!fs.existsSync(path.join(dir, "marks.html"))) return;
  const t = await open(browser, "marks.html",
    { viewport: { width: 900, height: 900 } });
  same((await t.page.$$("#plot .mark")).length, 4, "lines of marks");
  const boxes = await t.page.$$eval("#plot .label", e => e.map(x => {
    const b = x.getBoundingClientRect();
    return [x.textContent, b.left, b.right];
  }));
  const plot = await t.page.locator("#plot").boundingBox();
  same(boxes.map(b => b[0]).join(), "first,second", "labels of marks");
  check(boxes.every((b, i) => b[2] <= plot.x + plot.width &&
                    (i === 0 || b[1] > boxes[i - 1][2])),
        "labels are within the plot and apart", boxes);
  same(t.bad.join("; "), "", "page with marks is quiet");
  await t.close();
}

/* What is still held, by kind of object: a hundred of most. */
async function kinds(browser) {
  if (!fs.existsSync(path.join(dir, "kinds.html"))) return;
  const t = await open(browser, "kinds.html", {});
  await t.page.keyboard.press("a");
  const rows = await t.page.$$eval("#p-about section:first-child tr", r =>
    r.map(x => [x.cells[0].textContent, x.cells[2].textContent]));
  const have = Object.fromEntries(rows.map(r => [r[0], amount(r[1])]));
  for (const k of ["thread", "cdata", "upvalue"]) same(have[k], 100, k);
  for (const k of ["table", "string", "function", "userdata", "Lua stack"])
    check(have[k] >= 100 && have[k] < 250, k, have[k]);
  for (const k of ["table, array part", "prototype"])
    check(have[k] >= 1 && have[k] < 10, k, have[k]);
  same(have["not known"], undefined, "blocks of no kind");
  same(t.bad.join("; "), "", "page of kinds is quiet");
  await t.close();
}

async function speedscope(browser) {
  const app = path.join(path.dirname(require.resolve("speedscope/package.json")),
    "dist", "release", "index.html");
  const context = await browser.newContext(
    { viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  const bad = [];
  page.on("pageerror", e => bad.push(e.message));
  page.on("dialog", d => { bad.push(d.message()); d.dismiss(); });
  await page.goto(url.pathToFileURL(app).href);
  await page.setInputFiles("input[type=file]",
    path.join(dir, "plain.speedscope.json"));
  await page.getByText("Sandwich").first().click();
  await page.waitForFunction(l => document.body.innerText.includes(l),
    want.inuse_top.label, { timeout: 30000 }).catch(() => {});
  const text = await page.evaluate(() => document.body.innerText);
  check(text.includes(want.inuse_top.label), "speedscope lists the site",
        want.inuse_top.label);
  check(text.includes("in use, bytes"), "speedscope names the profile");
  await page.getByText("Left Heavy").first().click();
  await page.waitForTimeout(300);
  await page.screenshot({ path: path.join(dir, "shot-speedscope.png") });
  same(bad.join("; "), "", "speedscope is content");
  await context.close();
}

(async () => {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox"] });
  for (const part of [plain, shots, hostile, diff, stacks, oneNumber,
                      callees, callers, kept, verdict, phone,
                      words, brief, marks, kinds, speedscope])
    await part(browser).catch(e => {
      failures++;
      console.log("FAIL " + part.name + ": " + e.stack);
    });
  await browser.close();
  console.log(checks + " checks, " + failures + " failures");
  process.exit(failures ? 1 : 0);
})();
