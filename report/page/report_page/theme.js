// Light or dark. Shared by the pages that Fencepost writes.

// Automatic (as the system says), light, dark. Local files may be denied storage: the choice then lasts for this visit.
function setUpTheme() {
  const names = ['automatic', 'light', 'dark'];
  const button = byId('p_theme');
  let chosen = 'automatic';
  try {
    chosen = names.includes(localStorage.getItem('fencepost-theme')) ? localStorage.getItem('fencepost-theme') : chosen;
  } catch {
    // No storage: nothing was chosen before.
  }
  const show = () => {
    document.documentElement.dataset.theme = chosen;
    button.textContent = `Theme: ${chosen}`;
  };
  button.hidden = false;
  button.addEventListener('click', () => {
    chosen = names[(names.indexOf(chosen) + 1) % names.length];
    show();
    try {
      localStorage.setItem('fencepost-theme', chosen);
    } catch {
      // No storage: the choice ends with this visit.
    }
  });
  show();
}
