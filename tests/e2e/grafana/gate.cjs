// Run Grafana's Prometheus data source as a browser does, for gate_grafana.py.
//
// Grafana's own code: the packages @grafana/prometheus (data source, variables, language
// provider), @grafana/runtime (requests to the backend, responses) and @grafana/data
// (data frames, intervals, transformations of panels).
//
// Reimplemented here, as npm has no package of it:
// - the replacement of variables in dashboards (TemplateSrv);
// - Grafana's backend in Go (pkg/promlib): the requests that it sends, and the data
//   frames that it makes of responses.
// Libraries of user interfaces are not installed; stubs replace them.
//
// Reads dashboards and users from standard input as JSON; prints requests, panels,
// variables and results of other calls.
process.env.NODE_ENV = 'test'; // without the history API of a browser
globalThis.window = globalThis;
globalThis.location = new URL('http://grafana.example/');
globalThis.localStorage = { getItem: () => null, setItem() {} };
globalThis.addEventListener = () => {};
const Module = require('module');
const http = require('http');
const zlib = require('zlib');

const nothing = () => new Proxy(function () {}, {
  get: (f, k) => (k === 'then' ? undefined : k === Symbol.toPrimitive ? () => '' : k === 'prototype' ? f.prototype : nothing()),
  apply: () => nothing(),
  construct: () => nothing(),
});
const module_of_nothing = new Proxy({}, { get: () => nothing(), has: () => true });
const load = Module._load;
Module._load = function (name, ...rest) {
  if (name === 'react-use') return module_of_nothing; // needs a browser
  try {
    return load.call(this, name, ...rest);
  } catch (e) {
    if (e.code !== 'MODULE_NOT_FOUND') throw e;
    return module_of_nothing;
  }
};
const from_here = Module.createRequire(process.cwd() + '/');
const runtime = from_here('@grafana/runtime');
const data = from_here('@grafana/data');
const { PrometheusDatasource } = from_here('@grafana/prometheus');
const { from, lastValueFrom } = from_here('rxjs');
console.log = console.warn = console.error = () => {};

// Grafana 11, or a later one.
const VERSION = parseInt(from_here('@grafana/prometheus/package.json').version, 10);

const steps = new Map(Object.values(data.standardTransformers).map(
  (t) => [t.id, { id: t.id, name: t.name, transformation: VERSION > 11 ? async () => t : t, editor: () => null }]));
data.standardTransformersRegistry.setInit(() => [...steps.values()]);

// --- Grafana's backend ----------------------------------------------------------

const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
const UID = 'jobs';
const requests = [];

function send(ds, method, path, parameters) {
  const form = new URLSearchParams(parameters).toString();
  const body = method === 'POST' ? form : '';
  const url = new URL(ds.url + path + (method === 'GET' && form ? '?' + form : ''));
  const headers = {
    'User-Agent': 'Grafana/11.6.0', 'Accept-Encoding': 'gzip', 'X-Grafana-User': ds.user,
    'X-Grafana-Org-Id': '1', 'X-Dashboard-Uid': 'x', 'Content-Length': body.length,
    Authorization: 'Basic ' + Buffer.from(`grafana:${ds.password}`).toString('base64'),
  };
  if (method === 'POST') headers['Content-Type'] = 'application/x-www-form-urlencoded';
  return new Promise((resolve, reject) => {
    const r = http.request(url, { method, headers, agent }, (reply) => {
      const pieces = [];
      reply.on('data', (p) => pieces.push(p));
      reply.on('end', () => {
        let text = Buffer.concat(pieces);
        if (reply.headers['content-encoding'] === 'gzip') text = zlib.gunzipSync(text);
        const request = { action: ds.action, user: ds.user, method, path, form, status: reply.statusCode, body: text.toString() };
        requests.push(request);
        resolve(request);
      });
    });
    // The server may close an idle connection just before a request; Go repeats such a request.
    r.on('error', (e) => (r.reusedSocket && e.code === 'ECONNRESET' ? resolve(send(ds, method, path, parameters)) : reject(e)));
    r.end(body);
  });
}

