"use strict";
// The pages work without this file. With it, links and forms exchange the content alone, undo and
// redo go through the browser's history, and the line for a condition proposes words.

const byId = (id) => document.getElementById(id);
let going = null; // the page that is waited for: a new one ends it
let asking = null; // the reason that is waited for: a new one or a page ends it
let arrived = Promise.resolve(); // when no page is waited for any more
let answered = location.href; // the address of the page that is shown

function showBusy() {
  const busy = Boolean(going || asking);
  document.body.classList.toggle("busy", busy);
  byId("main").setAttribute("aria-busy", String(busy));
}

async function fetched(url, control) {
  const answer = await fetch(url, { signal: control.signal, credentials: "same-origin" });
  const text = await answer.text();
  if (!(answer.headers.get("content-type") || "").startsWith("text/html")) throw new Error(text.trim());
  return new DOMParser().parseFromString(text, "text/html");
}

// ---- the choice: what is clicked before an answer is there changes what was asked for -----------

const pairs = (url, own) => [...url.searchParams].filter(([name]) => !own.includes(name));
const has = (list, [name, value]) => list.some(([n, v]) => n === name && v === value);
const without = (list, [name, value]) => list.filter(([n, v]) => n !== name || v !== value);

// Links and forms of the page are made for its own choice. While another is waited for, what they
// add to theirs and take from it is done to the one that the address bar has.
function present(address, toggles) {
  const url = new URL(address, location.href);
  if (!going) return url.href;
  const nav = byId("pages");
  const own = nav.dataset.own.split(" ");
  const single = nav.dataset.single.split(" ");
  const shown = pairs(new URL(nav.querySelector("a").href), own);
  const asked = pairs(url, own);
  let wanted = pairs(new URL(location.href), own);
  for (const pair of shown.filter((p) => !has(asked, p))) {
    wanted = toggles && !has(wanted, pair) ? [...wanted, pair] : without(wanted, pair);
  }
  for (const pair of asked.filter((p) => !has(shown, p))) {
    if (single.includes(pair[0])) wanted = [...wanted.filter(([name]) => name !== pair[0]), pair];
    else if (!has(wanted, pair)) wanted = [...wanted, pair];
    else if (toggles) wanted = without(wanted, pair);
  }
  const rest = [...url.searchParams].filter(([name]) => own.includes(name));
  url.search = new URLSearchParams([...wanted, ...rest]).toString();
  return url.href;
}

function swap(page, id) {
  const from = page.getElementById(id);
  const to = byId(id);
  if (from && to) to.replaceWith(document.adoptNode(from));
}

function say(text) { byId("status").textContent = text; }

// ---- history: how deep this entry is, and how deep the session went ---------------------------

const depth = () => (history.state && history.state.depth) || 0;
const deepest = () => Number(sessionStorage.getItem("deepest") || 0);

function showHistory() {
  byId("undo").disabled = depth() === 0;
  byId("redo").disabled = depth() >= deepest();
}

function go(url, push) {
  if (push) {
    const next = depth() + 1;
    history.pushState({ depth: next }, "", url);
    sessionStorage.setItem("deepest", String(next));
  }
  showHistory();
  arrived = arrive(url);
}

async function arrive(url) {
  if (going) going.abort();
  if (asking) asking.abort();
  const control = going = new AbortController();
  showBusy();
  try {
    const page = await fetched(url, control);
    const focused = document.activeElement && document.activeElement.id;
    const typed = unsent();
    swap(page, "main");
    answered = location.href;
    if (typed) typed();
    watch();
    const nav = page.getElementById("pages");
    if (nav) byId("pages").replaceWith(document.adoptNode(nav));
    document.title = page.title;
    const again = focused && byId(focused);
    (again || byId("main")).focus({ preventScroll: Boolean(again) });
    const total = byId("total");
    say(total ? `${total.textContent} kernels` : document.title);
  } catch (error) {
    if (error.name !== "AbortError") {
      say(failed(error));
      if (going === control) unmark();
    }
  } finally {
    if (going === control) going = null;
    showBusy();
  }
}

// What was typed into the line for a condition and not sent: it is put into the next page's line.
function unsent() {
  const line = byId("where");
  if (!line || line.value === line.defaultValue) return null;
  const { value, defaultValue, selectionStart, selectionEnd } = line;
  return () => {
    const now = byId("where");
    if (!now || now.value !== defaultValue) return;
    now.value = value;
    now.setSelectionRange(selectionStart, selectionEnd);
  };
}

// Chips show what was chosen before the server has answered; without an answer nothing was.
function unmark() {
  for (const chip of document.querySelectorAll("[data-was]")) {
    chip.setAttribute("aria-pressed", chip.dataset.was);
    delete chip.dataset.was;
  }
  history.replaceState(history.state, "", answered);
}

