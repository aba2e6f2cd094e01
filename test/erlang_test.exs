defmodule Dala.ErlangTest do
  # The Erlang modules in src/ beside the Elixir modules that they are made of: the same functions,
  # each with a type, documentation and examples that run.
  use Dala.Test.GpuCase, async: true

  Code.ensure_loaded!(Dala.Media.Gpu)

  # The Elixir modules behind each Erlang module. A function has the name that `:as` gives, and its
  # own otherwise; the ones in `:without` have no counterpart. Of a module with `:only`, just these
  # functions have one.
  @modules [
    dala_gpu: [
      # Nx tensors are for Elixir.
      {Dala.Gpu.Compute,
       as: [available?: :is_available, gpu?: :is_gpu], without: [from_nx: 1, to_nx: 1, to_nx: 3]},
      {Dala.Gpu, []},
      {
        Dala.Gpu.Compute.Kernel,
        # These have other names in Dala.Gpu.Compute: run_kernel, submit, kernels.
        as: [
          lookup: :lookup_kernel,
          register: :register_kernel,
          elementwise: :elementwise_kernel,
          unregister: :unregister_kernel
        ],
        without: [run: 3, run: 4, async_run: 3, async_run: 4, list: 0]
      },
      {Dala.Gpu.Compute.Pipeline,
       only: [
         temporary: 1,
         temporary: 2,
         run_kernel: 4,
         run_kernel: 5,
         run_kernel: 6,
         copy: 3,
         barrier: 1
       ],
       as: [run_kernel: :pipeline_run_kernel, copy: :pipeline_copy, barrier: :pipeline_barrier]}
    ],
    dala_media: [
      # The functions that stand for a filter on an image: apply_filter/3 serves Erlang.
      {Dala.Media.Gpu,
       without:
         for(
           name <- Dala.Media.Gpu.Filter.names(),
           arity <- 1..2,
           function_exported?(Dala.Media.Gpu, name, arity),
           do: {name, arity}
         )},
      {Dala.Media.Draw, only: [shapes: 2], as: [shapes: :draw]},
      {Dala.Media.Image,
       as: [
         resize: :resize_image,
         crop: :crop_image,
         new: :new_image,
         read: :read_image,
         write: :write_image,
         decode: :decode_image,
         encode: :encode_image,
         from_buffer: :image_from_buffer,
         to_buffer: :image_to_buffer
       ]},
      {Dala.Media.Lut, only: [read: 1, parse: 1], as: [read: :read_lut, parse: :parse_lut]},
      {Dala.Media.TestScene, only: [frame: 2, frame: 3], as: [frame: :test_frame]}
    ],
    dala_ml: [
      {Dala.ML.Gpu, []},
      {Dala.ML.Gpu.State, as: [reset: :reset_state, values: :state_values]},
      {Dala.ML, []},
      {Dala.ML.Annotation, []},
      {Dala.ML.Models,
       only: [
         list: 0,
         list: 1,
         install: 1,
         install: 2,
         import_file: 2,
         import_file: 3,
         remove: 1,
         remove: 2
       ],
       as: [
         list: :list_models,
         install: :install_model,
         import_file: :import_model,
         remove: :remove_model
       ]}
    ]
  ]

  # Functions that only Erlang needs.
  @own [result: 1]

  # Beside what everything has, and functions that are public only for the library itself.
  defp functions(module, opts) do
    hidden =
      for {{:function, name, arity}, _line, _signature, :hidden, _meta} <- docs(module),
          default <- 0..arity,
          do: {name, default}

    all = module.__info__(:functions) -- [__struct__: 0, __struct__: 1]
    without = Keyword.get(opts, :without, [])
    assert without -- all == [], "#{inspect(module)} has no #{inspect(without -- all)}"
    only = Keyword.get(opts, :only, all)
    assert only -- all == [], "#{inspect(module)} has no #{inspect(only -- all)}"
    only -- (without ++ hidden)
  end

  defp docs(module) do
    {:docs_v1, _, _, _, _, _, docs} = Code.fetch_docs(module)
    docs
  end

  defp exports(module), do: module.module_info(:exports) -- [module_info: 0, module_info: 1]

  defp renamed({name, arity}, opts), do: {Keyword.get(opts[:as] || [], name, name), arity}

  defp source(module), do: Path.join("src", "#{module}.erl")

  for {module, parts} <- @modules do
    @module module
    @parts parts

    describe "#{module}" do
      test "has every function of the Elixir modules, and no other" do
        expected =
          for {elixir, opts} <- @parts, function <- functions(elixir, opts) do
            renamed(function, opts)
          end

        own = if @module == :dala_gpu, do: @own, else: []
        assert Enum.sort(exports(@module)) == Enum.sort(expected ++ own)
      end

      test "calls functions that are there, each in its longest form" do
        {:ok, {_module, [imports: imports]}} = :beam_lib.chunks(:code.which(@module), [:imports])

        for {elixir, name, arity} <- imports, match?("Elixir." <> _, Atom.to_string(elixir)) do
          assert Code.ensure_loaded?(elixir) and function_exported?(elixir, name, arity),
                 "#{@module} calls #{inspect(elixir)}.#{name}/#{arity}, which is not there"
        end

        for {elixir, opts} <- @parts,
            {name, functions} <- Enum.group_by(functions(elixir, opts), &elem(&1, 0)) do
          arity = functions |> Enum.map(&elem(&1, 1)) |> Enum.max()

          assert {elixir, name, arity} in imports,
                 "#{@module} does not call #{inspect(elixir)}.#{name}/#{arity}"
        end
      end

      test "has a type and documentation for every function" do
        {:ok, specs} = Code.Typespec.fetch_specs(@module)
        assert exports(@module) -- Enum.map(specs, &elem(&1, 0)) == []
        lines = @module |> source() |> File.read!() |> String.split("\n")

        for {{name, arity}, [spec | _]} <- specs, {name, arity} in exports(@module) do
          before = Enum.take(lines, :erl_anno.line(elem(spec, 1)) - 1)

          comment = before |> Enum.reverse() |> Enum.take_while(&String.starts_with?(&1, "%%"))

          assert Enum.any?(comment, &(&1 =~ ~r/^%% @(doc|equiv) /)),
                 "#{@module}:#{name}/#{arity} has no documentation"
        end
      end

      test "has examples that run" do
        examples = ~r/^%% ```\n(.*?)^%% '''/ms |> Regex.scan(File.read!(source(@module)))
        assert length(examples) > 3

        for [_all, example] <- examples do
          code = Regex.replace(~r/^%% ?/m, example, "")
          {:ok, tokens, _end} = code |> String.to_charlist() |> :erl_scan.string()
          {:ok, expressions} = :erl_parse.parse_exprs(tokens)

          try do
            :erl_eval.exprs(expressions, [])
          catch
            kind, reason -> flunk("#{inspect(kind)}: #{inspect(reason)} in\n#{code}")
          end
        end
      end
    end
  end

  describe "the maps of options" do
    test "have the keys that the Elixir functions take" do
      image = Dala.Media.Image.new(1, 1, :black)

      {:ok, model} = Dala.ML.Gpu.load_model("examples/double.onnx")
      output = Compute.buffer([1, 2], {1, 2})

      calls = [
        {:dala_gpu, :submit,
         [%{op: :run_kernel, kernel: :relu, inputs: [output], output: output}]},
        {:dala_gpu, :create_surface, [1, 1]},
        {:dala_media, :start_pipeline, [1, 1]},
        {:dala_media, :read_image, ["none.png"]},
        {:dala_media, :write_image, [image, "none.png"]},
        {:dala_media, :decode_image, [""]},
        {:dala_media, :encode_image, [image]},
        {:dala_media, :resize_image, [image]},
        {:dala_media, :thumbnail, [image, 1]},
        {:dala_media, :crop_image, [image, {0, 0, 1, 1}]},
        {:dala_media, :histogram, [image]},
        {:dala_media, :test_frame, [1, 1]},
        {:dala_ml, :load_model, ["none.onnx"]},
        {:dala_ml, :predict, [model, output]},
        {:dala_ml, :top_k, [output]},
        {:dala_ml, :draw, [image, []]},
        {:dala_ml, :list_models, []}
      ]

      for {module, function, arguments} <- calls do
        {:error, {:badarg, message}} =
          catch_error_of(module, function, arguments ++ [%{no_key: 1}])

        [_all, allowed] = Regex.run(~r/the allowed keys are: \[(.*)\]/, message)
        taken = allowed |> String.split(", ") |> Enum.map(&String.trim_leading(&1, ":"))

        assert {function, Enum.sort(taken)} ==
                 {function, Enum.sort(option_keys(module, function, length(arguments) + 1))}
      end
    end
  end

  # The keys of the map that is the last argument, in the function's -spec.
  defp option_keys(module, function, arity) do
    {:ok, specs} = Code.Typespec.fetch_specs(module)

    {_function, [{:type, _, :fun, [{:type, _, :product, types}, _result]}]} =
      List.keyfind(specs, {function, arity}, 0)

    {:type, _, :map, fields} = List.last(types)
    for {:type, _, :map_field_assoc, [{:atom, _, key}, _type]} <- fields, do: Atom.to_string(key)
  end

  defp catch_error_of(module, function, arguments) do
    apply(module, function, arguments)
  catch
    :error, reason -> {:error, reason}
  end

  describe "results" do
    test "errors are a reason and a message" do
      assert :dala_gpu.buffer([1, 2], {3}) ==
               {:error, {:shape_mismatch, "shape {3} has 3 elements, the list has 2"}}

      {:ok, buffer} = :dala_gpu.buffer([1, 2], {2})

      assert {:error, {:unknown_param, "relu has no parameter slop; it takes slope"}} =
               :dala_gpu.run_kernel("relu", [buffer], buffer, %{slop: 1})

      assert {:error, {:unknown_command, message}} = :dala_gpu.wait(987_654_321_000)
      assert is_binary(message)
    end

    test "malformed arguments are exceptions that say what was expected" do
      assert catch_error(:dala_gpu.buffer([1], :no_shape)) ==
               {:badarg,
                "expected shape to be a tuple of non-negative integers such as {2, 3}, got: :no_shape"}

      assert catch_error(:dala_gpu.shape(:no_buffer)) ==
               {:badarg, "expected a %Dala.Gpu.Compute.Buffer{}, got: :no_buffer"}

      assert catch_error(:dala_gpu.create_surface(1, 1, title: "x")) ==
               {:badarg, ~s(expected options as a map, got: [{title,<<"x">>}])}
    end

    test "errors in messages are converted" do
      {:ok, buffer} = :dala_gpu.buffer([1, 2], {2})
      command = %{op: :run_kernel, kernel: :no_such_kernel, inputs: [buffer], output: buffer}
      {:ok, id} = :dala_gpu.submit(command, %{notify: self()})
      assert_receive {:dala_gpu, ^id, result}, 60_000
      assert {:error, {:unknown_kernel, _message}} = :dala_gpu.result(result)
      assert {:error, {:unknown_kernel, _message}} = :dala_gpu.poll(id)
      assert :dala_gpu.result(:ok) == :ok
      assert :dala_gpu.result({:ok, "frame"}) == {:ok, "frame"}
    end

    test "a frame that an overloaded stream drops" do
      {:ok, stream} = :dala_media.start_pipeline(1, 1, %{queue: 0, on_overload: :drop_newest})
      frame = <<255, 0, 0, 9>>
      results = for _ <- 1..200, do: :dala_media.process_frame_async(stream, frame, [:grayscale])
      assert Enum.all?(results, &match?({:ok, _ref}, &1))

      outcomes =
        for {:ok, ref} <- results do
          assert_receive {:dala_media_frame, ^ref, result}, 60_000
          :dala_gpu.result(result)
        end

      assert Enum.uniq(outcomes) -- [{:ok, <<76, 76, 76, 9>>}, :dropped] == []
    end

    test "strings are paths and names" do
      folder = scratch_dir("erlang")
      path = folder |> Path.join("grün.png") |> String.to_charlist()
      {:ok, image} = :dala_media.new_image(2, 1, :red)
      assert :dala_media.write_image(image, path) == :ok
      assert :dala_media.read_image(path) == {:ok, image}
      assert {:ok, _kernel} = :dala_gpu.lookup_kernel('relu')

      assert {:ok, [%{installed: nil} | _]} =
               :dala_ml.list_models(%{models_dir: ~c"/nonexistent"})
    end
  end

  describe "edoc" do
    # OTP's edoc is not everywhere: Debian has it in erlang-edoc.
    @tag skip: if(Code.ensure_loaded?(:edoc), do: false, else: "edoc is not installed")
    test "understands the comments" do
      folder = scratch_dir("edoc")
      files = for {module, _parts} <- @modules, do: module |> source() |> String.to_charlist()
      assert :ok = apply(:edoc, :files, [files, [dir: String.to_charlist(folder)]])

      for {module, _parts} <- @modules,
          do: assert(File.exists?(Path.join(folder, "#{module}.html")))
    end
  end
end
