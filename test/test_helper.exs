# A formatter beside the usual one: skipped tests are named, so that a bridge that was never tested
# does not look as if it had been, and failed ones once more.
ExUnit.start(formatters: [ExUnit.CLIFormatter, Dala.Test.SummaryFormatter], timeout: 120_000)

# Tests capture what is logged.
{:ok, _apps} = Application.ensure_all_started(:logger)

# Models that the user has installed are not for these tests.
no_models = Path.join(Mix.Project.build_path(), "no_models")
:persistent_term.put({Dala.ML.Models.Location, :last_folder}, no_models)

Dala.Test.GpuCase.prepare_slow()

# Where Nx is on the code path (ERL_LIBS), its bridge is tested too.
_ = Application.ensure_all_started(:nx)
