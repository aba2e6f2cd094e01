defmodule Dala.Gpu.Build.Target do
  @moduledoc false
  # The target of a native library, named as elixir_make names it.

  @doc "The target as a triple, such as `x86_64-linux-gnu`; TARGET_ARCH, _OS and _ABI take precedence."
  def triple do
    case for name <- ~w(TARGET_ARCH TARGET_OS TARGET_ABI), do: System.get_env(name) do
      [arch, os, abi] when is_binary(arch) and is_binary(os) and is_binary(abi) ->
        Enum.join([arch, os, abi], "-")

      _not_set ->
        triple(to_string(:erlang.system_info(:system_architecture)))
    end
  end

  @doc "The triple of an architecture as Erlang has it: without vendor, and without a version."
  def triple(architecture) do
    case String.split(architecture, "-") do
      [arch, "apple", "darwin" <> _version] -> "#{arch}-apple-darwin"
      [arch, _vendor, os, abi] -> Enum.join([arch, os, abi], "-")
      _other -> architecture
    end
  end

  def nif_version, do: to_string(:erlang.system_info(:nif_version))

  @doc "Whether a library for one NIF version loads into a VM of another: the minor one may be newer."
  def loads?(built_for, vm) do
    [built_major, built_minor] = numbers(built_for)
    [vm_major, vm_minor] = numbers(vm)
    built_major == vm_major and built_minor <= vm_minor
  end

  @doc "The OTP release that introduced a NIF version, as text, for messages."
  def otp("2.15"), do: "OTP 22"
  def otp("2.16"), do: "OTP 24"
  def otp("2.17"), do: "OTP 26"
  def otp(_version), do: "another OTP"

  defp numbers(version) do
    case version |> String.split(".") |> Enum.map(&Integer.parse/1) do
      [{major, ""}, {minor, ""}] -> [major, minor]
      _other -> [-1, 0]
    end
  end
end
