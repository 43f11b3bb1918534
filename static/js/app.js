// Conveniences over pages that work without them: single keys, deadlines that tick, and the live queue.

const focusedField = () =>
  document.activeElement?.closest("input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]");

// ── Keys: off in fields, and switched off for good in the dialog ──
const KEYS_OFF = "keys-off";
const dialog = document.getElementById("keys");

function keysOff() {
  try { return localStorage.getItem(KEYS_OFF) === "1"; } catch { return false; }
}

if (dialog) {
  const toggle = dialog.querySelector("[data-keys-on]");
  toggle.checked = !keysOff();
  toggle.addEventListener("change", () => {
    try { localStorage.setItem(KEYS_OFF, toggle.checked ? "0" : "1"); } catch { /* storage is blocked: this page only */ }
  });
  for (const button of document.querySelectorAll("[data-keys-open]")) {
    button.hidden = false;
    button.addEventListener("click", () => dialog.showModal());
  }
}

function move(step) {
  const rows = [...document.querySelectorAll("[data-row]")];
  if (!rows.length) return;
  const here = rows.findIndex((row) => row.contains(document.activeElement));
  const next = here < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(Math.max(here + step, 0), rows.length - 1);
  (rows[next].querySelector("[data-open]") ?? rows[next].querySelector("a, summary"))?.focus();
}

function open() {
  const row = document.activeElement?.closest("[data-row]");
  (row?.querySelector("[data-open]") ?? row?.querySelector("details.call > summary"))?.click();
}

function claim() {
  const row = document.activeElement?.closest("[data-row]");
  (row ?? document.querySelector("#main > .head"))?.querySelector("[data-claim]")?.click();
}

function search() {
  const field = document.querySelector("[data-search]") ?? document.getElementById("find");
  field?.focus();
  field?.select();
}

const keys = {
  j: () => move(1),
  k: () => move(-1),
  o: open,
  c: claim,
  "/": search,
  "?": () => dialog?.showModal(),
};

document.addEventListener("keydown", (event) => {
  const form = document.getElementById("decide");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && form?.contains(document.activeElement)) {
    event.preventDefault();
    if (form.querySelector(".verb :checked:not([value=''])")) form.requestSubmit();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || keysOff() || focusedField() || dialog?.open) return;
  // What a page marks with a key goes first: a verb is chosen and sends nothing, a link or button is pressed.
  const chosen = event.key.length === 1 && document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!chosen && !Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  if (!chosen) return keys[event.key]();
  if (!chosen.matches("input")) return chosen.click();
  chosen.checked = true;
  chosen.dispatchEvent(new Event("change", { bubbles: true }));
  chosen.focus();
});

// ── Deadlines: the server's words go stale in an open page ──
function left(seconds) {
  const minutes = Math.floor(seconds / 60);
  if (seconds <= 0) return "time is up";
  if (minutes < 1) return "under a minute";
  if (minutes < 60) return `${minutes}\u00a0min`;
  if (minutes < 1440) return `${Math.floor(minutes / 60)}\u00a0h ${String(minutes % 60).padStart(2, "0")}\u00a0m`;
  return `${Math.floor(minutes / 1440)}\u00a0d ${Math.floor(minutes / 60) % 24}\u00a0h`;
}

setInterval(() => {
  for (const mark of document.querySelectorAll("[data-until]")) {
    const words = left(Number(mark.dataset.until) - Date.now() / 1000);
    if (mark.textContent !== words) mark.textContent = words;
  }
}, 15_000);

