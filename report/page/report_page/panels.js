// The tabs of a page and their panels, each made when it is first shown; links to what is in them; keys. Shared by the
// pages that have tabs.

const panels = new Map(); // name -> {tab, panel, render, filter, rendered}

// `renderers`: name -> what fills the panel and returns its filter, if it has one. The first panel is shown.
function setUpPanels(renderers) {
  for (const [name, render] of Object.entries(renderers)) {
    const tab = byId(`p_tab_${name}`);
    panels.set(name, { tab, panel: byId(`p_${name}`), render, filter: null, rendered: false });
    tab.addEventListener('click', () => {
      showPanel(name);
      rememberPlace(`p_${name}`);
    });
    tab.addEventListener('keydown', moveBetweenTabs);
  }
  showPanel(Object.keys(renderers)[0]);
  // Printed is everything.
  window.addEventListener('beforeprint', () => panels.forEach(renderOnce));
}

// How many entries a panel has, in its tab.
function countInTab(name, count) {
  byId(`p_tab_${name}`).append(el('span', { class: 'count' }, ` ${count}`));
}

function renderOnce(entry) {
  if (entry.rendered) return;
  entry.rendered = true;
  entry.filter = entry.render() ?? null;
}

function showPanel(name) {
  for (const [other, entry] of panels) {
    const chosen = other === name;
    if (chosen) renderOnce(entry);
    entry.panel.hidden = !chosen;
    entry.tab.setAttribute('aria-selected', String(chosen));
    entry.tab.tabIndex = chosen ? 0 : -1;
  }
}

function currentPanel() {
  return [...panels.values()].find((entry) => !entry.panel.hidden);
}

function moveBetweenTabs(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const names = [...panels.keys()];
  const at = names.findIndex((name) => panels.get(name).tab === event.currentTarget);
  const next = names[(at + step + names.length) % names.length];
  showPanel(next);
  panels.get(next).tab.focus();
  event.preventDefault();
}

// --- links to one entry or panel ---

// `find(id)` returns the panel and the entry that have this id, {name, entry}, or nothing.
function setUpPlaces(find) {
  const go = () => goToPlace(find);
  window.addEventListener('hashchange', go);
  // A link to where one already is changes no address, and still shows it.
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.getAttribute('href') === location.hash) go();
  });
  go();
}

function goToPlace(find) {
  let id = location.hash.slice(1);
  try {
    id = decodeURIComponent(id);
  } catch {
    // Not encoded: taken as it is.
  }
  if (id.startsWith('p_') && panels.has(id.slice(2))) {
    showPanel(id.slice(2));
    return;
  }
  const place = find(id);
  if (place) reveal(place.name, place.entry);
}

function reveal(name, entry) {
  showPanel(name);
  if (entry.item.node.hidden) panels.get(name).filter.clear();
  entry.item.toggle(true);
  entry.item.node.scrollIntoView({ block: 'start' });
  entry.item.button.focus({ preventScroll: true });
}

// --- keys ---

function setUpKeys() {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const inField = event.target.closest('input, select, textarea');
    if (event.key === 'Escape' && inField) leaveField(event.target);
    if (inField || (event.key.length === 1 && !byId('p_keys').checked)) return;
    const action = keyAction(event);
    if (!action) return;
    action();
    event.preventDefault();
  });
}

function keyAction(event) {
  const onRow = event.target.closest('.row[aria-expanded]') !== null;
  switch (event.key) {
    case '/':
      return currentPanel().filter?.focus;
    case 'j':
      return () => moveRow(1);
    case 'k':
      return () => moveRow(-1);
    case 'ArrowDown': // the arrows scroll the page unless a row has the focus
      return onRow && (() => moveRow(1));
    case 'ArrowUp':
      return onRow && (() => moveRow(-1));
    case 'n':
      return () => moveRow(1, (entry) => kAttention.includes(entry.verdict ?? entry.state));
    default:
      return undefined;
  }
}

function leaveField(field) {
  if (field.type !== 'search') return;
  const { filter } = currentPanel();
  filter?.clear();
  field.blur();
}

// To the next or previous row that is shown: cases or requirements.
function moveRow(step, wanted = () => true) {
  const { filter } = currentPanel();
  if (!filter) return;
  const rows = filter.visible();
  const focused = document.activeElement.closest('.case, .requirement');
  let at = rows.findIndex((entry) => entry.item.node === focused);
  if (at < 0 && step < 0) at = rows.length;
  do at += step;
  while (at >= 0 && at < rows.length && !wanted(rows[at]));
  const row = rows[at]?.item;
  if (!row) return;
  row.button.focus({ preventScroll: true });
  row.button.scrollIntoView({ block: 'nearest' });
}

// --- an entry of a list of rules ---

// Opens to what `detail(rule)` makes. `note` says how it stands, `tag` is a node behind the text, if any.
function ruleEntry(rule, { note, tag, detail }) {
  return disclosure({
    id: `p_rule_${rule.number}`,
    className: `requirement ${kStates.get(rule.state).tone}`,
    heading: 'h4',
    summary: [
      badge(rule.state),
      el(
        'span',
        { class: 'what' },
        el('span', { class: 'id' }, rule.id),
        ' ',
        el('span', { class: 'title' }, inlineCode(rule.text)),
        tag,
      ),
      levelNode(rule.level),
      el('span', { class: 'state-note' }, note),
    ],
    fill: (node) => node.append(detail(rule)),
    opened: () => rememberPlace(rule.id),
  });
}
