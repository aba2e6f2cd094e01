defmodule Dala.ML.Serving.Failure do
  @moduledoc false
  # The errors that a serving answers requests with when it does not run them.

  alias Dala.Gpu.Compute.Error
  alias Dala.ML.Serving.Settings

  @doc "The queue is full."
  @spec overloaded(Settings.t()) :: Error.t()
  def overloaded(settings) do
    %Error{
      reason: :overloaded,
      message:
        "the queue of the serving #{inspect(settings.name)} is full (#{settings.queue} requests)",
      details: %{serving: settings.name, node: node(), limit: settings.queue}
    }
  end

  @doc "The deadline of a request has passed before its batch could start."
  @spec late(Settings.t()) :: Error.t()
  def late(settings) do
    %Error{
      reason: :deadline,
      message:
        "the request to the serving #{inspect(settings.name)} was late before it could start",
      details: %{serving: settings.name, node: node()}
    }
  end

  @doc "The serving takes no more requests."
  @spec stopping(Settings.t()) :: Error.t()
  def stopping(settings) do
    %Error{
      reason: :freed,
      message: "the serving #{inspect(settings.name)} is shutting down",
      details: %{serving: settings.name, node: node()}
    }
  end

  @doc "A process of the serving, described by `what`, has ended with `reason`."
  @spec crashed(Settings.t(), String.t(), term()) :: Error.t()
  def crashed(settings, what, reason) do
    %Error{
      reason: :crashed,
      message: "#{what} has ended: #{Exception.format_exit(reason)}",
      details: %{serving: settings.name, node: node()}
    }
  end
end