// Seconds as Go's time.Duration prints them.
function go_duration(ms) {
  if (ms < 1000) return `${ms}ms`;
  const s = (ms / 1000) % 60, m = Math.floor(ms / 60000) % 60, h = Math.floor(ms / 3600000);
  return (h ? `${h}h` : '') + (h || m ? `${m}m` : '') + `${s}s`;
}

// As promlib/models/query.go: steps, variables, and times that are multiples of the step.
function parse(ds, q, from_ms, to_ms) {
  const scrape = data.rangeUtil.intervalToMs(ds.interval);
  const least = q.interval && !q.interval.startsWith('$') ? data.rangeUtil.intervalToMs(q.interval) : scrape;
  const wanted = (to_ms - from_ms) / (q.maxDataPoints || 1500);
  const calculated = wanted < least ? least : data.rangeUtil.roundInterval(wanted);
  const step = Math.max(calculated, data.rangeUtil.roundInterval((to_ms - from_ms) / 11000)) * (q.intervalFactor || 1);
  const rate = Math.max((q.intervalMs || 0) + least, 4 * least);
  const range_s = Math.round((to_ms - from_ms) / 1000);
  const values = {
    __interval_ms: step, __interval: data.rangeUtil.secondsToHms(step / 1000), __range_ms: to_ms - from_ms,
    __range_s: range_s, __range: range_s + 's', __rate_interval_ms: rate, __rate_interval: go_duration(rate),
  };
  const expr = q.expr.replace(/\$(?:\{(__\w+)\}|(__\w+))/g, (all, a, b) => values[a ?? b] ?? all);
  const align = (t) => Math.floor((t + (q.utcOffsetSec || 0) * 1000) / step) * step - (q.utcOffsetSec || 0) * 1000;
  return { expr, step, start: align(from_ms), end: align(to_ms), time: to_ms };
}

function frame(q, p, labels, type, times, values) {
  const named = q.legendFormat?.replace(/\{\{\s*(.+?)\s*\}\}/g, (_, l) => labels[l] ?? '');
  const name = named || labels.__name__ || p.expr;
  return {
    schema: {
      refId: q.refId, name, meta: { type: 'timeseries-multi', custom: { resultType: type }, executedQueryString: `Expr: ${p.expr}\nStep: ${p.step}` },
      fields: [{ name: 'Time', type: 'time', typeInfo: { frame: 'time.Time' }, config: { interval: p.step } },
        { name: 'Value', type: 'number', typeInfo: { frame: 'float64' }, labels, config: { displayNameFromDS: name } }],
    },
    data: { values: [times, values] },
  };
}

function frames(q, p, reply) {
  const { resultType, result } = reply.data;
  if (resultType === 'scalar') return [frame(q, p, {}, resultType, [result[0] * 1000], [+result[1]])];
  return result.map((r) => {
    const points = r.values ?? [r.value];
    return frame(q, p, r.metric, resultType, points.map((v) => v[0] * 1000), points.map((v) => +v[1]));
  });
}

// As promlib/querydata/request.go and promlib/client/client.go.
async function query_data(ds, body) {
  const results = {};
  for (const q of body.queries) {
    const p = parse(ds, q, +body.from, +body.to);
    const range = { query: p.expr, start: p.start / 1000, end: p.end / 1000, step: p.step / 1000, timeout: '60' };
    const todo = [];
    if (q.instant) todo.push(['query', { query: p.expr, time: p.time / 1000, timeout: '60' }]);
    if (q.range || !q.instant) todo.push(['query_range', range]);
    if (q.exemplar) todo.push(['query_exemplars', { query: p.expr, start: range.start, end: range.end }]);
    const result = { status: 200, frames: [] };
    for (const [path, form] of todo) {
      const reply = await send(ds, ds.method, '/api/v1/' + path, form);
      if (reply.status !== 200) Object.assign(result, { status: reply.status, error: reply.body });
      else if (path !== 'query_exemplars') result.frames.push(...frames(q, p, JSON.parse(reply.body)));
    }
    results[q.refId] = result;
  }
  return { results };
}

