// ONNX Runtime as a process beside the bench; bench/peer_process.cpp talks to it. A line in, a line
// out:
//
//   load <model> <input> <dims> <threads>   the shape of every output, or an error
//   run <calls>                             nanoseconds per call
//   save <file>                             writes the outputs of the latest run
//
// Its threads look for more work for some milliseconds after a run. An answer waits until
// they sleep, so that they take no time of whoever is next.
'use strict';

const fs = require('fs');
const ort = require('onnxruntime-node');

const REST_MS = 20;
const clock = new Int32Array(new SharedArrayBuffer(4));
let session = null;
let feeds = null;
let results = null;

async function load(model, input, dims, threads) {
  session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: Number(threads),
    graphOptimizationLevel: 'all',
  });
  const bytes = fs.readFileSync(input);
  const data = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  feeds = {x: new ort.Tensor('float32', data, dims.split('x').map(Number))};
  results = await session.run(feeds);
  return session.outputNames.map((name) => results[name].dims.join('x')).join(' ');
}

async function run(calls) {
  const start = process.hrtime.bigint();
  for (let i = 0; i < calls; ++i) results = await session.run(feeds);
  return String(Number(process.hrtime.bigint() - start) / calls);
}

function save(file) {
  const parts = session.outputNames.map((name) => {
    const {data} = results[name];
    return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  });
  fs.writeFileSync(file, Buffer.concat(parts));
  return 'saved';
}

async function answer(line) {
  const [command, ...rest] = line.split('\t');
  if (command === 'load') return load(...rest);
  if (command === 'run') return run(Number(rest[0]));
  return save(rest[0]);
}

async function main() {
  console.log(`ready ${require('onnxruntime-node/package.json').version}`);
  for await (const line of require('readline').createInterface({input: process.stdin})) {
    const text = await answer(line).catch((error) => `error ${error.message}`.replace(/\n/g, ' '));
    Atomics.wait(clock, 0, 0, REST_MS);
    console.log(text);
  }
}

main();
