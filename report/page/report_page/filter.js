// Lists of rows in groups, and their filter: by state (chips), by level, area and the like (choices), by text.

// Puts a list into a container, `makeItem(entry)` being the row of each. `groups`: {name, note, about, entries}; what a
// group is about, in a sentence or more, may be missing.
// Returns the groups as the filter wants them.
function renderGroups(container, groups, makeItem) {
  return groups.map((group) => {
    const list = el('ul', { class: 'rows' });
    for (const entry of group.entries) {
      entry.item = makeItem(entry);
      list.append(entry.item.node);
    }
    const heading = el('h3', { class: 'group' }, group.name, ' ', el('span', { class: 'note' }, group.note));
    const about = group.about && el('p', { class: 'section-note' }, inlineCode(group.about));
    const node = el('section', { class: group.note ? 'area' : 'attention' }, heading, about, list);
    container.append(node);
    return { node, entries: group.entries };
  });
}

// The choices that every list has; an entry may have several areas.
function commonChoices(entries) {
  const levels = ['must', 'should', 'may'].filter((name) => entries.some((entry) => entry.level === name));
  const areasOf = (entry) => entry.areas ?? [entry.area];
  return [
    { name: 'Level', values: levels, of: (entry) => [entry.level] },
    { name: 'Area', values: [...new Set(entries.flatMap(areasOf))], of: areasOf },
  ];
}

// `entries`: {number, level, area, item} each; `groups`: [{node, entries}]; `stateOf(entry)` and `textOf(entry)` say
// what an entry is found by; without `stateOf` there are no chips. `choices`: [{name, values, of(entry): values}].
// Returns {clear, searchFor, choose, focus, visible}.
function makeFilter({ form, entries, groups, stateOf, textOf, noun, choices = commonChoices(entries) }) {
  const search = el('input', {
    type: 'search',
    placeholder: `Search ${noun}s   ( / )`,
    'aria-label': `Search ${noun}s: ids, titles, rules`,
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const chips = stateOf ? stateChips(entries, stateOf, apply) : { node: null, chosen: new Set(), reset: () => {} };
  const selects = choices.map(({ name, values, of }) => ({ name, of, ...choice(name, values) }));
  const clearButton = el('button', { type: 'button', class: 'clear', hidden: true }, 'Clear the filter');
  const found = el('output', { class: 'found' });
  form.append(search, ...selects.map(({ label }) => label), ...[chips.node ?? []].flat(), found, clearButton);

  const texts = new Map(); // in lower case, made when they are first searched
  search.addEventListener('input', apply);
  for (const { select } of selects) select.addEventListener('change', apply);
  clearButton.addEventListener('click', () => {
    clear();
    search.focus();
  });
  form.addEventListener('submit', (event) => event.preventDefault());
  apply();
  return { clear, searchFor, choose, focus: () => search.focus(), visible };

  function wordsOf(entry) {
    if (!texts.has(entry)) texts.set(entry, textOf(entry).toLowerCase());
    return texts.get(entry);
  }

  function matches(entry, words) {
    if (chips.chosen.size > 0 && !chips.chosen.has(stateOf(entry))) return false;
    if (selects.some(({ select, of }) => select.value && !of(entry).includes(select.value))) return false;
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
    const filtered = words.length > 0 || chips.chosen.size > 0 || selects.some(({ select }) => select.value !== '');
    clearButton.hidden = !filtered;
    found.textContent = filtered ? `${count} of ${plural(entries.length, noun)}` : plural(entries.length, noun);
  }

  function clear() {
    search.value = '';
    for (const { select } of selects) select.value = '';
    chips.reset();
    apply();
  }

  function searchFor(text) {
    clear();
    search.value = text;
    apply();
  }

  function choose(name, value) {
    selects.find((one) => one.name === name).select.value = value;
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
