"""numpy's random numbers as a process beside the bench; bench/peer_process.cpp talks to it. A line
in, a line out:

  load <what> <input> <count> <threads>   the fastest generator here
  run <calls>                             nanoseconds per call
"""
import sys
import threading
import time

import numpy

GENERATORS = (numpy.random.SFC64, numpy.random.PCG64, numpy.random.Philox)


class Worker(threading.Thread):
    """A thread that draws its part whenever it is told to."""

    def __init__(self, generator, part):
        super().__init__(daemon=True)
        self.generator = generator
        self.part = part
        self.begin = threading.Semaphore(0)
        self.end = threading.Semaphore(0)

    def draw(self):
        self.generator.standard_normal(out=self.part, dtype=numpy.float32)

    def run(self):
        while True:
            self.begin.acquire()
            self.draw()
            self.end.release()


class Peer:
    def load(self, what, _input, count, threads):
        assert what == "normal"
        self.out = numpy.empty(int(count), numpy.float32)
        parts = numpy.array_split(self.out, int(threads))
        self.workers = [Worker(None, part) for part in parts]
        for worker in self.workers[1:]:
            worker.start()
        times = []
        for generator in GENERATORS:
            self.use(generator)
            self.run(1)
            times.append((float(self.run(3)), generator))
        fastest = min(times, key=lambda each: each[0])[1]
        self.use(fastest)
        return fastest.__name__

    def use(self, generator):
        for seed, worker in enumerate(self.workers):
            worker.generator = numpy.random.Generator(generator(seed))

    # The main thread draws the first part.
    def run(self, calls):
        start = time.perf_counter_ns()
        for _ in range(int(calls)):
            for worker in self.workers[1:]:
                worker.begin.release()
            self.workers[0].draw()
            for worker in self.workers[1:]:
                worker.end.acquire()
        return str((time.perf_counter_ns() - start) / int(calls))


def main():
    peer = Peer()
    print("ready", numpy.__version__, flush=True)
    for line in sys.stdin:
        command, *rest = line.rstrip("\n").split("\t")
        try:
            text = {"load": peer.load, "run": peer.run}[command](*rest)
        except Exception as error:  # it is the bench that says so
            text = "error " + f"{type(error).__name__} {error}".replace("\n", " ")
        print(text, flush=True)


main()
