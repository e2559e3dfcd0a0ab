
// --- the page of judged clients: it is complete without a script; this adds the theme ---

setUpTheme();
performance.mark('p_ready');