const ONLY_GET = ['api/v1/label/', 'api/v1/metadata', '/api/v1/status/buildinfo'];

// As QueryResource() of promlib/client/client.go.  Grafana 11 sends what the browser sent;
// Grafana 12 sends POST, and GET if that is refused.
async function resource(ds, method, path, url_form, body_form) {
  const both = [...new URLSearchParams(url_form), ...new URLSearchParams(body_form)];
  const get = ds.backend === 11 ? method === 'GET' : ds.method === 'GET' || ONLY_GET.some((p) => path.startsWith(p));
  const full = path.startsWith('/') ? path : '/' + path;
  if (!get) {
    const reply = await send(ds, 'POST', full + (url_form ? '?' + url_form : ''), body_form);
    if (reply.status !== 405 && reply.status !== 400) return reply;
    reply.repeated = true;
  }
  return send(ds, 'GET', full, both);
}

// As promlib/healthcheck.go and promlib/heuristics.go.
async function health(ds) {
  const reply = await send(ds, ds.method, '/api/v1/query', { query: '1+1', time: 4, timeout: '60' });
  const info = await resource(ds, 'GET', 'api/v1/status/buildinfo', '', '');
  return reply.status === 200 && info.status === 200
    ? { status: 'OK', message: 'Successfully queried the Prometheus API.' } : { status: 'ERROR', message: reply.body + info.body };
}

// The BackendSrv of @grafana/runtime, including Grafana's server.
async function serve(ds, o) {
  const url = new URL(o.url, 'http://grafana.example');
  if (url.pathname === '/api/ds/query') return { status: 200, data: await query_data(ds, o.data) };
  if (url.pathname.endsWith('/health')) return { status: 200, data: await health(ds) };
  const prefix = `/api/datasources/uid/${UID}/resources/`;
  if (!url.pathname.startsWith(prefix)) throw new Error('no such path of Grafana: ' + o.url);
  const parameters = new URLSearchParams(url.search);
  for (const [k, v] of Object.entries(o.params ?? {})) parameters.append(k, v);
  const body = o.data === undefined ? '' : (o.data instanceof URLSearchParams ? o.data : new URLSearchParams(o.data)).toString();
  const reply = await resource(ds, o.method ?? 'GET', url.pathname.slice(prefix.length), parameters.toString(), body);
  const result = { status: reply.status, data: JSON.parse(reply.body), config: o };
  if (reply.status < 200 || reply.status > 299) throw result;
  return result;
}

// --- Grafana's dashboards -------------------------------------------------------

// As TemplateSrv: a variable set to All that has an allValue is not formatted.
function template(values) {
  return {
    getVariables: () => [...values.values()],
    containsTemplate: (text) => /\$/.test(text ?? ''),
    updateTimeRange() {},
    replace: (text, scoped, format) => (text ?? '').replace(/\$(\w+)|\$\{(\w+)(?::(\w+))?\}/g, (all, a, b) => {
      const one = scoped?.[a ?? b];
      if (one !== undefined && one !== null) return String(one.value);
      const v = values.get(a ?? b);
      if (!v) return all;
      if (v.value === '$__all' && v.allValue) return v.allValue;
      return typeof format === 'function' ? format(v.value, v) : [v.value].flat().join(',');
    }),
  };
}

function time_range(work, raw) {
  const from = data.dateTime(work.now - work.seconds[raw.from] * 1000), to = data.dateTime(work.now);
  return { from, to, raw };
}

function data_source(work, user_name, method, backend, extra) {
  const values = new Map();
  const server = { url: work.url, password: work.password, user: user_name, method, backend, interval: work.settings.timeInterval, action: 'start' };
  const srv = template(values);
  runtime.setTemplateSrv(srv);
  runtime.setBackendSrv({ fetch: (o) => from(serve(server, o)) });
  const settings = {
    id: 1, uid: UID, type: 'prometheus', name: 'Jobs', access: 'proxy', url: '/api/datasources/proxy/uid/' + UID,
    meta: { id: 'prometheus', info: {} }, readOnly: false,
    jsonData: { ...work.settings, httpMethod: method, ...extra },
  };
  runtime.setDataSourceSrv({ getInstanceSettings: () => settings });
  return { ds: new PrometheusDatasource(settings, srv), values, server };
}

