[
  inputs: [
    "{mix,.formatter}.exs",
    "{bench,build,config,examples,lib,native_test,test}/**/*.{ex,exs}"
  ]
]
