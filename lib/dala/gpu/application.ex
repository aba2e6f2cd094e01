defmodule Dala.Gpu.Application do
  @moduledoc false
  # The device is started at first use, so the application also starts on a machine without one.
  # `parts` comes from mix.exs: the children of the upper layers.
  use Application

  @impl true
  def start(_type, parts), do: Dala.Gpu.Supervisor.start_link(parts)
end