// ── Menus close on Escape and on a click elsewhere ──
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.querySelector(".menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

// ── Live queue: the socket says only "look again"; while it is down, the page asks by itself ──
const live = document.querySelector("[data-live]");

if (live) {
  const POLL_MS = 10_000;
  const GATHER_MS = 300; // many hints at once are one look
  let gathering = 0;
  let polling = 0;

  const look = () => {
    gathering ||= setTimeout(() => {
      gathering = 0;
      htmx.trigger(live, "queue-changed");
    }, GATHER_MS);
  };
  const poll = () => { polling ||= setInterval(look, POLL_MS); };

  live.addEventListener("htmx:wsBeforeMessage", (event) => {
    event.preventDefault(); // a hint is not markup
    look();
  });
  live.addEventListener("htmx:wsOpen", () => {
    clearInterval(polling);
    polling = 0;
    live.textContent = "Live since";
    look(); // whatever happened before the socket opened
  });
  live.addEventListener("htmx:wsClose", () => {
    live.textContent = `Looks every ${POLL_MS / 1000} s, as of`;
    poll();
  });
  poll();

  // A deadline passes without anybody telling: look again right after the nearest one.
  let nearest = 0;
  const awaitDeadline = () => {
    clearTimeout(nearest);
    const ends = [...document.querySelectorAll("[data-row] [data-until]")].map((mark) => Number(mark.dataset.until));
    const next = Math.min(...ends.filter((end) => end * 1000 > Date.now()));
    if (Number.isFinite(next)) nearest = setTimeout(() => { look(); awaitDeadline(); }, Math.min(next * 1000 - Date.now() + 1000, 2 ** 31 - 1));
  };
  awaitDeadline();

  // A row that leaves under the reader hands its focus to its neighbour.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const row = event.target.closest?.("[data-row]");
    if (row?.contains(document.activeElement)) {
      const neighbour = row.nextElementSibling ?? row.previousElementSibling;
      (neighbour?.querySelector("[data-open]") ?? document.getElementById("main")).focus();
    }
  });
}

// ── What was typed about a request is kept when the page is put away before its field was left ──
document.addEventListener("visibilitychange", () => {
  const form = document.querySelector("form[data-draft][hx-post]");
  if (document.visibilityState !== "hidden" || !form?.dataset.dirty) return;
  delete form.dataset.dirty;
  navigator.sendBeacon(form.getAttribute("hx-post"), new FormData(form));
});
document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (form?.matches("[data-draft]")) form.dataset.dirty = "1";
});
// What is sent is no draft any more.
document.addEventListener("submit", (event) => { delete event.target.dataset.dirty; });

// ── A session that is worked on refreshes itself, but not under somebody who reads a step of it ──
document.addEventListener("htmx:beforeRequest", (event) => {
  if (!event.target.matches?.("[data-follow]")) return;
  const main = document.getElementById("main");
  const at = document.activeElement;
  const reads = main.contains(at) && at !== main && !at.matches("[role=status], [role=alert]");
  if (reads || main.querySelector("details[open]") || !getSelection().isCollapsed) event.preventDefault();
});

// What was turned down comes back as the page that says why, with what was typed; it is shown like any other answer.
// What goes with a step in is the whole page, so the focus starts again at its top rather than nowhere.
document.addEventListener("htmx:beforeSwap", (event) => {
  if ([409, 422].includes(event.detail.xhr.status)) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
});
document.addEventListener("htmx:afterSwap", (event) => {
  const main = document.getElementById("main");
  if (event.detail.target.id !== "main" || document.activeElement !== document.body) return;
  (main.querySelector("[aria-invalid], #turned-down") ?? main).focus({ preventScroll: true });
  main.querySelector("#turned-down, .error")?.scrollIntoView({ block: "center" });
});

// A receipt that looks again by itself keeps the focus, also when the button that had it is gone, and stays in sight:
// what grows above the text would otherwise be moved up out of the window.
let receipt = { held: false, seen: false };
document.addEventListener("htmx:beforeSwap", (event) => {
  const { target } = event.detail;
  if (target.id !== "outcome") return;
  receipt = { held: target.contains(document.activeElement), seen: target.getBoundingClientRect().top >= 0 };
});
document.addEventListener("htmx:afterSettle", () => {
  const outcome = document.getElementById("outcome");
  if (!outcome || !receipt.held) return;
  if (!outcome.contains(document.activeElement)) outcome.focus({ preventScroll: true });
  if (receipt.seen) outcome.scrollIntoView({ block: "nearest" });
  receipt = { held: false, seen: false };
});

// A fragment that was answered from another address is the sign-in page: go there instead of showing it inside.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, pathInfo } = event.detail;
  if (xhr.responseURL && new URL(xhr.responseURL).pathname !== pathInfo.requestPath.split("?")[0]) {
    event.detail.shouldSwap = false;
    location.reload();
  }
});
