
// --- the page of judged clients: all of it is there without a script; this is the theme ---

setUpTheme();
performance.mark('p_ready');