async function ask(url) {
  if (!byId("answer")) return void go(url, true);
  if (asking) asking.abort();
  const control = asking = new AbortController();
  showBusy();
  try {
    await arrived; // the panel is part of the page
    if (control.signal.aborted) return;
    const place = byId("answer");
    if (!place) return void go(url, true);
    place.className = "panel";
    place.textContent = "Asking which rules exclude it …";
    const page = await fetched(url, control);
    swap(page, "answer");
    byId("answer").focus();
  } catch (error) {
    if (error.name !== "AbortError") byId("answer").textContent = failed(error);
  } finally {
    if (asking === control) asking = null;
    showBusy();
  }
}

function failed(error) {
  const text = error instanceof TypeError ? "The server does not answer: is `ckrules explore` still running?" : error.message;
  const main = byId("main");
  if (!byId("lost")) {
    const line = document.createElement("p");
    line.id = "lost";
    line.className = "fault";
    line.setAttribute("role", "alert");
    line.textContent = text;
    main.prepend(line);
  }
  return text;
}

function inside(link) {
  return link.origin === location.origin && !link.hasAttribute("download") && link.target === "" &&
    !link.pathname.startsWith("/assets/") && !(link.pathname === location.pathname &&
    link.search === location.search && link.hash);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest && event.target.closest("a[href]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (!inside(link)) return;
  event.preventDefault();
  const chip = link.matches("[role=button][aria-pressed]");
  const address = link.hasAttribute("data-all") ? link.href : present(link.href, chip);
  if (link.hasAttribute("data-why")) ask(address);
  else if (link.hasAttribute("data-part")) part(link.href);
  else if (link.classList.contains("close") && byId("total")) byId("answer").replaceChildren(), byId("answer").className = "";
  else {
    if (chip) {
      const was = link.getAttribute("aria-pressed");
      if (!("was" in link.dataset)) link.dataset.was = was;
      link.setAttribute("aria-pressed", String(was !== "true"));
    }
    go(address, true);
  }
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "get" || form.hasAttribute("data-plain")) return;
  event.preventDefault();
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value !== "") query.append(name, value);
  const text = query.toString();
  go(present(form.getAttribute("action") + (text ? `?${text}` : ""), false), true);
});

window.addEventListener("popstate", () => go(location.href, false));
byId("undo").addEventListener("click", () => history.back());
byId("redo").addEventListener("click", () => history.forward());
byId("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(location.href);
    say("The address is copied");
    byId("copy").textContent = "Copied";
    setTimeout(() => { byId("copy").textContent = "Copy address"; }, 1500);
  } catch {
    say(location.href);
  }
});

document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, textarea, select")) return;
  const key = event.key.toLowerCase();
  if ((event.ctrlKey || event.metaKey) && key === "z") {
    event.preventDefault();
    (event.shiftKey ? byId("redo") : byId("undo")).click();
  } else if (event.ctrlKey && key === "y") {
    event.preventDefault();
    byId("redo").click();
  } else if (event.key === " " && event.target.matches("a[role=button]")) {
    event.preventDefault();
    event.target.click();
  }
});

if (!history.state) {
  history.replaceState({ depth: 0 }, "");
  sessionStorage.setItem("deepest", "0");
}
showHistory();

// ---- the list of kernels: a search goes on, more rows are shown, some are ticked ---------------

let seeing = null; // the part of the list that is waited for

const nearEnd = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) part(entry.target.href);
}, { rootMargin: "200px" });

async function part(url) {
  if (seeing) seeing.abort();
  const control = seeing = new AbortController();
  try {
    const page = await fetched(url, control);
    const ticks = ticked().map((box) => box.value);
    const at = document.activeElement;
    const same = (other) => at.id ? other.id === at.id : at.value ? other.value === at.value : other.href === at.href;
    const held = byId("listing").contains(at);
    swap(page, "listing");
    for (const box of boxes()) box.checked = ticks.includes(box.value);
    const again = held && [...byId("listing").querySelectorAll("a, input, button")].find(same);
    if (again) again.focus({ preventScroll: true });
    watch();
  } catch (error) {
    if (error.name !== "AbortError") failed(error);
  }
}

const boxes = () => [...document.querySelectorAll("#listing input[name=k]")];
const ticked = () => boxes().filter((box) => box.checked);

function watch() {
  nearEnd.disconnect();
  const list = byId("listing");
  if (!list) return seeing && seeing.abort();
  showTicked();
  if (list.dataset.again) part(list.dataset.again);
  else if (byId("more")) nearEnd.observe(byId("more"));
}

function showTicked() {
  const button = byId("compare");
  if (!button) return;
  const n = ticked().length;
  button.disabled = n < 2 || n > 3;
  byId("ticked").textContent = n ? `${n} ticked${n > 3 ? ": three at most" : n < 2 ? ": tick another one" : ""}` : "tick two or three kernels; Enter compares them";
}

document.addEventListener("change", (event) => { if (event.target.name === "k") showTicked(); });
watch();

// ---- values that no kernel has: by which rules ------------------------------------------------