async function variables(site, board, range, choose) {
  const found = {};
  site.values.clear();
  for (const v of board.templating.list.filter((v) => v.type === 'query')) {
    site.server.action = `${board.title}: variable ${v.name}`;
    const { data: options } = await lastValueFrom(site.ds.variables.query({ targets: [v.query], range, scopedVars: {} }));
    const texts = options.map((o) => o.text);
    found[v.name] = texts;
    // The value when a dashboard opens ("All" or the first), or one that a user chooses.
    const all = v.includeAll && choose === 'first';
    site.values.set(v.name, { ...v, value: all ? '$__all' : v.multi ? texts : choose === 'first' ? texts[0] : texts.at(-1) });
  }
  return found;
}

async function panel(work, site, board, p, range) {
  site.server.action = `${board.title}: ${p.title}`;
  const interval = data.rangeUtil.calculateInterval(range, 1000, work.settings.timeInterval);
  const before = requests.length;
  const response = await lastValueFrom(site.ds.query({
    app: 'dashboard', requestId: 'Q1', timezone: 'browser', panelId: p.id, dashboardUID: board.uid, range, rangeRaw: range.raw,
    interval: interval.interval, intervalMs: interval.intervalMs, maxDataPoints: 1000, targets: p.targets, startTime: work.now,
    scopedVars: { __interval: { text: interval.interval, value: interval.interval }, __interval_ms: { text: '', value: interval.intervalMs } },
  }));
  let shown = response.data;
  await new Promise((resolve, reject) => data.transformDataFrame(p.transformations ?? [], response.data).subscribe(
    { next: (v) => { shown = v; }, complete: resolve, error: reject }));
  const names = shown.flatMap((f) => f.fields.map((x) => data.getFieldDisplayName(x, f, shown)));
  return {
    action: site.server.action, user: site.server.user, method: site.server.method, error: response.error?.message ?? response.errors?.[0]?.message,
    full: requests.slice(before).map((r) => r.status === 200 && JSON.parse(r.body).data.result.length > 0),
    rows: shown.reduce((n, f) => n + f.length, 0), names,
  };
}

async function dashboards(work, out, user_name, method, choose) {
  const site = data_source(work, user_name, method, 12);
  for (const board of work.boards) {
    const range = time_range(work, board.time);
    const found = await variables(site, board, range, choose);
    if (choose === 'first') out.variables.push({ board: board.title, user: user_name, method, found });
    for (const p of board.panels.filter((p) => p.targets)) {
      const got = await panel(work, site, board, p, range);
      if (choose === 'first') out.panels.push(got);
    }
  }
}

async function annotations(ds, range, annotation) {
  if (VERSION === 11) return ds.annotationQuery({ range, annotation });
  const query = ds.annotations.prepareAnnotation(annotation);
  const response = await lastValueFrom(ds.query({
    app: 'dashboard', requestId: 'A', timezone: 'browser', range, rangeRaw: range.raw, interval: '60s', intervalMs: 60000,
    maxDataPoints: 1000, scopedVars: {}, startTime: 0, targets: [{ ...query.target, range: true }],
  }));
  return lastValueFrom(ds.annotations.processEvents(query, response.data));
}

function editors11(lp, ds, range) {
  return {
    'start of the editor': () => lp.start(range).then(() => lp.metrics),
    'descriptions': () => lp.metricsMetadata,
    'label names': () => lp.getLabelKeys(),
    'values of a label': () => lp.fetchLabelValues('jobid'),
    'labels of a metric': () => lp.getSeriesLabels('batchjob_job_cpus', []),
    'labels of a selector': () => lp.fetchLabelsWithMatch('{__name__="batchjob_job_cpus",account=~"acct.*"}'),
    'values of a metric': () => lp.fetchSeriesValuesWithMatch('user', 'batchjob_job_cpus', 'r', range),
    'series': () => lp.fetchSeries('batchjob_job_cpus{user!=""}'),
    'labels by series': () => lp.fetchSeriesLabels('batchjob_job_cpus'),
    'labels of queries': () => lp.fetchLabels(range, [{ expr: 'sum(batchjob_job_cpus) / sum(batchjob_node_cpus)' }]).then(() => lp.getLabelKeys()),
  };
}

