defmodule Dala.Gpu.Compute.Remote do
  @moduledoc false
  # Buffers and commands on devices of other VMs: isolated devices of this machine, and devices of
  # other nodes. A buffer there is a `Dala.Gpu.Compute.Buffer` whose `ref` is this struct.
  #
  #   caller ── Remote ── Link ═════ Host ── native functions
  #              (this VM)    pipes or    (the VM of the device)
  #                           distribution
  #
  # The token is a native resource: when the last process of this VM that refers to the buffer has
  # dropped it, the link is told, and the host frees the buffer.

  # Modules refer to devices by their fields alone: `Dala.Gpu.Compute.Device` stands above this one.

  alias Dala.Gpu.Compute.{Error, Native, Placement}
  alias Dala.Gpu.Compute.Remote.{Commands, Failure, Link, Links, Transfer}

  @enforce_keys [:device, :link, :id, :epoch, :token]
  defstruct [:device, :link, :id, :epoch, :token]

  @type t :: %__MODULE__{
          device: Placement.device(),
          link: pid(),
          id: non_neg_integer(),
          epoch: pos_integer(),
          token: reference()
        }

  @type content :: :zeros | {:binary, binary()} | {:list, list()}

  @doc "Creates a buffer on a device."
  @spec create(Placement.device(), content(), [non_neg_integer()], atom()) ::
          {:ok, t()} | {:error, Error.t()}
  def create(device, content, dims, dtype) do
    made(device, fn link, id ->
      with {:ok, sent, lent} <- send_content(link, id, content),
           do: Link.call(link, nil, {:create, id, sent, dims, dtype}, lent)
    end)
  end

  @doc "The content of now under another shape."
  @spec view(t(), [non_neg_integer()], atom()) :: {:ok, t()} | {:error, Error.t()}
  def view(%__MODULE__{} = buffer, dims, dtype) do
    made_over(buffer.device, buffer.link, fn id ->
      Link.call(buffer.link, buffer.epoch, {:view, id, buffer.id, dims, dtype})
    end)
  end

  @doc "A new buffer that a kernel writes to."
  @spec compute(Placement.device(), String.t(), [t()], [non_neg_integer()], atom(), map()) ::
          {:ok, t()} | {:error, Error.t()}
  def compute(device, kernel, inputs, dims, dtype, params) do
    with {:ok, link, epoch} <- life(device, inputs) do
      made_over(device, link, fn id ->
        Link.call(link, epoch, {:compute, id, kernel, ids(inputs), dims, dtype, params})
      end)
    end
  end

  defp made(device, create) do
    with {:ok, link} <- Links.find(device), do: made_over(device, link, &create.(link, &1))
  end

  # `create` answers with the epoch. A token that is not returned tells the host to forget the number.
  defp made_over(device, link, create) do
    id = 2 * System.unique_integer([:positive])
    token = Native.token_new(link, id)

    with {:ok, epoch} <- create.(id),
         do: {:ok, %__MODULE__{device: device, link: link, id: id, epoch: epoch, token: token}}
  end

  @spec write(t(), binary()) :: :ok | {:error, Error.t()}
  def write(%__MODULE__{link: link} = buffer, binary) do
    id = 2 * System.unique_integer([:positive])
    token = Native.token_new(link, id)

    with {:ok, sent, lent} <- send_content(link, id, {:binary, binary}) do
      request = {:write, buffer.id, sent}
      link |> Link.call(buffer.epoch, request, lent) |> after_use_of(token)
    end
  end

  # The result. What is done with the token makes the compiler keep it until here.
  defp after_use_of(result, token) when is_reference(token), do: result

  @spec read(t(), {non_neg_integer(), non_neg_integer()} | nil) ::
          {:ok, binary()} | {:error, Error.t()}
  def read(%__MODULE__{link: link} = buffer, part \\ nil) do
    case Link.call(link, buffer.epoch, {:read, buffer.id, part}) do
      {:ok, {:inline, binary}} -> {:ok, binary}
      {:ok, {:download, tag, bytes, token}} -> download(buffer, tag, bytes, token)
      result -> result
    end
  end

  @spec free(t()) :: :ok | {:error, Error.t()}
  def free(%__MODULE__{} = buffer) do
    case Link.call(buffer.link, buffer.epoch, {:free, buffer.id}) do
      # A lost buffer has no memory any more.
      {:error, %Error{reason: :device_lost}} -> :ok
      result -> result
    end
  end

  @spec valid?(t()) :: boolean()
  def valid?(%__MODULE__{} = buffer),
    do: Link.call(buffer.link, buffer.epoch, {:valid, buffer.id}) == {:ok, true}

  @doc "Runs a command and waits for its end."
  @spec run(Placement.device(), atom(), String.t(), [t()], t() | [t()], map()) ::
          :ok | {:error, Error.t()}
  def run(device, op, kernel, inputs, output, params) do
    with {:ok, link, epoch} <- life(device, List.wrap(output) ++ inputs),
         do: Link.call(link, epoch, {:run, op, kernel, ids(inputs), ids(output), params})
  end

  @doc "Submits a command and returns its id."
  @spec submit(Placement.device(), atom(), String.t(), [t()], t() | [t()], map(), pid() | nil) ::
          Commands.id()
  def submit(device, op, kernel, inputs, output, params, notify) do
    case life(device, List.wrap(output) ++ inputs) do
      {:ok, link, epoch} ->
        id = Commands.issue(link)
        request = {:run, op, kernel, ids(inputs), ids(output), params}

        with {:error, error} <- Link.submit(link, epoch, request, {id, notify}),
             do: failed(id, error, notify)

        id

      {:error, error} ->
        submit_failure(error, notify)
    end
  end

  @doc "Issues an id for a command that cannot run."
  @spec submit_failure(Error.t(), pid() | nil) :: Commands.id()
  def submit_failure(error, notify) do
    id = Commands.issue(self())
    failed(id, error, notify)
  end

  defp failed(id, error, notify) do
    Commands.finish(id, {:error, error})
    if notify, do: send(notify, {:dala_gpu, id, {:error, error}})
    id
  end

  @doc "Registers a kernel; `native` are the checked options."
  @spec register(Placement.device(), :register | :elementwise, String.t(), String.t(), map()) ::
          :ok | {:error, Error.t()}
  def register(device, kind, name, text, native) do
    with {:ok, link} <- Links.find(device),
         do: Link.call(link, nil, {:register, kind, name, text, native})
  end

  @doc "Calls a function in the VM of the device."
  @spec apply(Placement.device(), module(), atom(), [term()]) ::
          {:ok, term()} | {:error, Error.t()}
  def apply(device, module, function, arguments) do
    with {:ok, link} <- Links.find(device),
         do: Link.call(link, nil, {:apply, module, function, arguments})
  end

  @doc "Names the devices of two buffers that were given to one call."
  @spec mismatch(Placement.device() | nil, Placement.device() | nil) :: Error.t()
  def mismatch(one, other) do
    %Error{
      reason: :device_mismatch,
      message:
        "the buffers of a call must be on one device: some are on #{name(one)}, some on " <>
          "#{name(other)}; Dala.Gpu.Compute.copy_to/2 copies a buffer",
      details: %{devices: [name(one), name(other)]}
    }
  end

  @doc "Says that something takes only buffers of this VM's device."
  @spec not_here(t()) :: Error.t()
  def not_here(%__MODULE__{device: device}) do
    %Error{
      reason: :unsupported,
      message:
        "the buffer is on #{name(device)}; this function takes buffers of this VM's own device, " <>
          "to which Dala.Gpu.Compute.copy_to/2 copies it",
      details: %{device: name(device)}
    }
  end

  defp name(nil), do: "this VM's device"
  defp name(device), do: Placement.label(device)

  defp ids(buffers) when is_list(buffers), do: Enum.map(buffers, & &1.id)
  defp ids(%__MODULE__{id: id}), do: id

  # The link and epoch of buffers that are used together. One of an earlier life of the device is
  # lost, whatever the others are; the link tells epochs apart.
  defp life(device, []) do
    with {:ok, link} <- Links.find(device), do: {:ok, link, nil}
  end

  defp life(device, [%{link: link} | _] = buffers) do
    if Enum.all?(buffers, &(&1.link == link)),
      do: {:ok, link, buffers |> Enum.map(& &1.epoch) |> Enum.min()},
      else: {:error, Failure.buffer(device.name)}
  end

  # Data on its way to the device. An upload is kept there while the token of its number lives.
  defp send_content(_link, _id, :zeros), do: {:ok, :zeros, nil}

  defp send_content(link, id, {:list, list}) do
    with {:ok, sent, lent} <- send_bytes(link, id, :erlang.term_to_binary(list)),
         do: {:ok, {:list, sent}, lent}
  end

  defp send_content(link, id, {:binary, binary}), do: send_bytes(link, id, binary)

  defp send_bytes(link, id, binary) do
    if Transfer.large?(binary) do
      with {:ok, sharing} <- Link.call(link, nil, :sharing),
           do: send_large(link, id, binary, sharing)
    else
      {:ok, {:inline, binary}, nil}
    end
  end

  defp send_large(link, id, binary, true) do
    tag = 2 * System.unique_integer([:positive])

    case Transfer.share(binary, link, tag) do
      {:ok, sent, holder} -> {:ok, sent, {tag, holder}}
      :error -> send_large(link, id, binary, false)
    end
  end

  defp send_large(link, id, binary, false) do
    with :ok <- each_chunk(byte_size(binary), &upload(link, id, binary, &1, &2)),
         do: {:ok, {:upload, id}, nil}
  end

  defp upload(link, id, binary, offset, count),
    do: Link.call(link, nil, {:upload, id, :binary.copy(binary_part(binary, offset, count))})

  defp download(buffer, tag, bytes, token) do
    parts =
      for {offset, count} <- Transfer.chunks(bytes) do
        request = {:download, tag, offset, count}
        buffer.link |> Link.call(buffer.epoch, request) |> Error.value!()
      end

    after_use_of({:ok, IO.iodata_to_binary(parts)}, token)
  rescue
    error in [Error] -> {:error, error}
  end

  # Until one fails.
  defp each_chunk(bytes, send) do
    Enum.reduce_while(Transfer.chunks(bytes), :ok, fn {offset, count}, :ok ->
      case send.(offset, count) do
        :ok -> {:cont, :ok}
        failed -> {:halt, failed}
      end
    end)
  end
end
