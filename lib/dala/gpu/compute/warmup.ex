defmodule Dala.Gpu.Compute.Warmup do
  @moduledoc """
  Compiling all kernels before they are needed.

  A kernel is compiled when it is first used, which takes a moment; what was compiled is kept on
  disk. After a warm-up, the first call of any built-in kernel is quick, in this VM and in those
  that start later on this machine. On a driver that compiles slowly (PoCL) it takes minutes, once.
  """

  alias Dala.Gpu.Compute.{Argument, Buffer, Error, Native, Runtime}

  @dtypes [:f32, :f64, :s32, :s64, :u32, :u8]

  @typedoc "How far it is: `{done, total, kernel, dtype}`."
  @type step :: {non_neg_integer(), pos_integer(), String.t(), Buffer.dtype()}

  @doc """
  Compiles every built-in kernel, runs it once and saves it; only the calling process waits.

  ## Options

    * `:dtypes` - the element types to prepare, all of them by default
    * `:progress` - a function of one argument, called with `{done, total, kernel, dtype}` before
      each kernel; nothing by default

  ## Example

      iex> Dala.Gpu.Compute.Warmup.run(dtypes: [])
      :ok
  """
  @spec run(dtypes: [Buffer.dtype()], progress: (step() -> any())) :: :ok | {:error, Error.t()}
  def run(opts \\ []) do
    opts = Argument.options!(opts, dtypes: @dtypes, progress: fn _step -> :ok end)
    dtypes = Enum.map(opts[:dtypes], &Buffer.dtype!/1)
    progress = opts[:progress]

    unless is_function(progress, 1) do
      raise ArgumentError,
            "expected progress: a function of 1 argument, got: #{inspect(progress)}"
    end

    with :ok <- Runtime.ensure() do
      ref = make_ref()
      with :ok <- Native.warm_up(dtypes, ref), do: follow(ref, progress)
    end
  end

  defp follow(ref, progress) do
    receive do
      {^ref, {:step, done, total, kernel, dtype}} ->
        progress.({done, total, kernel, dtype})
        follow(ref, progress)

      {^ref, result} ->
        result
    end
  end
end
