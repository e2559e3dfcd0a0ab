// Puts the selftest on the page. The parts: dom.js and theme.js (shared with the report), data.js, faults.js,
// matrix.js, tables.js. They are joined to one script when Fencepost is built, this one last.

const selftest = readSelftest();
const faultList = makeFaultList(selftest);
start();

function start() {
  byId('p_main').hidden = false;
  setUpTheme();
  renderAttention(selftest);
  renderAreas(selftest, faultList.filterBy);
  makeMatrix(selftest, openFault);
  renderHeat(selftest, faultList.filterBy);
  renderRight(selftest);
  renderMeetings(selftest);
  renderCases(selftest);
  setUpKeys();
  window.addEventListener('hashchange', goToPlace);
  // A link to where one already is changes no address, and still shows it.
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.getAttribute('href') === location.hash) goToPlace();
  });
  goToPlace();
  performance.mark('p_ready');
}

function openFault(fault) {
  faultList.reveal(fault);
  rememberPlace(fault.id);
}

// A fault is opened; of a case, what it catches is shown.
function goToPlace() {
  let id = location.hash.slice(1);
  try {
    id = decodeURIComponent(id);
  } catch {
    // Not encoded: taken as it is.
  }
  if (selftest.byId.has(id)) faultList.reveal(selftest.byId.get(id));
  else if (selftest.caseById.has(id)) faultList.filterBy({ testCase: selftest.caseById.get(id) });
}

// --- keys ---

function setUpKeys() {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const inField = event.target.closest('input, select, textarea');
    if (event.key === 'Escape' && inField?.type === 'search') {
      faultList.clear();
      inField.blur();
    }
    if (inField || !byId('p_keys').checked) return;
    const action = { '/': faultList.focus, j: () => moveRow(1), k: () => moveRow(-1) }[event.key];
    if (!action) return;
    action();
    event.preventDefault();
  });
}

// To the next or previous fault that is shown.
function moveRow(step) {
  const rows = faultList.visible();
  const at = rows.indexOf(document.activeElement.closest('.fault')?.querySelector('.row'));
  const next = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step];
  if (!next) return;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: 'nearest' });
}
