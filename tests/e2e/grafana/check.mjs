// Check responses and panels with the code that Grafana uses: its data frames,
// units and transformations, the JSONPath library of the JSON API plugin,
// Prometheus' parser.  Reads a JSON array of cases, prints "ok DESCRIPTION" or
// "not ok DESCRIPTION: REASON".
import { createRequire } from 'module';
import { pathToFileURL } from 'url';
globalThis.window = globalThis;
globalThis.navigator ??= { language: 'en', languages: ['en'] };
const require = createRequire(pathToFileURL(process.cwd() + '/'));
const data = require('@grafana/data');
const { JSONPath } = require('jsonpath-plus');
const { parser } = require('@prometheus-io/lezer-promql');
const { standardTransformers, standardTransformersRegistry } = data;

// Some transformations are exported under two names.
const steps = new Map(Object.values(standardTransformers).map(
  (t) => [t.id, { id: t.id, name: t.name, transformation: t, editor: () => null }]));
standardTransformersRegistry.setInit(() => [...steps.values()]);
const units = new Set(data.getValueFormats().flatMap((g) => g.submenu.map((u) => u.value)));

function demand(good, why) {
  if (!good) throw new Error(why);
}

async function transform(frames, steps) {
  let got;
  await new Promise((resolve, reject) => data.transformDataFrame(steps, frames).subscribe(
    { next: (v) => { got = v; }, complete: resolve, error: reject }));
  return got;
}

// As the plugin does: a column for each JSONPath, all of the same length.
async function jsonapi(c) {
  const json = JSON.parse(c.body);
  const fields = c.fields.map((f) => ({
    name: f.name, type: f.type, config: {}, values: JSONPath({ path: f.jsonPath, json }) }));
  demand(new Set(fields.map((f) => f.values.length)).size === 1, 'Fields have different lengths');
  const frame = data.toDataFrame({ refId: 'A', fields });
  demand(frame.length === c.rows, `${frame.length} rows of ${c.rows}`);
  for (const f of frame.fields) {
    const show = data.getDisplayProcessor({ field: f, theme: data.createTheme() });
    for (const v of f.values) {
      demand(v === null || f.type !== 'time' || (v > 9e11 && Number.isInteger(v)),
        `${f.name}: ${v} is no time in ms`);
      demand(typeof show(v).text === 'string', `${f.name}: cannot show ${v}`);
    }
  }
  if (c.series) demand(frame.fields.some((f) => f.type === 'time'), 'a series without time');
}

async function simpod(c) {
  for (const r of JSON.parse(c.body)) {
    const frame = data.toDataFrame(r);
    demand(frame.refId === r.refId, 'refId is lost');
    demand(frame.length === (r.rows ?? r.datapoints).length, 'rows are lost');
    for (const f of frame.fields)
      for (const v of f.values)
        demand(v === null || f.type !== 'time' || typeof v === 'number', `${f.name}: ${v}`);
  }
}

async function promql(c) {
  parser.parse(c.expr).iterate({
    enter: (n) => demand(!n.type.isError, `at ${n.from}: ${c.expr.slice(n.from, n.from + 40)}`) });
}

async function panel(c) {
  // Grafana's own texts behind a value begin with "suffix:".
  for (const unit of c.units) demand(units.has(unit) || /^suffix:./.test(unit), `there is no unit ${unit}`);
  const frames = c.tables.map((t) => data.toDataFrame(t));
  const got = await transform(frames, c.transformations);
  demand(got.length > 0 && got.every((f) => f.length > 0), 'nothing is left');
  for (const name of c.columns)
    demand(got.some((f) => f.fields.some((x) => data.getFieldDisplayName(x, f, got) === name)),
      `no column ${name}: ` + got.map((f) => f.fields.map((x) => data.getFieldDisplayName(x, f, got))));
}

// The OpenAPI document is valid, and responses match its schemas.
async function openapi(c) {
  const { Validator } = await import('@seriousme/openapi-schema-validator');
  const Ajv = require('ajv/dist/2020').default;
  const doc = JSON.parse(c.doc);
  const verdict = await new Validator().validate(doc);
  demand(verdict.valid, JSON.stringify(verdict.errors));
  for (const [path, body] of Object.entries(c.responses)) {
    const { schema } = doc.paths[path].get.responses['200'].content['application/json'];
    const check = new Ajv({ strict: false, allowUnionTypes: true }).compile(schema);
    demand(check(JSON.parse(body)), `${path}: ${JSON.stringify(check.errors)}`);
  }
}

let text = '';
for await (const piece of process.stdin) text += piece;
for (const c of JSON.parse(text)) {
  try {
    await { jsonapi, simpod, promql, panel, openapi }[c.kind](c);
    console.log(`ok ${c.description}`);
  } catch (e) {
    console.log(`not ok ${c.description}: ${e.message.replaceAll('\n', ' ')}`);
  }
}
