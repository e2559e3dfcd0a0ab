// Shows the matrix: lists to search and filter, and a grid of requirements and areas. Everything
// that is shown is set as text, never as markup.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const list = document.getElementById("list");
  const search = document.getElementById("search");
  const caseById = new Map(data.cases.map((entry) => [entry.id, entry]));
  const ruleById = new Map(data.requirements.map((entry) => [entry.id, entry]));
  const opened = new Set();

  const WORDS = { ga: "general availability", preview: "preview", deployed: "deployed service" };
  const GOOD = new Set(["passed"]);
  const BAD = new Set(["failed", "lost"]);

  // --- state -------------------------------------------------------------------------------------

  const state = { view: "requirements", text: "", chosen: {} };

  const documentsOf = (rule) => (rule.documents.length ? rule.documents : ["deployed"]);
  const isGap = (rule) => rule.testable && rule.cases.length === 0;
  const areasOf = (rule) => [...new Set(rule.cases.map((id) => caseById.get(id).area))];
  const verdictOf = (entry) => (entry.result ? entry.result.verdict : "not in the run");
  const unique = (values) => [...new Set(values)].sort();

  function statesOf(rule) {
    const out = [];
    if (rule.testable) out.push(isGap(rule) ? "without a case" : "covered");
    else out.push("untestable");
    if (rule.open) out.push("open point");
    return out;
  }

  // Each filter: its name, the values it can have, and what a rule or a case has of them.
  const filters = [
    { name: "Level", values: ["must", "should", "may"], of: (entry) => [entry.level] },
    {
      name: "State",
      values: ["covered", "without a case", "untestable", "open point"],
      of: (entry) => statesOf(entry),
      onlyRules: true,
    },
    { name: "Binds", values: unique(data.requirements.map((rule) => rule.binds)),
      of: (rule) => [rule.binds], onlyRules: true },
    { name: "In", values: ["ga", "preview", "deployed"], of: documentsOf, onlyRules: true },
    { name: "Area", values: data.areas.map((area) => area.name),
      of: (entry) => (entry.area ? [entry.area] : areasOf(entry)) },
  ];
  if (data.run) {
    const verdicts = unique([...data.requirements, ...data.cases].map(verdictOf));
    filters.push({ name: "Run", values: verdicts, of: (entry) => [verdictOf(entry)] });
  }

  function matches(entry, isRule) {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const haystack = (isRule
      ? [entry.id, entry.text, entry.section, entry.untestable, ...entry.cases]
      : [entry.id, entry.title, ...entry.requirements]
    ).join(" ").toLowerCase();
    if (!words.every((word) => haystack.includes(word))) return false;
    return filters.every((filter) => {
      const wanted = state.chosen[filter.name];
      return !wanted || (filter.onlyRules && !isRule) || filter.of(entry).includes(wanted);
    });
  }

  // --- elements ----------------------------------------------------------------------------------

  function el(tag, properties = {}, ...children) {
    const out = document.createElement(tag);
    for (const [key, value] of Object.entries(properties)) {
      if (key === "on") for (const [event, action] of Object.entries(value)) out.addEventListener(event, action);
      else if (key === "class") out.className = value;
      else out.setAttribute(key, value);
    }
    for (const child of children.flat()) {
      if (child !== null && child !== undefined && child !== "") out.append(child);
    }
    return out;
  }

  // What stands between back-ticks becomes code.
  function prose(text) {
    return text.split("`").map((part, index) => (index % 2 ? el("code", {}, part) : part));
  }

  function plural(count, word) {
    return `${count} ${word}${count === 1 ? "" : "s"}`;
  }

  function verdictText(entry) {
    if (!data.run) return null;
    const verdict = verdictOf(entry);
    const kind = GOOD.has(verdict) ? "good" : BAD.has(verdict) ? "bad" : "warn";
    const title = verdict === "cut-short" ? "its cases ended early, because of another rule" : "";
    return el("span", title ? { class: kind, title } : { class: kind }, verdict);
  }

  function pairs(...entries) {
    const out = el("dl");
    for (const [label, content] of entries) {
      const parts = [content].flat().filter((part) => part !== "" && part !== null);
      if (parts.length) out.append(el("dt", {}, label), el("dd", {}, parts));
    }
    return out;
  }

  function bullets(texts) {
    return texts.length ? el("ul", {}, texts.map((text) => el("li", {}, prose(text)))) : null;
  }

  // A row that opens to show more.
  function expandable(id, cells, detail) {
    const open = opened.has(id);
    const button = el("button", { type: "button", class: "id", "data-id": id, "aria-expanded": String(open),
      on: { click: () => toggle(id) } }, id);
    const row = el("tr", { class: open ? "open" : "", id: `row-${id}` }, el("td", { class: "id" }, button), cells);
    return open ? [row, el("tr", { class: "details" }, el("td", { colspan: String(cells.length + 1) }, detail()))]
      : [row];
  }

  function toggle(id) {
    if (!opened.delete(id)) opened.add(id);
    render();
    focusOn(id);
  }

  function focusOn(id) {
    const button = [...list.querySelectorAll("button[data-id]")].find((entry) => entry.dataset.id === id);
    if (!button) return;
    button.focus({ preventScroll: true });
    button.scrollIntoView({ block: "nearest" });
  }

  // Shows one entry in its own list, whatever the filters were.
  function jump(view, id) {
    state.view = view;
    state.text = "";
    state.chosen = {};
    opened.add(id);
    render();
    focusOn(id);
    const row = document.getElementById(`row-${id}`);
    if (row) row.scrollIntoView({ block: "center" });
  }

  const linkTo = (view, id) =>
    el("button", { type: "button", class: "id", on: { click: () => jump(view, id) } }, id);

  // --- requirements ------------------------------------------------------------------------------

  function stateCell(rule) {
    const out = el("td", { class: "state" });
    if (!rule.testable) out.append(el("span", { class: "quiet" }, "untestable"));
    else if (isGap(rule)) out.append(el("span", { class: rule.level === "must" ? "bad" : "warn" }, "no case"));
    else out.append(plural(rule.cases.length, "case"));
    return out;
  }

  // The verdict of the run, where there is one.
  const runCells = (entry) =>
    (data.run ? [el("td", { class: "run" }, entry.testable === false ? "" : verdictText(entry))] : []);

  // For screen readers: what the columns are.
  function hiddenHead(...names) {
    const all = data.run ? [...names, "run"] : names;
    return el("thead", { class: "hidden" }, el("tr", {}, all.map((name) => el("th", { scope: "col" }, name))));
  }

  function ruleDetail(rule) {
    const forms = ["documented", "deployed"].filter((dialect) => rule.dialects[dialect])
      .map((dialect) => `${dialect}: ${rule.dialects[dialect]}`);
    const where = documentsOf(rule).map((id) => WORDS[id] || id).join(", ");
    const counts = rule.result
      ? Object.entries(rule.result.cases).map(([verdict, count]) => `${count} ${verdict}`).join(", ") : "";
    const cases = el("div", { class: "list" });
    for (const id of rule.cases) {
      const entry = caseById.get(id);
      cases.append(linkTo("cases", id), el("span", {}, prose(entry.title)), verdictText(entry) || el("span"));
    }
    return [
      pairs(
        ["stands in", `${rule.section} (${where})`],
        ["dialects", bullets(forms)],
        ["observed by", prose(rule.observe)],
        ["untestable", prose(rule.untestable)],
        ["accepted", bullets(rule.outcomes)],
        ["the run", counts],
        ["seen", rule.result ? rule.result.observed.join(", ") : ""],
        ["defined at", el("code", {}, `${rule.file}:${rule.line}`)],
      ),
      cases,
    ];
  }

  function ruleRow(rule) {
    const cells = [
      el("td", { class: "level" }, el("span", { class: rule.level }, rule.level),
        rule.open ? [" ", el("span", { class: "tag" }, "open")] : ""),
      el("td", { class: "binds" }, rule.binds),
      el("td", {}, prose(rule.text)),
      el("td", { class: "from" }, documentsOf(rule).join(", ")),
      stateCell(rule),
      ...runCells(rule),
    ];
    return expandable(rule.id, cells, () => ruleDetail(rule));
  }

  function showRequirements(rules) {
    const shown = new Set(rules.map((rule) => rule.id));
    const filtered = rules.length !== data.requirements.length;
    for (const section of data.sections) {
      const own = section.requirements.filter((id) => shown.has(id)).map((id) => ruleById.get(id));
      if (!own.length && (filtered || section.requirements.length)) continue;
      const totals = section.totals;
      const summary = section.requirements.length
        ? `${plural(totals.requirements, "rule")}, ${totals.covered} of ${totals.testable} testable covered, ` +
          `${plural(totals.cases, "case")}`
        : "no rule";
      const block = el("section", {}, el("header", {}, el("h2", {}, section.title),
        el("span", { class: "quiet" }, summary)));
      if (section.note) block.append(el("p", { class: "note" }, prose(section.note)));
      if (own.length) {
        block.append(el("table", {}, hiddenHead("id", "level", "binds", "text", "in", "cases"),
          el("tbody", {}, own.flatMap(ruleRow))));
      }
      list.append(block);
    }
  }

  // --- cases -------------------------------------------------------------------------------------

  function caseDetail(entry) {
    const rules = el("div", { class: "list" });
    for (const id of entry.requirements) {
      const rule = ruleById.get(id);
      rules.append(linkTo("requirements", id), el("span", {}, rule ? prose(rule.text) : ""),
        el("span", { class: rule ? rule.level : "" }, rule ? rule.level : ""));
    }
    return [
      pairs(
        ["needs", entry.requires.join(", ")],
        ["tags", entry.tags.join(", ")],
        ["the run", entry.result ? entry.result.message : ""],
        ["charged to", entry.result && entry.result.charged ? entry.result.charged : ""],
        ["stands at", el("code", {}, `${entry.file}:${entry.line}`)],
        ["run it", el("code", {}, `fencepost certify --run ${entry.id}`)],
      ),
      rules,
    ];
  }

  function caseRow(entry) {
    const cells = [
      el("td", { class: "level" }, el("span", { class: entry.level }, entry.level)),
      el("td", {}, prose(entry.title)),
      el("td", { class: "rules quiet" }, entry.requirements.join(", ")),
    ];
    return expandable(entry.id, [...cells, ...runCells(entry)], () => caseDetail(entry));
  }

  function showCases(cases) {
    for (const area of data.areas) {
      const own = cases.filter((entry) => entry.area === area.name);
      if (!own.length) continue;
      list.append(el("section", { class: "cases" },
        el("header", {}, el("h2", {}, area.name), el("span", { class: "quiet" },
          `${own.length} of ${plural(area.cases, "case")}, ${plural(area.requirements, "rule")}`)),
        el("table", {}, hiddenHead("id", "level", "title", "requirements"),
          el("tbody", {}, own.flatMap(caseRow)))));
    }
  }

  // --- grid --------------------------------------------------------------------------------------

  function gridCell(rule, area) {
    const count = rule.cases.filter((id) => caseById.get(id).area === area.name).length;
    if (!count) return el("td", { class: "n" });
    const strength = Math.min(0.12 + count * 0.07, 0.6);
    const open = () => {
      state.view = "cases";
      state.text = rule.id;
      state.chosen = { Area: area.name };
      render();
    };
    const label = `${plural(count, "case")} of ${area.name} for ${rule.id}`;
    const button = el("button", { type: "button", title: label, "aria-label": label, on: { click: open } },
      String(count));
    const out = el("td", { class: "n" }, button);
    out.style.background = `rgba(var(--cell), ${strength})`;
    return out;
  }

  function showGrid(rules) {
    const shown = new Set(rules.map((rule) => rule.id));
    const head = el("tr", {}, el("th", { scope: "col" }, "requirement"), data.areas.map((area) =>
      el("th", { scope: "col", title: plural(area.cases, "case") }, el("span", {}, area.name))),
      el("th", { scope: "col" }, "why not"));
    const body = el("tbody");
    for (const section of data.sections) {
      const own = section.requirements.filter((id) => shown.has(id)).map((id) => ruleById.get(id));
      if (!own.length) continue;
      body.append(el("tr", {}, el("th", { class: "section", scope: "rowgroup",
        colspan: String(data.areas.length + 2) }, section.title)));
      for (const rule of own) {
        const why = rule.testable ? (isGap(rule) ? el("span", { class: "bad" }, "no case") : "") :
          prose(rule.untestable);
        body.append(el("tr", {}, el("th", { scope: "row" }, linkTo("requirements", rule.id)),
          data.areas.map((area) => gridCell(rule, area)), el("td", { class: "why" }, why)));
      }
    }
    list.append(el("p", { class: "note" }, "How many cases of each area cite a requirement."),
      el("div", { class: "grid" }, el("table", {}, el("thead", {}, head), body)));
  }

  // --- the page ----------------------------------------------------------------------------------

  function showHead() {
    const totals = data.totals;
    const orphans = data.cases_without_requirement.length;
    const about = document.getElementById("about");
    about.textContent = `Which case checks which requirement of the state store protocol. Fencepost ${data.suite_version}.`;
    if (data.run) {
      const run = data.run;
      about.textContent += ` With the run of ${run.started} against ${run.endpoint}, profile ${run.profile}, ` +
        `exit code ${run.exit_code}.`;
      if (run.absent_cases) about.textContent += ` ${plural(run.absent_cases, "case")} here not in its report.`;
      if (run.unknown_cases) about.textContent += ` ${plural(run.unknown_cases, "case")} of its report unknown here.`;
    }
    const numbers = [
      [totals.requirements, "requirements"], [totals.testable, "testable"],
      [totals.covered, "covered", totals.uncovered ? "" : "good"], [totals.uncovered, "without a case", totals.uncovered ? "bad" : ""],
      [totals.untestable, "untestable"], [totals.open, "open points"], [totals.cases, "cases"],
      [orphans, "cases without requirement", orphans ? "bad" : ""],
    ];
    document.getElementById("totals").append(...numbers.map(([number, label, kind]) =>
      el("div", { class: kind || "" }, el("dt", {}, label), el("dd", {}, String(number)))));
  }

  function showFilters() {
    const choices = document.getElementById("choices");
    for (const filter of filters) {
      const select = el("select", { "aria-label": filter.name, "data-filter": filter.name, on: { change: () => {
        state.chosen[filter.name] = select.value;
        render();
      } } }, el("option", { value: "" }, filter.name),
      filter.values.map((value) => el("option", { value }, value)));
      choices.append(select);
    }
    for (const button of document.querySelectorAll("[data-view]")) {
      button.addEventListener("click", () => {
        state.view = button.dataset.view;
        render();
      });
    }
    search.addEventListener("input", () => {
      state.text = search.value;
      render();
    });
    document.getElementById("clear").addEventListener("click", clear);
    document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());
  }

  function clear() {
    state.text = "";
    state.chosen = {};
    opened.clear();
    render();
  }

  function render() {
    const isRule = state.view !== "cases";
    const all = isRule ? data.requirements : data.cases;
    const shown = all.filter((entry) => matches(entry, isRule));
    list.replaceChildren();
    if (!shown.length) list.append(el("p", { class: "empty" }, "Nothing matches. Clear the filters to see everything."));
    else if (state.view === "requirements") showRequirements(shown);
    else if (state.view === "cases") showCases(shown);
    else showGrid(shown);
    document.getElementById("count").textContent =
      `${shown.length} of ${plural(all.length, isRule ? "requirement" : "case")}`;
    if (search.value !== state.text) search.value = state.text;
    for (const button of document.querySelectorAll("[data-view]")) {
      button.setAttribute("aria-pressed", String(button.dataset.view === state.view));
    }
    for (const select of document.querySelectorAll("[data-filter]")) {
      const filter = filters.find((entry) => entry.name === select.dataset.filter);
      select.value = state.chosen[filter.name] || "";
      select.classList.toggle("set", Boolean(select.value));
      select.hidden = Boolean(filter.onlyRules) && !isRule;
    }
  }

  function move(step) {
    const buttons = [...list.querySelectorAll("button[data-id]")];
    if (!buttons.length) return;
    const at = buttons.indexOf(document.activeElement);
    const next = at < 0 ? (step > 0 ? 0 : buttons.length - 1) : Math.min(Math.max(at + step, 0), buttons.length - 1);
    buttons[next].focus({ preventScroll: true });
    buttons[next].scrollIntoView({ block: "nearest" });
  }

  function toggleAll() {
    const ids = [...list.querySelectorAll("button[data-id]")].map((button) => button.dataset.id);
    const close = ids.some((id) => opened.has(id));
    for (const id of ids) close ? opened.delete(id) : opened.add(id);
    render();
  }

  function onKey(event) {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape") {
      clear();
      search.blur();
    } else if (typing || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else if (event.key === "/") {
      event.preventDefault();
      search.focus();
    } else if (event.key === "j") {
      move(1);
    } else if (event.key === "k") {
      move(-1);
    } else if (event.key === "o") {
      toggleAll();
    }
  }

  // `#SET-NX-1` and `#set.nx.refuses-existing-key` open that entry; `#grid` and `#cases` a view.
  function followHash() {
    const id = decodeURIComponent(location.hash.slice(1));
    if (["requirements", "cases", "grid"].includes(id)) {
      state.view = id;
      render();
    } else if (ruleById.has(id)) {
      jump("requirements", id);
    } else if (caseById.has(id)) {
      jump("cases", id);
    } else {
      render();
    }
  }

  // What sticks to the top of the list stands below the filters, however many lines they take.
  function measure() {
    const height = document.getElementById("filters").offsetHeight;
    document.documentElement.style.setProperty("--bar", `${height}px`);
  }

  showHead();
  showFilters();
  measure();
  window.addEventListener("resize", measure);
  followHash();
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", followHash);
})();
