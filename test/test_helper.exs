# A formatter beside the usual one: skipped tests are named, so that a bridge that was never tested
# does not look as if it had been, and failed ones once more.
ExUnit.start(formatters: [ExUnit.CLIFormatter, Dala.Test.SummaryFormatter], timeout: 120_000)

Dala.Test.GpuCase.prepare_slow()

# Where Nx is on the code path (ERL_LIBS), its bridge is tested too.
_ = Application.ensure_all_started(:nx)
