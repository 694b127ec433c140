/* Optional; pages are complete without it: values under the pointer, zoom, sorting, copying, live pages. */
'use strict';
const all = (q, e = document) => [...e.matches?.(q) ? [e] : [], ...e.querySelectorAll(q)];
const el = (tag, text, cls = '') => Object.assign(document.createElement(tag), {textContent: text, className: cls, ...(tag === 'button' && {type: tag})});
const svg = (tag, a) => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const k in a) e.setAttribute(k, a[k]);
  return e;
};
const span = s => s < 3600 ? Math.round(s / 60) + ' min' : Math.floor(s / 3600) + ' h ' + String(Math.floor(s / 60) % 60).padStart(2, '0');
const clockAt = s => new Date(s * 1000).toLocaleTimeString('en-GB', {timeZone: document.querySelector('main').dataset.zone,
  hour: '2-digit', minute: '2-digit', timeZoneName: 'short'});
const show = (v, unit) => v.toLocaleString('en', {maximumFractionDigits: v < 10 ? 1 : 0}) + (unit ? ' ' + unit : '');

/* charts: svg.chart with an inner svg.pl of 1000 x 100 */
const valueAt = (points, x) => {
  for (let i = 1; i < points.length; i++) {
    const [a, b] = [points[i - 1], points[i]];
    if (x >= a.x && x <= b.x && !b.gap) return a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x || 1);
  }
  return null;
};
const readPath = d => [...d.matchAll(/([MLH])([\d.]+)(?: ([\d.]+))?/g)].map((m, i, l) =>
  ({gap: m[1] === 'M', x: +m[2], y: m[3] === undefined ? +l[i - 1][3] : +m[3]}));

function setUpCharts(root) {
  for (const group of all('[data-zoom]', root)) {
    let view = [0, 1000];
    const charts = all('.chart[data-top]', group).filter(c => c.dataset.dur > 0).map(chart => {
      const plot = chart.querySelector('.pl');
      const lines = all('[data-n]', plot).map(p => ({name: p.dataset.n, points: readPath(p.getAttribute('d'))}));
      const out = el('output', '', 'vh');
      const tip = el('span', '', 'tip');
      tip.hidden = true;
      chart.parentNode.querySelector('figcaption').append(tip, out);

      chart.tabIndex = 0;
      return {chart, plot, lines, tip, out, at: null, labels: all('.x', chart)};
    });
    const clock = (c, x) => {
      const s = x / 1000 * c.chart.dataset.dur, start = c.chart.dataset.start;
      return (+start ? clockAt(+start + s) + ', ' : '') + span(s);
    };
    const point = (x, speaker) => charts.forEach(c => {
      c.chart.querySelector('.cross')?.remove();
      c.tip.hidden = x === null;
      if (x === null) return;
      const place = (x - view[0]) / (view[1] - view[0]) * 100 + '%';
      const top = +c.plot.getAttribute('y');
      c.chart.append(svg('line', {class: 'cross', x1: place, x2: place, y1: top, y2: top + +c.plot.getAttribute('height')}));
      c.tip.textContent = clock(c, x) + ': ' + c.lines.map(l => {
        const y = valueAt(l.points, x);
        return l.name + ' ' + (y === null ? 'not known' : show((100 - y) / 100 * c.chart.dataset.top, c.chart.dataset.unit));
      }).join(', ');
      if (c === speaker) c.out.textContent = c.tip.textContent;
    });
    const zoom = (a, b) => {
      view = b - a < 10 ? [0, 1000] : [Math.max(0, a), Math.min(1000, b)];
      const whole = view[1] - view[0] > 999;
      charts.forEach(c => {
        c.plot.setAttribute('viewBox', view[0] + ' 0 ' + (view[1] - view[0]) + ' 100');
        c.labels.forEach(t => {
          t.dataset.was ??= t.textContent;
          t.textContent = whole ? t.dataset.was : span((view[0] + parseFloat(t.getAttribute('x')) / 100 * (view[1] - view[0])) / 1000 * c.chart.dataset.dur);
        });
      });
      reset.hidden = whole;
      point(null);
    };
    const reset = el('button', 'Whole time');
    reset.hidden = true;
    reset.onclick = () => zoom(0, 0);
    group.querySelector('.bar-head')?.append(reset);
    charts.forEach(c => {
      let from = null;
      const x = e => {
        const r = c.chart.getBoundingClientRect();
        return view[0] + Math.min(1, Math.max(0, (e.clientX - r.left) / r.width)) * (view[1] - view[0]);
      };
      c.chart.onpointermove = e => point(x(e), c);
      c.chart.onpointerleave = () => point(null);
      c.chart.onpointerdown = e => { from = e.pointerType === 'mouse' ? x(e) : null; };
      c.chart.onpointerup = e => { if (from !== null && Math.abs(x(e) - from) > 10) zoom(Math.min(from, x(e)), Math.max(from, x(e))); from = null; };
      c.chart.onblur = () => { c.at = null; point(null); };
      c.chart.onkeydown = e => {
        const step = {ArrowLeft: -10, ArrowRight: 10}[e.key];
        if (e.key === 'Escape') zoom(0, 0);
        if (!step) return;
        e.preventDefault();
        c.at = Math.min(view[1], Math.max(view[0], (c.at ?? view[0]) + step * (view[1] - view[0]) / 1000));
        point(c.at, c);
      };
    });
  }
}

