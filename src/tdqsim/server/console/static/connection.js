// A page whose connection is lost shows it: its controls are grey and take no clicks. If the server no longer knows the
// session, because it was started again or the session has ended, the page leads to the sign-on, and from there back.
// NiceGUI itself only tries to open the web socket again, which the server refuses without a session.
(() => {
  const look = async () => {
    if (!document.body) return; // the page is still being read
    const lost = Boolean(window.did_handshake && window.socket && !window.socket.connected);
    document.body.classList.toggle("tdq-lost", lost);
    if (!lost) return;
    try {
      const answer = await fetch("/api/v1/session", { cache: "no-store", headers: { Accept: "application/json" } });
      if (answer.status === 401) {
        location.assign("/sign-on?lost=1&next=" + encodeURIComponent(location.pathname));
      }
    } catch {
      // nobody answers: the server does not run
    }
  };
  setInterval(look, 1000);
})();
