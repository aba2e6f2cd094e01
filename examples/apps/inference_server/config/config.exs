import Config

# Tests use a port that is free, and a queue that is easily full.
if config_env() == :test do
  config :inference_server, port: 0, queue: 4
end