async function tell(chip) {
  const tip = byId("tip") || document.body.appendChild(Object.assign(document.createElement("div"), { id: "tip" }));
  tip.setAttribute("role", "tooltip");
  const place = chip.getBoundingClientRect();
  Object.assign(tip.style, { left: `${scrollX + Math.max(8, Math.min(place.left, innerWidth - 320))}px`, top: `${scrollY + place.bottom + 4}px` });
  tip.textContent = chip.dataset.rules || "Asking which rules exclude it …";
  tip.hidden = false;
  chip.setAttribute("aria-describedby", "tip");
  if (chip.dataset.rules) return;
  const answer = await fetch(chip.href.replace("/why?", "/never?"), { credentials: "same-origin" });
  if (answer.ok) chip.dataset.rules = await answer.text();
  if (chip.matches(":hover, :focus") && !tip.hidden) tip.textContent = chip.dataset.rules || "";
}

function untell(event) {
  const chip = event.target.closest && event.target.closest(".never .chip");
  if (!chip || !byId("tip")) return;
  chip.removeAttribute("aria-describedby");
  byId("tip").hidden = true;
}

for (const type of ["mouseover", "focusin"]) {
  document.addEventListener(type, (event) => {
    const chip = event.target.closest && event.target.closest(".never .chip");
    if (chip) tell(chip).catch(() => {});
  });
}
for (const type of ["mouseout", "focusout"]) document.addEventListener(type, untell);

// ---- the line for a condition -----------------------------------------------------------------

let proposing = null;
let waiting = 0;
let proposed = [];
let selected = -1;

function list() { return byId("proposals"); }

function close() {
  proposed = [];
  selected = -1;
  if (!list()) return;
  list().hidden = true;
  byId("where").setAttribute("aria-expanded", "false");
  byId("where").removeAttribute("aria-activedescendant");
}

function select(index) {
  selected = index;
  [...list().children].forEach((item, i) => item.setAttribute("aria-selected", String(i === index)));
  if (index < 0) return byId("where").removeAttribute("aria-activedescendant");
  byId("where").setAttribute("aria-activedescendant", `proposal-${index}`);
  list().children[index].scrollIntoView({ block: "nearest" });
}

function take(index) {
  const { text, start, end } = proposed[index];
  const line = byId("where");
  line.setRangeText(text, start, end, "end");
  close();
  showFault(line.value, null);
  line.focus();
}

function offer(found) {
  proposed = found;
  list().replaceChildren(...found.map((p, i) => {
    const item = document.createElement("li");
    item.id = `proposal-${i}`;
    item.setAttribute("role", "option");
    const word = document.createElement("code");
    word.textContent = p.text;
    const detail = document.createElement("small");
    detail.textContent = p.detail;
    item.append(word, detail);
    item.addEventListener("mousedown", (event) => { event.preventDefault(); take(i); });
    return item;
  }));
  list().hidden = found.length === 0;
  byId("where").setAttribute("aria-expanded", String(found.length > 0));
  select(-1);
}

function showFault(text, fault) {
  const line = byId("where");
  const place = byId("where-fault");
  if (!fault) {
    line.removeAttribute("aria-invalid");
    return place.replaceChildren();
  }
  line.setAttribute("aria-invalid", "true");
  const said = document.createElement("p");
  said.className = "fault";
  const at = document.createElement("code");
  at.className = "place";
  const mark = document.createElement("mark");
  mark.textContent = text.slice(fault.column - 1, fault.column) || " ";
  at.append(text.slice(0, fault.column - 1), mark, text.slice(fault.column));
  said.append(at, ` column ${fault.column}: ${fault.problem}`);
  place.replaceChildren(said);
}

async function propose() {
  const line = byId("where");
  if (!line) return;
  if (proposing) proposing.abort();
  proposing = new AbortController();
  const query = new URLSearchParams({ where: line.value, cursor: String(line.selectionStart) });
  try {
    const answer = await fetch(`/complete?${query}`, { signal: proposing.signal, credentials: "same-origin" });
    const found = await answer.json();
    if (byId("where") !== line || document.activeElement !== line) return;
    offer(found.proposals);
    showFault(line.value, found.proposals.length ? null : found.fault); // a word is being typed
  } catch (error) {
    if (error.name !== "AbortError") close();
  }
}

document.addEventListener("input", (event) => {
  if (event.target.id !== "where") return;
  if (proposing) proposing.abort();
  close(); // they were for another text
  clearTimeout(waiting);
  waiting = setTimeout(propose, 120);
});

document.addEventListener("focusout", (event) => { if (event.target.id === "where") close(); });

document.addEventListener("keydown", (event) => {
  if (event.target.id !== "where" || !list() || list().hidden) return;
  const last = proposed.length - 1;
  if (event.key === "ArrowDown") select(selected >= last ? 0 : selected + 1);
  else if (event.key === "ArrowUp") select(selected <= 0 ? last : selected - 1);
  else if (event.key === "Escape") close();
  else if (event.key === "Tab" && !event.shiftKey) take(selected < 0 ? 0 : selected);
  else if (event.key === "Enter" && selected >= 0) take(selected);
  else return;
  event.preventDefault();
});
