"""PyTorch as a process beside the bench; bench/beam/nx.exs talks to it. A line in, a line out:

  <work> <calls> <threads>   nanoseconds per call; the works are the functions below
"""
import sys
import time

import torch
import torch.nn.functional as functional


@torch.jit.script
def eight(x, y):
    z = x * y + 0.5
    z = torch.exp(-z)
    z = z / (1.0 + z)
    return torch.sqrt(z + y) * 2.0


def chain():
    x, y = torch.rand(1 << 22), torch.rand(1 << 22)
    return lambda: eight(x, y)


def add():
    x, y = torch.rand(1024), torch.rand(1024)
    return lambda: torch.add(x, y)


def mlp():
    x, y = torch.rand(128, 784), torch.randint(0, 10, (128,))
    model = torch.nn.Sequential(
        torch.nn.Linear(784, 512), torch.nn.ReLU(),
        torch.nn.Linear(512, 512), torch.nn.ReLU(),
        torch.nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def step():
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


WORKS = {}
for line in sys.stdin:
    name, calls, threads = line.split()
    torch.set_num_threads(int(threads))
    if name not in WORKS:
        WORKS[name] = {"chain": chain, "add": add, "mlp": mlp}[name]()
        for _ in range(5):
            WORKS[name]()
    begin = time.perf_counter_ns()
    for _ in range(int(calls)):
        WORKS[name]()
    print((time.perf_counter_ns() - begin) / int(calls), flush=True)
