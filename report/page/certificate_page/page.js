
// --- the page of a certified client: all of it is there without a script; these are the theme and the buttons ---

setUpTheme();
for (const again of document.querySelectorAll('.again')) {
  again.append(copyButton(again.querySelector('code').textContent, 'the command'));
}
performance.mark('p_ready');
