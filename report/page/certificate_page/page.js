
// --- the page of a certified client: it is complete without a script; this adds the theme and the buttons ---

setUpTheme();
for (const again of document.querySelectorAll('.again')) {
  again.append(copyButton(again.querySelector('code').textContent, 'the command'));
}
performance.mark('p_ready');