/* maps: data-v="97*3 20" are the values 97 97 97 20 */
function setUpMaps(root) {
  for (const strip of all('.map[data-dur] .strip[data-v]', root)) {
    const dur = +strip.closest('.map').dataset.dur;
    const v = strip.dataset.v.split(' ').flatMap(w => { const [a, n] = w.split('*'); return Array(+(n || 1)).fill(a); });
    const name = strip.closest('tr').cells[0].textContent;
    strip.onpointermove = e => {
      const r = strip.getBoundingClientRect();
      const i = Math.min(v.length - 1, Math.max(0, Math.floor((e.clientX - r.left) / r.width * v.length)));
      strip.parentNode.title = name + ', ' + span(i / v.length * dur) + ': ' + (v[i] === '' ? 'not held' : v[i] + ' %');
    };
  }
}

/* tables whose rows are all on the page: by the order of the marks of states and findings, by time, by number, else by text;
   what is not known is last */
const looks = ['bad', 'warn', 'note', 'wait', 'run', 'ok', 'none'];
const sortKey = td => {
  const mark = td.querySelector('.s'), t = td.textContent.replace(/,/g, '').replace('\u2212', '-').trim();
  const span = t.match(/^(?:(\d+)-)?(\d\d):(\d\d):(\d\d)$/), number = t.match(/^-?[\d.]+(?: ([kMGTP]?)(i?)(?:B|Wh?|J|g)\b| |$)/);
  return /^[-\u2013]?$/.test(t) ? null : mark ? -looks.findIndex(l => mark.classList.contains(l))
    : span ? (span[1] || 0) * 86400 + span[2] * 3600 + span[3] * 60 + +span[4]
    : number ? parseFloat(t) * (number[2] ? 1024 : 1000) ** ' kMGTP'.indexOf(number[1] || ' ') : t;
};
const sortOrder = (p, q) => typeof p === 'number' && typeof q === 'number' ? p - q
  : String(p).localeCompare(String(q), 'en', {numeric: true});

function setUpSorting(root) {
  for (const th of all('table[data-sort] thead th', root)) {
    const b = el('button', th.textContent);
    th.replaceChildren(b);
    b.onclick = () => {
      const body = th.closest('table').tBodies[0], i = th.cellIndex;
      const down = th.getAttribute('aria-sort') !== 'descending';
      all('th', th.parentNode).forEach(t => t.removeAttribute('aria-sort'));
      th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const rows = [...body.rows].map(r => [sortKey(r.cells[i]), r]);
      rows.sort(([p], [q]) => p === null || q === null ? (p === null) - (q === null) : sortOrder(p, q) * (down ? -1 : 1));
      body.append(...rows.map(r => r[1]));
    };
  }
}

function setUpCopying(root) {
  if (navigator.clipboard) for (const pre of all('[data-copy]', root)) {
    const b = el('button', 'Copy');
    b.onclick = async () => { await navigator.clipboard.writeText(pre.firstChild.textContent); b.textContent = 'Copied'; };
    pre.append(b);
  }
}

/* live: parts with data-live-part are replaced */
function setUpLive() {
  const main = document.querySelector('[data-live]');
  const control = main && main.querySelector('[data-live-ctl]');
  if (!control) return;
  let on = true;
  const b = el('button', 'Stop');
  b.onclick = () => { on = !on; b.textContent = on ? 'Stop' : 'Go on'; };
  control.replaceChildren('Read again every ' + main.dataset.live + ' s. ', b);
  setInterval(async () => {
    if (!on || document.hidden || main.contains(document.activeElement) && document.activeElement !== b) return;
    try {
      const reply = await fetch(location.href);
      if (!reply.ok) throw 0;
      const page = new DOMParser().parseFromString(await reply.text(), 'text/html');
      for (const part of all('[data-live-part]')) {
        const fresh = page.getElementById(part.id);
        if (fresh && fresh.innerHTML !== part.was) { part.innerHTML = part.was = fresh.innerHTML; setUp(part); }
      }
    } catch { control.firstChild.textContent = 'The server does not answer; the values are old. '; }
  }, main.dataset.live * 1000);
}

function setUp(root) { setUpCharts(root); setUpMaps(root); setUpSorting(root); setUpCopying(root); }
setUp(document);
setUpLive();
