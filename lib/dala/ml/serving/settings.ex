defmodule Dala.ML.Serving.Settings do
  @moduledoc false
  # The options of a serving, checked. What runs the requests is a part of its own, which
  # `Serving.replace/2` gives anew.

  alias Dala.Gpu.Compute.Argument
  alias Dala.ML.Gpu.Model
  alias Dala.ML.Serving.Engine

  @subject [model: nil, function: nil, task: nil, models_dir: nil, shapes: nil, warmup: nil]
  @own [:name, batch: [], queue: 256, replicas: 2, drain: 5_000]
  @batch [max: 8, delay: 0, sizes: nil, goal: nil]
  @most_rows 1024
  @day 86_400_000

  @type t :: map()

  @spec new!(keyword()) :: t()
  def new!(opts) do
    opts = Argument.options!(opts, @own ++ @subject)
    batch = Argument.options!(opts[:batch], @batch)

    Map.merge(subject!(Keyword.take(opts, Keyword.keys(@subject))), %{
      name: name!(opts[:name]),
      queue: Argument.integer!(:queue, opts[:queue], 1..1_000_000),
      replicas: Argument.integer!(:replicas, opts[:replicas], 1..64),
      drain: Argument.integer!(:drain, opts[:drain], 0..@day),
      max: Argument.integer!(:max, batch[:max], 1..@most_rows),
      delay: Argument.integer!(:delay, batch[:delay], 0..60_000),
      sizes: sizes!(batch[:sizes]),
      goal: batch[:goal] && Argument.integer!(:goal, batch[:goal], 1..60_000)
    })
  end

  @doc "The settings with another model or function."
  @spec replace!(t(), keyword()) :: t()
  def replace!(settings, opts),
    do: Map.merge(settings, subject!(Argument.options!(opts, @subject)))

  defp subject!(opts) do
    subject = Map.merge(Map.new(@subject), Map.new(opts))

    case subject do
      %{model: nil, function: nil} ->
        Argument.refuse!("model: or function: of a serving", opts)

      %{model: model, function: nil} ->
        unless source?(model), do: Argument.refuse!("model: as load_model/2 takes it", model)

      %{model: nil, function: function} ->
        unless is_function(function, 1) do
          Argument.refuse!("function: of a list of inputs, which gives their results", function)
        end

      _both ->
        Argument.refuse!("either model: or function: of a serving", opts)
    end

    %{subject | task: task!(subject.task), warmup: subject.warmup && {:ok, subject.warmup}}
  end

  defp source?(%Model{}), do: true
  defp source?({:binary, bytes}), do: is_binary(bytes)
  defp source?(name) when is_atom(name), do: name not in [true, false]
  defp source?(path), do: is_binary(path)

  defp task!(nil), do: nil
  defp task!({task, opts}), do: {task_name!(task), Argument.keyword!(opts)}
  defp task!(task), do: {task_name!(task), []}

  defp task_name!(task) do
    if task in Engine.tasks(),
      do: task,
      else: Argument.refuse!("task: to be one of #{inspect(Engine.tasks())}", task)
  end

  @doc "Checks the name of a serving."
  @spec name!(term()) :: atom()
  def name!(name) when is_atom(name) and name not in [nil, true, false], do: name
  def name!(other), do: Argument.refuse!("name: of a serving as an atom", other)

  defp sizes!(nil), do: nil

  defp sizes!(sizes) when is_list(sizes) and sizes != [] do
    Enum.map(sizes, &Argument.integer!(:sizes, &1, 1..@most_rows))
  end

  defp sizes!(other), do: Argument.refuse!("sizes: as a list of numbers of inputs", other)
end
