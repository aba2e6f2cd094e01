# Tests of Nx and Axon that may fail on Dala.Nx.Backend: part of the name, and the reason.
[nx: [], axon: []]