// The same calls from Grafana 12 on.
function editors(lp, range) {
  const selector = '{__name__="batchjob_job_cpus",account=~"acct.*"}';
  return {
    'start of the editor': () => lp.start(range).then(() => lp.retrieveMetrics()),
    'descriptions': () => lp.queryMetricsMetadata(),
    'label names': () => lp.queryLabelKeys(range),
    'values of a label': () => lp.queryLabelValues(range, 'jobid'),
    'labels of a metric': () => lp.queryLabelKeys(range, 'batchjob_job_cpus'),
    'labels of a selector': () => lp.queryLabelKeys(range, selector),
    'values of a metric': () => lp.queryLabelValues(range, 'user', 'batchjob_job_cpus'),
    'metrics of a label': () => lp.queryLabelValues(range, '__name__', '{user!="",jobid=~".+"}'),
    'series': () => lp.getSeries ? lp.getSeries(range, selector) : true,
  };
}

// The requests of editors, the metrics browser, ad hoc filters and annotations.
async function others(work, out, user_name, method, backend, extra) {
  const site = data_source(work, user_name, method, backend, extra), { ds, server } = site;
  const range = time_range(work, { from: 'now-6h', to: 'now' });
  const lp = ds.languageProvider;
  const calls = {
    'save and test': () => ds.testDatasource(),
    'exemplars': () => ds.init().then(() => ds.exemplarsAvailable),
    ...(VERSION > 11 ? editors(lp, range) : editors11(lp, ds, range)),
    'names of ad hoc filters': () => ds.getTagKeys({ filters: [{ key: 'account', operator: '=~', value: 'acct.*' }], timeRange: range }),
    'values of ad hoc filters': () => ds.getTagValues({ key: 'jobid', filters: [{ key: 'cluster', operator: '=~', value: 'al.*' }], timeRange: range }),
    'annotations': () => annotations(ds, range, { name: 'a', expr: 'batchjob_job_cpus > 0', step: '60s', titleFormat: '{{jobid}}', tagKeys: 'user' }),
  };
  for (const q of ['label_names()', 'label_names(batchjob_job)', 'label_values(jobid)', 'label_values(batchjob_job_info, user)',
    'label_values(batchjob_job_info{account=~".+"}, jobid)', 'metrics(batchjob_job_.*)', 'query_result(sum by (jobid) (batchjob_job_cpus))',
    'query_result(topk(3, max_over_time(batchjob_job_cpus[$__range])))', 'query_result(vector(1))', 'batchjob_job_cpus{jobid!="1"}'])
    calls[q] = () => ds.metricFindQuery(q, { range });
  for (const [action, call] of Object.entries(calls)) {
    server.action = action;
    try {
      out.others.push({ action, user: user_name, method, backend, got: await call() });
    } catch (e) {
      out.others.push({ action, user: user_name, method, backend, error: String(e.message ?? JSON.stringify(e)) });
    }
  }
}

async function main() {
  let text = '';
  for await (const piece of process.stdin) text += piece;
  const work = JSON.parse(text);
  const out = { requests, panels: [], variables: [], others: [] };
  for (const user_name of work.users) {
    await dashboards(work, out, user_name, 'POST', 'first');
    await dashboards(work, out, user_name, 'GET', 'last');
    await others(work, out, user_name, 'POST', 12, {});
    await others(work, out, user_name, 'POST', 11, {});
    await others(work, out, user_name, 'GET', 12, { seriesEndpoint: true, disableRecordingRules: false });
  }
  agent.destroy();
  process.stdout.write(JSON.stringify(out));
}

main().catch((e) => {
  process.stderr.write((e.stack ?? JSON.stringify(e)) + '\n');
  process.exit(1);
});
