"use strict";
(() => {
  const sweeps = JSON.parse(document.getElementById("data").textContent);
  const find = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

  // Text is only ever put in as text.
  const make = (tag, text = "", kind = "") => {
    const node = document.createElement(tag);
    node.textContent = text;
    if (kind) node.className = kind;
    return node;
  };

  // What a default left out of the data stands for.
  const EMPTY = {
    column: -1, release: "", label: "", file: "", charged: "", violation: false, owned: [], released: [], left: [],
    grade: "", got: "", handled: "", second: "", second_reached: false, wrong: [], excused: "", seen: "", notes: [],
  };
  const place = (sweep, row, column) => `${sweep} ${row} ${column}`;
  const cells = new Map();
  const byId = new Map();
  sweeps.forEach((sweep, number) => {
    sweep.cases = sweep.cases.map((given) => ({ ...EMPTY, ...given }));
    for (const one of sweep.cases) {
      one.sweep = number;
      one.key = one.column < 0 ? place(number, one.release, one.label) : place(number, one.step, one.column);
      one.text = [one.id, one.place, one.fault, one.verdict, one.file, one.charged, one.got,
        ...one.owned, ...one.left].join("\n").toLowerCase();
      if (!cells.has(one.key)) cells.set(one.key, []);
      cells.get(one.key).push(one);
      if (!byId.has(one.id)) byId.set(one.id, one);
    }
  });

  const buttons = new Map();
  for (const button of all(".cell")) {
    const cell = button.closest("td"), row = button.closest("tr");
    const sweep = button.closest("table").dataset.sweep;
    const key = cell.dataset.label === undefined
      ? place(sweep, row.dataset.step, cell.dataset.column)
      : place(sweep, row.dataset.release, cell.dataset.label);
    button.dataset.key = key;
    buttons.set(key, button);
  }
  const heads = all("th[data-column]");

  // Filters ------------------------------------------------------------------------------------------------
  const search = find("#search"), phase = find("#phase"), fault = find("#fault"), mine = find("#mine");
  const words = all(".word");
  for (const name of new Set(heads.map((head) => head.dataset.fault))) fault.append(make("option", name));

  const columnHeads = new Map();
  for (const head of heads) columnHeads.set(`${head.closest("table").dataset.sweep} ${head.dataset.column}`, head);

  const wanted = () => {
    const verdicts = new Set(words.filter((w) => w.getAttribute("aria-pressed") === "true").map((w) => w.dataset.verdict));
    const text = search.value.trim().toLowerCase();
    return (one) => {
      const head = columnHeads.get(`${one.sweep} ${one.column}`);
      return (!verdicts.size || verdicts.has(one.verdict) || (one.excused && verdicts.has("suppressed")))
        && (!mine.checked || one.violation)
        && (!phase.value || !head || head.dataset.phase === phase.value)
        && (!fault.value || !head || head.dataset.fault === fault.value)
        && (!text || one.text.includes(text) || rowText(one).includes(text));
    };
  };
  const rowTexts = new Map();
  const rowText = (one) => {
    if (!rowTexts.has(one.key)) {
      const button = buttons.get(one.key);
      rowTexts.set(one.key, button ? button.getAttribute("aria-label").toLowerCase() : "");
    }
    return rowTexts.get(one.key);
  };

  const filter = () => {
    const fits = wanted();
    const inIt = new Map();
    let number = 0, total = 0;
    for (const sweep of sweeps) {
      for (const one of sweep.cases) {
        total += 1;
        if (fits(one)) {
          number += 1;
          inIt.set(one.key, (inIt.get(one.key) || 0) + 1);
        }
      }
    }
    const narrowed = number < total;
    for (const [key, button] of buttons) {
      const count = inIt.get(key) || 0;
      button.classList.toggle("is-out", narrowed && !count);
      if (narrowed && count && count < cells.get(key).length) button.dataset.part = `${count.toLocaleString("en")} fit`;
      else delete button.dataset.part;
    }
    for (const [key, head] of columnHeads) {
      const out = Boolean((phase.value && head.dataset.phase !== phase.value)
        || (fault.value && head.dataset.fault !== fault.value));
      head.hidden = out;
      const [sweep, column] = key.split(" ");
      for (const cell of all(`.matrix[data-sweep="${sweep}"] td[data-column="${column}"]`)) cell.hidden = out;
    }
    for (const row of all(".matrix tbody tr")) {
      row.hidden = narrowed && !all(".cell", row).some((button) => !button.classList.contains("is-out"));
    }
    for (const word of words) {
      word.classList.toggle("is-out", narrowed && words.some((w) => w.getAttribute("aria-pressed") === "true")
        && word.getAttribute("aria-pressed") !== "true");
    }
    find("#shown").textContent = narrowed ? `${number.toLocaleString("en")} of ${counted(total, "case")}` : counted(total, "case");
    for (const table of all(".matrix")) rove(table);
  };

  // The keyboard: one cell of each matrix is a stop of the Tab key, arrows go to the others -----------------
  const reachable = (button) => !button.classList.contains("is-out") && !button.closest("[hidden]");
  const rove = (table, to = null) => {
    const own = all(".cell", table);
    const stop = to || own.find((b) => b.tabIndex === 0 && reachable(b)) || own.find(reachable);
    for (const button of own) button.tabIndex = button === stop ? 0 : -1;
    if (to) {
      to.focus();
      to.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  };
  const inRow = (row) => all("td.case", row);
  const step = (button, down, right) => {
    const rows = all("tbody tr", button.closest("table"));
    let row = rows.indexOf(button.closest("tr"));
    let column = inRow(rows[row]).indexOf(button.closest("td"));
    for (;;) {
      row += down;
      column += right;
      const next = rows[row] && inRow(rows[row])[column];
      if (!next) return null;
      const found = find(".cell", next);
      if (found && reachable(found)) return found;
    }
  };
  const ends = (button, last) => {
    const own = all(".cell", button.closest("tr")).filter(reachable);
    return last ? own[own.length - 1] : own[0];
  };
  document.addEventListener("keydown", (event) => {
    const button = event.target.closest && event.target.closest(".cell");
    if (!button || event.altKey || event.ctrlKey || event.metaKey) return;
    const to = {
      ArrowDown: () => step(button, 1, 0), ArrowUp: () => step(button, -1, 0),
      ArrowRight: () => step(button, 0, 1), ArrowLeft: () => step(button, 0, -1),
      Home: () => ends(button, false), End: () => ends(button, true),
    }[event.key];
    if (!to) return;
    event.preventDefault();
    const next = to();
    if (next) rove(button.closest("table"), next);
  });

  // A case -------------------------------------------------------------------------------------------------
  const dialog = find("#case"), pick = find("#pick");
  let listed = [], from = null;

  const event = (kind, tone, title, text, more = "") => {
    const item = make("li", "", `is-${kind} tone-${tone}`);
    item.append(make("b", title), make("span", text));
    if (more) item.append(make("small", more));
    return item;
  };

  const timeline = (one) => {
    const gains = sweeps[one.sweep].gains;
    const list = make("ol", "", "timeline");
    const rest = new Set(one.owned);
    for (const gain of gains) {
      if (!rest.has(gain.name) || gain.step >= Math.max(one.step, 1)) continue;
      rest.delete(gain.name);
      const amounts = (gain.amounts || []).join(", ");
      list.append(event("acquired", "handled", "acquired", amounts ? `${gain.name} (${amounts})` : gain.name,
        `step ${gain.step}, ${gain.call}${gain.line ? `, line ${gain.line}` : ""}`));
    }
    for (const name of rest) list.append(event("acquired", "handled", "acquired", name));
    list.append(event("fault", "bad", "fault", `${one.fault} ${one.place}`, one.file));
    if (one.second) {
      list.append(event("fault", "bad", "second fault", one.second, one.second_reached ? "" : "that release was not called"));
    }
    for (const name of one.released) list.append(event("released", "clean", "released", name));
    if (!one.released.length && one.owned.length) list.append(event("released", "missed", "released", "nothing"));
    for (const name of one.left) list.append(event("left", "bad", "left", name, one.grade));
    if (!one.left.length) list.append(event("left", "clean", "left", "nothing"));
    if (one.handled) list.append(event("got", "handled", "handled by", one.handled));
    list.append(event("got", "missed", "the caller got", one.got || "no exception"));
    return list;
  };

  const show = (one) => {
    find("#case-title").textContent = `${one.place}, ${one.fault}`;
    pick.value = one.id;
    const body = find("#body");
    body.replaceChildren();
    const verdict = make("p", "", "verdict");
    verdict.append(make("span", one.verdict, `mark tone-${one.tone}`));
    verdict.append(one.charged ? ` charged to ${one.charged}` : "");
    body.append(verdict);
    if (one.excused) body.append(make("p", one.excused, "excuse"));
    if (one.wrong.length) {
      const list = make("ul");
      for (const [name, what] of one.wrong) list.append(make("li", `${name}: ${what}`));
      body.append(list);
    }
    body.append(make("h3", "Timeline"), timeline(one));
    const facts = make("dl");
    const fact = (name, node) => { const dd = make("dd"); dd.append(node); facts.append(make("dt", name), dd); };
    fact("id", one.id);
    fact("seen", one.seen);
    for (const note of one.notes) fact("note", note);
    fact("replay", make("code", sweeps[one.sweep].replay.join(one.id)));
    body.append(facts);
    const number = listed.indexOf(one);
    find("#previous").disabled = number <= 0;
    find("#next").disabled = number >= listed.length - 1;
    history.replaceState(null, "", `#case-${one.id}`);
    body.scrollTop = 0;
  };

  const open = (list, first, opener) => {
    listed = list;
    from = opener;
    pick.replaceChildren();
    for (const one of list) {
      const option = make("option", `${one.id} ${one.verdict}: ${one.place}, ${one.fault}`);
      option.value = one.id;
      pick.append(option);
    }
    find("#among").hidden = list.length < 2;
    show(first);
    if (!dialog.open) dialog.showModal();
    find("#close").focus();
  };
  const go = (by) => {
    const next = listed[listed.findIndex((one) => one.id === pick.value) + by];
    if (next) show(next);
  };
  pick.addEventListener("change", () => show(listed.find((one) => one.id === pick.value)));
  find("#previous").addEventListener("click", () => go(-1));
  find("#next").addEventListener("click", () => go(1));
  find("#close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (given) => { if (given.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => {
    // The event comes later than the closing: another case may be shown by then.
    if (dialog.open) return;
    history.replaceState(null, "", location.pathname + location.search);
    // Where it has the focus already, the page may have been scrolled since.
    if (from && from.isConnected && document.activeElement !== from) from.focus();
  });
  document.addEventListener("click", (given) => {
    const button = given.target.closest(".cell");
    if (button) {
      rove(button.closest("table"), button);
      const fits = wanted();
      const list = (cells.get(button.dataset.key) || []).filter(fits);
      if (list.length) open(list, list.find((one) => one.violation && !one.excused) || list.find((one) => one.violation) || list[0], button);
    }
  });
  const follow = () => {
    const one = byId.get(location.hash.replace("#case-", ""));
    if (one && location.hash) open(cells.get(one.key), one, document.activeElement);
  };
  window.addEventListener("hashchange", follow);

  // The theme ----------------------------------------------------------------------------------------------
  const theme = find("#theme"), dark = matchMedia("(prefers-color-scheme: dark)");
  const kept = { get: () => { try { return localStorage.getItem("faultinject-theme"); } catch { return null; } },
    set: (value) => { try { localStorage.setItem("faultinject-theme", value); } catch { /* a file may keep nothing */ } } };
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : dark.matches;
  };
  const press = () => theme.setAttribute("aria-pressed", String(isDark()));
  if (["dark", "light"].includes(kept.get())) document.documentElement.dataset.theme = kept.get();
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    kept.set(document.documentElement.dataset.theme);
    press();
  });
  dark.addEventListener("change", press);
  press();

  const form = find("#filters");
  form.addEventListener("submit", (given) => given.preventDefault());
  form.addEventListener("input", filter);
  form.addEventListener("reset", () => {
    for (const word of words) word.setAttribute("aria-pressed", "false");
    setTimeout(filter);
  });
  for (const word of words) {
    word.addEventListener("click", () => {
      const pressed = word.getAttribute("aria-pressed") !== "true";
      for (const same of words) if (same.dataset.verdict === word.dataset.verdict) same.setAttribute("aria-pressed", String(pressed));
      filter();
    });
  }
  filter();
  follow();
})();
