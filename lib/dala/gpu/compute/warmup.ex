defmodule Dala.Gpu.Compute.Warmup do
  @moduledoc """
  Compiles all kernels ahead of time.

  A kernel is compiled at its first use, which takes a moment, and cached on disk. After a warm-up,
  the first call of any built-in kernel is fast, in this VM and in VMs started later on this
  machine. With a driver that compiles slowly (PoCL), a warm-up takes minutes, once.
  """

  alias Dala.Gpu.Compute.{Argument, Buffer, Command, Error, Kernel, Native, Profile, Runtime}

  @dtypes [:f32, :f64, :s32, :s64, :u32, :u8]

  @typedoc "The progress: `{done, total, kernel, dtype}`."
  @type step :: {non_neg_integer(), pos_integer(), String.t(), Buffer.dtype()}

  @doc """
  Compiles every built-in kernel, runs it once and caches it; only the calling process waits.

  ## Options

    * `:dtypes` - the element types to prepare, `:f32`, `:f64`, `:s32`, `:s64`, `:u32` and `:u8` by
      default
    * `:only` - the names of the kernels to prepare, atoms or strings, such as `record/1` gives them;
      all of them by default
    * `:progress` - a function of one argument, called with `{done, total, kernel, dtype}` before
      each kernel; none by default

  ## Example

      iex> Dala.Gpu.Compute.Warmup.run(dtypes: [])
      :ok
  """
  @spec run(
          dtypes: [Buffer.dtype()],
          only: [Kernel.name()] | nil,
          progress: (step() -> any())
        ) :: :ok | {:error, Error.t()}
  def run(opts \\ []) do
    opts = Argument.options!(opts, dtypes: @dtypes, only: nil, progress: fn _step -> :ok end)
    dtypes = Enum.map(opts[:dtypes], &Buffer.dtype!/1)
    names = names!(opts[:only])
    progress = opts[:progress]

    unless is_function(progress, 1) do
      raise ArgumentError,
            "expected progress: a function of 1 argument, got: #{inspect(progress)}"
    end

    with :ok <- Runtime.ensure(), :ok <- known(names) do
      ref = make_ref()
      with :ok <- Native.warm_up(dtypes, names, ref), do: follow(ref, progress)
    end
  end

  @doc """
  Runs a function, and gives its result with the names of the built-in kernels that ran meanwhile,
  in whichever process: what `run/1` takes as `:only`.

  Kernels that are made for a pipeline, by fusing several, and for a model are not among them: these
  are compiled when the pipeline or model is first used, and kept on disk, too.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([-1, 2], {2})
      iex> {:ok, names} = Dala.Gpu.Compute.Warmup.record(fn -> Dala.Gpu.Compute.relu(a, a) end)
      iex> "relu" in names
      true
  """
  @spec record((() -> result)) :: {result, [String.t()]} when result: var
  def record(fun) do
    {result, profile} = Profile.run(fun)

    # The name of a fused kernel has the names of its parts, or of the first ones.
    used = for kernel <- profile.kernels, name <- String.split(kernel.name, "+"), do: name
    {result, Enum.filter(built_in(), &(&1 in used))}
  end

  defp built_in, do: for(kernel <- Kernel.list(), not kernel.custom, do: kernel.name)

  defp names!(nil), do: nil
  defp names!(names) when length(names) >= 0, do: Enum.map(names, &Command.kernel!/1)
  defp names!(other), do: Argument.refuse!("only: a list of names of kernels", other)

  defp known(nil), do: :ok

  defp known(names) do
    case names -- built_in() do
      [] ->
        :ok

      [name | _] ->
        {:error,
         %Error{reason: :unknown_kernel, message: "there is no built-in kernel named #{name}"}}
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
