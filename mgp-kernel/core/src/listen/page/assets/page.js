// Brings up to date what is shown: whatever is marked with `data-live` is replaced where the kernel has a newer one.
const policy = window.trustedTypes
  ? trustedTypes.createPolicy('mgp', { createHTML: (text) => text })
  : { createHTML: (text) => text };

const lost = document.getElementById('lost');
const isShown = () => document.querySelector('[data-live]') !== null;
let isAsking = false;
let isStale = false;

async function refresh() {
  if (!isShown()) return;
  if (isAsking) {
    isStale = true;
    return;
  }
  isAsking = true;
  isStale = false;
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' }, redirect: 'error' });
    lost.hidden = answer.status !== 401;
    if (answer.ok) {
      replace(new DOMParser().parseFromString(policy.createHTML(await answer.text()), 'text/html'));
    }
  } catch {
    lost.hidden = false;
  }
  isAsking = false;
  if (isStale) refresh();
}

function replace(fresh) {
  document.title = fresh.title;
  for (const part of document.querySelectorAll('[data-live]')) {
    const newer = fresh.getElementById(part.id);
    const isTyped = part.contains(document.activeElement) && document.activeElement.matches('input, textarea, select');
    if (newer && !isTyped && newer.innerHTML !== part.innerHTML) {
      const opened = [...part.querySelectorAll('details')].map((details) => details.open);
      part.replaceWith(newer);
      newer.querySelectorAll('details').forEach((details, place) => { details.open = opened[place] ?? false; });
    }
  }
}

// Only pages that are seen follow what happens: a browser keeps few connections to one place.
let changes = null;

function follow() {
  if (!isShown() || document.hidden || changes) return;
  changes = new EventSource('/live');
  let isFirst = true;
  changes.onmessage = () => {
    if (!isFirst) refresh();
    isFirst = false;
  };
  // A kernel that is started again knows no login of the last one.
  changes.onerror = () => { isFirst = false; refresh(); };
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    changes?.close();
    changes = null;
  } else {
    refresh();
    follow();
  }
});
follow();
