[
  inputs: [
    "{mix,.formatter}.exs",
    "{bench,build,config,examples,lib,test}/**/*.{ex,exs}"
  ]
]
