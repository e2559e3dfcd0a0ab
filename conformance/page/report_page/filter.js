// Filters a list of rows: by state (chips), by level and area (choices), by text. The cases and the requirements have
// one each.

// `entries`: {number, level, area, item} each; `groups`: [{node, entries}]; `stateOf(entry)` and `textOf(entry)` say
// what an entry is found by. Returns {matches, clear, searchFor, focus, visible}.
function makeFilter({ form, entries, groups, stateOf, textOf, noun }) {
  const search = el('input', {
    type: 'search',
    placeholder: `Search ${noun}s   ( / )`,
    'aria-label': `Search ${noun}s: ids, titles, rules`,
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const chips = stateChips(entries, stateOf, apply);
  const level = choice(
    'Level',
    ['must', 'should', 'may'].filter((name) => entries.some((entry) => entry.level === name)),
  );
  const area = choice('Area', [...new Set(entries.map((entry) => entry.area))]);
  const clearButton = el('button', { type: 'button', class: 'clear', hidden: true }, 'Clear the filter');
  const found = el('output', { class: 'found' });
  form.append(search, level.label, area.label, chips.node, found, clearButton);

  const texts = new Map(); // in lower case, made when they are first searched
  search.addEventListener('input', apply);
  level.select.addEventListener('change', apply);
  area.select.addEventListener('change', apply);
  clearButton.addEventListener('click', () => {
    clear();
    search.focus();
  });
  form.addEventListener('submit', (event) => event.preventDefault());
  apply();
  return { clear, searchFor, focus: () => search.focus(), visible };

  function wordsOf(entry) {
    if (!texts.has(entry)) texts.set(entry, textOf(entry).toLowerCase());
    return texts.get(entry);
  }

  function matches(entry, words) {
    if (chips.chosen.size > 0 && !chips.chosen.has(stateOf(entry))) return false;
    if (level.select.value && entry.level !== level.select.value) return false;
    if (area.select.value && entry.area !== area.select.value) return false;
    return words.every((word) => wordsOf(entry).includes(word));
  }

  function apply() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const group of groups) {
      let any = false;
      for (const entry of group.entries) {
        const hidden = !matches(entry, words);
        if (entry.item.node.hidden !== hidden) entry.item.node.hidden = hidden;
        if (!hidden) ++count;
        any ||= !hidden;
      }
      group.node.hidden = !any;
    }
    const filtered = words.length > 0 || chips.chosen.size > 0 || level.select.value !== '' || area.select.value !== '';
    clearButton.hidden = !filtered;
    found.textContent = filtered ? `${count} of ${plural(entries.length, noun)}` : plural(entries.length, noun);
  }

  function clear() {
    search.value = '';
    level.select.value = '';
    area.select.value = '';
    chips.reset();
    apply();
  }

  function searchFor(text) {
    clear();
    search.value = text;
    apply();
  }

  // The rows that can be seen, from top to bottom.
  function visible() {
    return groups.flatMap((group) => group.entries).filter((entry) => !entry.item.node.hidden);
  }
}

function choice(name, values) {
  const select = el('select', {}, el('option', { value: '' }, 'all'));
  for (const value of values) select.append(el('option', { value }, value));
  return { select, label: el('label', {}, `${name} `, select) };
}

// One button for each state that occurs; those pressed are shown, and all when none is.
function stateChips(entries, stateOf, changed) {
  const counts = countBy(entries, stateOf);
  const chosen = new Set();
  const node = el('div', { class: 'chips', role: 'group', 'aria-label': 'Show only' });
  for (const [state, { tone }] of kStates) {
    if (!counts.has(state)) continue;
    const chip = el(
      'button',
      { type: 'button', class: `chip ${tone}`, 'aria-pressed': 'false' },
      badge(state),
      ' ',
      el('b', {}, String(counts.get(state))),
    );
    chip.addEventListener('click', () => {
      if (!chosen.delete(state)) chosen.add(state);
      chip.setAttribute('aria-pressed', String(chosen.has(state)));
      changed();
    });
    node.append(chip);
  }
  return { node, chosen, reset };

  function reset() {
    chosen.clear();
    for (const chip of node.children) chip.setAttribute('aria-pressed', 'false');
  }
}
